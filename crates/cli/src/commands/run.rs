//! `autonoe run`

use autonoe_core::fault::Fault;

use crate::engine::{Mode, drive};
use crate::environment::Environment;
use crate::options::RunArgs;

/// Until there is an operating-system sandbox, every run says that there is none.
pub const NO_SANDBOX_YET: &str = "commands of the agent are not confined by an operating-system sandbox in this version; run it where that is acceptable.";

const DESTRUCTIVE: &str =
    "destructive commands (rm, mv) are enabled; files can be deleted within the project directory.";

/// Builds what SPEC.md asks for.
pub fn cmd_run(args: RunArgs, environment: Environment) -> Result<u8, Fault> {
    let mut warnings = Vec::new();
    if !args.no_sandbox && !environment.no_sandbox {
        warnings.push(NO_SANDBOX_YET.to_owned());
    }
    if args.allow_destructive {
        warnings.push(DESTRUCTIVE.to_owned());
    }
    drive(Mode::Run, &args.common, &warnings, &environment)
}
