//! `autonoe sync`

use autonoe_core::fault::Fault;

use super::run::NO_SANDBOX_YET;
use crate::engine::{Mode, drive};
use crate::environment::Environment;
use crate::options::SyncArgs;

/// Brings the deliverables in line with SPEC.md and verifies them.
pub fn cmd_sync(args: SyncArgs, environment: Environment) -> Result<u8, Fault> {
    let warnings: Vec<String> = if environment.no_sandbox { vec![] } else { vec![NO_SANDBOX_YET.to_owned()] };
    drive(Mode::Sync, &args.common, &warnings, &environment)
}
