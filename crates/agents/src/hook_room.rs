//! Runs hooks in the session's room, with the environment of its commands.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::hook_runner::{HookEnd, HookRun, HookRunner};
use autonoe_sandbox::{BoundedCommand, CommandEnd, MAX_OUTPUT, OutputLimits, SessionSandbox};

/// Bytes of standard output, and of standard error, that a hook may print.
const MAX_HOOK_OUTPUT: usize = 64 * 1024;

/// Claude Code's variable for the project root, which its users' hooks rely on.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

pub(crate) struct HookRoom<'a> {
    pub session_sandbox: &'a SessionSandbox,
    pub root: &'a Path,
}

#[async_trait]
impl HookRunner for HookRoom<'_> {
    async fn run(&self, command: &str, input: &str, time_limit: Duration) -> HookRun {
        let launch = match self.session_sandbox.shell(command).await {
            Ok(launch) => {
                let shown = self.session_sandbox.bounds().shown(self.root);
                launch.cwd(self.root).envs([(PROJECT_VARIABLE, shown)])
            }
            Err(error) => return HookRun::not_run(format!("its room could not be opened: {error}")),
        };
        let bounded_command = BoundedCommand {
            launch,
            input: input.as_bytes().to_vec(),
            separate_stderr: true,
            time_limit,
            output_limits: OutputLimits { head: MAX_HOOK_OUTPUT, tail: 0 },
        };
        let ran = bounded_command.run(|_| {}).await;
        let limit = MAX_HOOK_OUTPUT as u64;
        let end = match ran.ending {
            CommandEnd::TimedOut => HookEnd::TimedOut,
            CommandEnd::TooMuchOutput => HookEnd::TooMuchOutput { limit: MAX_OUTPUT },
            CommandEnd::NotRun { why } => HookEnd::NotRun { why },
            CommandEnd::Exit(_) if ran.output.bytes() > limit || ran.stderr.bytes() > limit => {
                HookEnd::TooMuchOutput { limit }
            }
            CommandEnd::Exit(code) => HookEnd::Exit(code),
        };
        HookRun { end, stdout: ran.output.text(), stderr: ran.stderr.text() }
    }
}
