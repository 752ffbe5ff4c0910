//! `autonoe sync`

use autonoe_core::fault::Fault;
use autonoe_core::mode::Mode;
use clap::Args;

use crate::arguments::CommonArgs;
use crate::engine::{Request, drive};
use crate::environment::Environment;

/// Bring the deliverables in line with SPEC.md
#[derive(Debug, Clone, Args)]
pub struct SyncArgs {
    /// Options shared with `run`.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Brings the deliverables in line with SPEC.md and verifies them.
pub fn cmd_sync(args: SyncArgs, environment: Environment) -> Result<u8, Fault> {
    let request = Request {
        mode: Mode::Sync,
        args: &args.common,
        allow_destructive: false,
        allow_commands: Vec::new(),
        no_sandbox: false,
        is_strict: false,
        verifier: None,
        warning: None,
    };
    drive(&request, &environment)
}
