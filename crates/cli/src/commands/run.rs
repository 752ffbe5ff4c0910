//! `autonoe run`

mod sentence;

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_workspace::{LandWhen, LandingTarget, SiteOptions};
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCandidates;

use self::sentence::write_spec;
use super::pr::{PrArgs, cmd_pr};
use crate::arguments::{CommonArgs, SpecArgs, WorkArgs};
use crate::backend_name::BackendWithModel;
use crate::best_of::{BestOfRequest, attempts};
use crate::branch_name::parse_branch_name;
use crate::completion_candidates;
use crate::engine::{RunJob, RunRequest, drive};
use crate::environment::Environment;
use crate::spec_draft::CheckNetwork;

/// Build SPEC.md, session by session, until every achievable deliverable has passed
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// What to build, in one sentence, where there is no SPEC.md yet: becomes SPEC.md once you agree
    #[arg(value_name = "SENTENCE")]
    pub sentence: Option<String>,

    /// Agree to the SPEC.md that is made from the sentence, without being asked
    #[arg(long, requires = "sentence")]
    pub yes: bool,

    #[command(flatten)]
    pub common: CommonArgs,

    #[command(flatten)]
    pub spec: SpecArgs,

    #[command(flatten)]
    pub work: WorkArgs,

    /// When the agents' commits come to your branch [default: passed]
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["in_place", "no_sandbox"])]
    pub land: Option<LandChoice>,

    /// Land on this branch instead of the one that you have checked out; your files are never touched
    #[arg(long, value_name = "NAME", value_parser = parse_branch_name, conflicts_with_all = ["in_place", "no_sandbox"])]
    pub branch: Option<String>,

    /// If the run ends with 0, push its commits and open a pull request, as `autonoe pr --yes` does; nothing lands on your branch
    #[arg(long, conflicts_with_all = ["in_place", "no_sandbox", "land"])]
    pub pr: bool,

    /// Let the pull request change what your CI runs
    #[arg(long, requires = "pr")]
    pub accept_ci: bool,

    /// Make your uncommitted changes the agents' first commit, instead of leaving them out
    #[arg(long, conflicts_with_all = ["in_place", "no_sandbox"])]
    pub include_uncommitted: bool,

    /// Build this many deliverables at the same time, as far as the plan says that they are independent
    #[arg(long, value_name = "COUNT", value_parser = agents, conflicts_with_all = ["in_place", "no_sandbox", "resume"])]
    pub agents: Option<u32>,

    /// When a session has failed at a deliverable, let this many agents make an attempt at it, one after another, and continue with the best
    #[arg(long, value_name = "COUNT", value_parser = attempts, conflicts_with_all = ["in_place", "no_sandbox"])]
    pub best_of: Option<usize>,

    /// Agents that make an attempt each, as NAME or NAME:MODEL [default: the first that are ready]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "best_of", add = ArgValueCandidates::new(completion_candidates::agents))]
    pub backends: Vec<BackendWithModel>,

    /// Count only verified deliverables as done, not those that an agent merely claims
    #[arg(long)]
    pub strict: bool,

    /// Keep the deliverables as they are although SPEC.md has changed since they were planned
    #[arg(long)]
    pub no_sync: bool,

    /// Show the plan after the first session and build it only if you say yes
    #[arg(long)]
    pub approve_plan: bool,

    /// Agent that reviews, at the end, what no check covers: NAME or NAME:MODEL, different from the builder
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion_candidates::agents))]
    pub verifier: Option<BackendWithModel>,
}

/// Values of `--land`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum LandChoice {
    /// After a session in which a deliverable passed
    Passed,
    /// After a session in which a deliverable was verified
    Verified,
    /// When the run ends
    End,
    /// Not at all: the commits stay on a branch of their own
    Never,
}

impl From<LandChoice> for LandWhen {
    fn from(choice: LandChoice) -> Self {
        match choice {
            LandChoice::Passed => Self::Passed,
            LandChoice::Verified => Self::Verified,
            LandChoice::End => Self::End,
            LandChoice::Never => Self::Never,
        }
    }
}

/// Sessions at the same time: more would wait for each other's checks, and each has a workspace and a room.
const MAX_AGENTS: u32 = 32;

#[derive(Debug, thiserror::Error)]
#[error("expected a number from 1 to {MAX_AGENTS}")]
struct NotANumberOfAgents;

fn agents(text: &str) -> Result<u32, NotANumberOfAgents> {
    text.parse().ok().filter(|count| (1..=MAX_AGENTS).contains(count)).ok_or(NotANumberOfAgents)
}

pub fn cmd_run(args: RunArgs, environment: Environment) -> Result<u8, Fault> {
    // In the background, the process in the foreground has done it.
    if let Some(sentence) = args.sentence.as_ref().filter(|_| !args.common.in_background) {
        let project = environment.project(&args.common.project)?;
        let network = CheckNetwork::of(&environment.user_config()?);
        write_spec(sentence, &project, network, args.yes)?;
    }
    let job = RunJob::Run { is_strict: args.strict, no_sync: args.no_sync, verifier: args.verifier.as_ref() };
    let site = || SiteOptions {
        when: match args.land {
            Some(choice) => choice.into(),
            None if args.pr && args.branch.is_none() => LandWhen::Never,
            None => LandWhen::default(),
        },
        target: args.branch.clone().map_or(LandingTarget::CheckedOut, LandingTarget::Branch),
        includes_uncommitted: args.include_uncommitted,
        ..SiteOptions::default()
    };
    let request = RunRequest::of_spec(job, &args.common, &args.spec).working(&args.work, site);
    let workers = args.agents.filter(|agents| *agents > 1).unwrap_or_default();
    let best_of = args.best_of.map(|attempts| BestOfRequest { attempts, backends: args.backends.clone() });
    let request = RunRequest { approve_plan: args.approve_plan, workers, best_of, ..request };
    let code = drive(request, &environment)?;
    match args.pr && code == exit::DONE {
        true => cmd_pr(&PrArgs::after_run(&args.common.project, args.branch, args.accept_ci), &environment),
        false => Ok(code),
    }
}
