//! `autonoe run`

use autonoe_core::fault::Fault;
use autonoe_core::mode::Mode;
use clap::Args;

use crate::arguments::CommonArgs;
use crate::engine::{Request, drive};
use crate::environment::Environment;

/// Until there is an operating-system sandbox, every run says that there is none.
const NO_SANDBOX_YET: &str = "commands of the agent are not confined by an operating-system sandbox in this version; \
     run it where that is acceptable.";

const DESTRUCTIVE: &str =
    "destructive commands (rm, mv) are enabled; files can be deleted within the project directory.";

/// Build what SPEC.md asks for
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Options shared with `sync`.
    #[command(flatten)]
    pub common: CommonArgs,

    /// Run without the sandbox
    #[arg(long)]
    pub no_sandbox: bool,

    /// Allow rm and mv inside the project
    #[arg(long, short = 'D')]
    pub allow_destructive: bool,
}

/// Builds what SPEC.md asks for.
pub fn cmd_run(args: RunArgs, environment: Environment) -> Result<u8, Fault> {
    let mut warnings = vec![sandbox_warning(args.no_sandbox, &environment)];
    if args.allow_destructive {
        warnings.push(DESTRUCTIVE.to_owned());
    }
    let request = Request {
        mode: Mode::Run,
        args: &args.common,
        allow_destructive: args.allow_destructive,
        allow_commands: Vec::new(),
        warnings,
    };
    drive(&request, &environment)
}

/// What to say about the sandbox. The flag comes first, then the variable (seed 002 §5.5).
pub fn sandbox_warning(flag: bool, environment: &Environment) -> String {
    if flag {
        "the sandbox is disabled by --no-sandbox; system-level isolation is not enforced.".to_owned()
    } else if environment.no_sandbox {
        "the sandbox is disabled by AUTONOE_NO_SANDBOX; system-level isolation is not enforced.".to_owned()
    } else {
        NO_SANDBOX_YET.to_owned()
    }
}
