//! Runs the hooks of a session in a room of their own, with the environment of the session's commands.
//!
//! An agent could defeat a hook that runs where its commands run: trace its process, or leave files in its home that its interpreter loads.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::hook_runner::{HookEnd, HookRun, HookRunner};
use autonoe_files::remove_tree;
use autonoe_sandbox::{
    BoundedCommand, CommandEnd, Launch, MAX_OUTPUT, OpenError, OutputLimits, SessionSandbox,
};

/// Bytes of standard output, and of standard error, that a hook may print.
const MAX_HOOK_OUTPUT: usize = 64 * 1024;

/// Claude Code's variable for the project root, which its users' hooks rely on.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// Beside the home of agents, which sees nothing else there.
const DIRECTORY: &str = "hook-rooms";

/// Distinguishes the rooms of this process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Directories of rooms that are older than this were left behind by a process that was killed.
const LEFTOVER_AGE: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) struct HookRoom {
    /// That of the agent, which protects the project for both.
    session_sandbox: Arc<SessionSandbox>,
    /// Its room is opened when the first hook runs.
    own_sandbox: SessionSandbox,
    /// Has the room's home and temporary files, and no agent sees it.
    private: PathBuf,
    root: PathBuf,
}

impl HookRoom {
    pub(crate) fn new(session_sandbox: &Arc<SessionSandbox>, root: &Path) -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let private = session_sandbox.bounds().home.with_file_name(DIRECTORY).join(name);
        let own_sandbox = session_sandbox.beside(&private);
        Self { session_sandbox: Arc::clone(session_sandbox), own_sandbox, private, root: root.to_owned() }
    }

    /// Ends the room. Returns warnings.
    pub(crate) async fn close(&self) -> Vec<String> {
        let warnings = self.own_sandbox.close().await;
        let _ = remove_tree(&self.private);
        warnings
    }

    async fn launch(&self, command: &str) -> Result<Launch, OpenError> {
        self.session_sandbox.ensure_open().await?;
        if !self.private.exists() {
            remove_leftovers(self.private.parent());
        }
        let launch = self.own_sandbox.shell(command).await?;
        let shown = self.own_sandbox.bounds().shown(&self.root);
        Ok(launch.cwd(&self.root).envs([(PROJECT_VARIABLE, shown)]))
    }
}

impl Drop for HookRoom {
    fn drop(&mut self) {
        let _ = remove_tree(&self.private);
    }
}

fn remove_leftovers(directory: Option<&Path>) {
    let entries = directory.and_then(|directory| fs::read_dir(directory).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age > LEFTOVER_AGE) {
            let _ = remove_tree(&entry.path());
        }
    }
}

#[async_trait]
impl HookRunner for HookRoom {
    async fn run(&self, command: &str, input: &str, time_limit: Duration) -> HookRun {
        let launch = match self.launch(command).await {
            Ok(launch) => launch,
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
