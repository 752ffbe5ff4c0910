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
        site: (!args.in_place).then(|| SiteOptions { is_throwaway: true, ..SiteOptions::default() }),
        ..RunRequest::of_spec(RunJob::Sync, &args.common, &args.spec)
    };
    drive(request, &environment)
}
