//! `autonoe sync`

use autonoe_core::fault::Fault;
use clap::Args;

use super::run::sandbox_warning;
use crate::arguments::CommonArgs;
use crate::engine::{Mode, drive};
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
    let warnings = [sandbox_warning(false, &environment)];
    drive(Mode::Sync, &args.common, &warnings, &environment)
}
