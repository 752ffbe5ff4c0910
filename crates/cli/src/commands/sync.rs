//! `autonoe sync`

use autonoe_core::fault::Fault;
use autonoe_workspace::SiteOptions;
use clap::Args;

use crate::arguments::{CommonArgs, SpecArgs};
use crate::engine::{RunJob, RunRequest, drive};
use crate::environment::Environment;

/// Update the deliverables to match SPEC.md and verify each against the code
#[derive(Debug, Clone, Args)]
pub struct SyncArgs {
    #[command(flatten)]
    pub common: CommonArgs,

    #[command(flatten)]
    pub spec: SpecArgs,

    /// Let agents work in your checkout, under the strict command policy, instead of a clone that is thrown away
    #[arg(long)]
    pub in_place: bool,
}

pub fn cmd_sync(args: SyncArgs, environment: Environment) -> Result<u8, Fault> {
    let request = RunRequest {
        job: RunJob::Sync,
        args: &args.common,
        plan_model: args.spec.plan_model.as_deref(),
        resume: args.spec.resume,
        start_over: args.spec.start_over,
        approve_plan: false,
        allow_destructive: false,
        allow_commands: Vec::new(),
        no_sandbox: false,
        agent_lock: None,
        site: (!args.in_place).then(|| SiteOptions { is_throwaway: true, ..SiteOptions::default() }),
        warning: None,
    };
    drive(request, &environment)
}
