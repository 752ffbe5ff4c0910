//! What a command asks the engine to run.

use autonoe_store::AgentLock;
use autonoe_workspace::SiteOptions;

use super::job::RunJob;
use crate::arguments::{CommonArgs, SpecArgs, WorkArgs};
use crate::best_of::BestOfRequest;

const DESTRUCTIVE: &str =
    "destructive commands (rm, mv) are enabled; files can be deleted within the project directory.";

pub struct RunRequest<'a> {
    pub job: RunJob<'a>,
    pub args: &'a CommonArgs,
    /// Value of `--plan-model`.
    pub plan_model: Option<&'a str>,
    /// Resume the conversation of the last session.
    pub resume: bool,
    /// Back up the existing deliverables and plan from scratch.
    pub start_over: bool,
    /// Ask before the plan is built.
    pub approve_plan: bool,
    /// Allow `rm` and `mv`.
    pub allow_destructive: bool,
    /// Allowed in addition to the profiles and the project's configuration.
    pub allow_commands: Vec<String>,
    /// `--no-sandbox` was given.
    pub no_sandbox: bool,
    /// How agents use a workspace; `None` if they work in the user's checkout, as they do without a sandbox.
    pub site: Option<SiteOptions>,
    /// Deliverables that are built at the same time, each in a workspace of its own; 0 if one is built after another.
    pub workers: u32,
    /// Several agents make an attempt at what a session has failed at.
    pub best_of: Option<BestOfRequest>,
    /// The lock of the workspace's slot, for an agent that may work at the same time as others.
    pub agent_lock: Option<AgentLock>,
    /// Printed before anything else.
    pub warning: Option<&'static str>,
}

impl<'a> RunRequest<'a> {
    /// In the user's checkout, without any further option.
    pub fn new(job: RunJob<'a>, args: &'a CommonArgs) -> Self {
        Self {
            job,
            args,
            plan_model: None,
            resume: false,
            start_over: false,
            approve_plan: false,
            allow_destructive: false,
            allow_commands: Vec::new(),
            no_sandbox: false,
            site: None,
            workers: 0,
            best_of: None,
            agent_lock: None,
            warning: None,
        }
    }

    /// With the options of commands that plan.
    pub fn of_spec(job: RunJob<'a>, args: &'a CommonArgs, spec: &'a SpecArgs) -> Self {
        Self {
            plan_model: spec.plan_model.as_deref(),
            resume: spec.resume,
            start_over: spec.start_over,
            ..Self::new(job, args)
        }
    }

    /// Where agents work, and what they may do there. `site` is how they use a workspace, if they have one.
    pub fn working(self, work: &WorkArgs, site: impl FnOnce() -> SiteOptions) -> Self {
        Self {
            allow_destructive: work.allow_destructive,
            no_sandbox: work.no_sandbox,
            site: (!work.in_place).then(site),
            warning: work.allow_destructive.then_some(DESTRUCTIVE),
            ..self
        }
    }
}
