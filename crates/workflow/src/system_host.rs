//! The real [`HostEffects`]: commands and programs run in the sandbox, issues are looked up with `gh`, webhooks are sent.
//!
//! It reads no configuration: sandboxes, programs, environment, hosts and secrets are passed in.

mod files;
mod issues;
mod output;
mod webhooks;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::duration::format as format_duration;
use autonoe_core::fault::Fault;
use autonoe_core::gate::{self, Gate, GateRuling, ToolCall};
use autonoe_sandbox::{BoundedCommand, CommandEnd, Launch, MAX_OUTPUT, SessionSandbox};
use serde_json::{Value, json};

use self::output::{OUTPUT_LIMITS, last_lines};
use crate::host_effects::{HostCommandOutcome, HostEffects, WebhookMessage};
use crate::issue_error::IssueError;

pub use files::MAX_FILE_BYTES;
pub use issues::GithubIssues;
pub use webhooks::{WebhookTiming, Webhooks, check_allowed};

pub struct SystemHost {
    pub root: PathBuf,
    /// The agent's directory, which contains its programs.
    pub directory: PathBuf,
    /// Commands and programs run in it, each in its own room.
    pub session_sandbox: Arc<SessionSandbox>,
    pub issues: GithubIssues,
    pub webhooks: Webhooks,
    /// Checked before every command and program if there is no sandbox; `None` if there is one.
    pub gates: Option<Vec<Arc<dyn Gate>>>,
}

#[async_trait]
impl HostEffects for SystemHost {
    async fn command(&self, command: &str, time_limit: Duration) -> HostCommandOutcome {
        if let Some(why) = self.denial(command).await {
            return not_run(why);
        }
        let launch = match self.session_sandbox.shell(command).await {
            Ok(launch) => launch,
            Err(error) => return not_run(format!("its sandbox cannot be opened ({error})")),
        };
        self.run(launch, ProcessInput::None, time_limit).await
    }

    async fn program(&self, program: &str, input: &Value, time_limit: Duration) -> HostCommandOutcome {
        let (directory, name) = (self.directory.clone(), program.to_owned());
        let found = match tokio::task::spawn_blocking(move || files::executable(&directory, &name)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return not_run(error.to_string()),
            Err(error) => return not_run(error.to_string()),
        };
        if let Some(why) = self.denial(&found.to_string_lossy()).await {
            return not_run(why);
        }
        match self.session_sandbox.command(found).await {
            Ok(launch) => self.run(launch, ProcessInput::Json(input), time_limit).await,
            Err(error) => not_run(format!("its sandbox cannot be opened ({error})")),
        }
    }

    async fn file(&self, path: &str) -> Result<Option<String>, Fault> {
        let (root, path) = (self.root.clone(), path.to_owned());
        let reading = tokio::task::spawn_blocking(move || files::read(&root, &path));
        reading.await.unwrap_or_else(|error| Err(files::unreadable("A file", &error.to_string())))
    }

    async fn issue(&self, issue: &str, repository: &str) -> Result<String, IssueError> {
        self.issues.state(issue, repository).await
    }

    async fn notify(&self, message: &WebhookMessage) -> Result<(), Fault> {
        self.webhooks.notify(message).await
    }
}

/// The standard input of a process.
enum ProcessInput<'a> {
    /// Empty. Standard error is part of the output.
    None,
    /// JSON. Standard error is not part of the output, but quoted in the summary.
    Json(&'a Value),
}

impl SystemHost {
    /// Why the command policy denies a command, where no sandbox confines it; `None` if it may run.
    async fn denial(&self, command: &str) -> Option<String> {
        let call = ToolCall {
            id: String::new(),
            name: "Bash".to_owned(),
            input: json!({ "command": command, "description": "an action of a declarative agent" }),
        };
        match gate::ask(self.gates.as_ref()?, &call).await {
            GateRuling::Allowed => None,
            GateRuling::Denied { reason, .. } => Some(format!(
                "without a sandbox the command policy applies, and it denied the command: {reason}"
            )),
        }
    }

    async fn run(&self, launch: Launch, input: ProcessInput<'_>, time_limit: Duration) -> HostCommandOutcome {
        let (input, separate_stderr) = match input {
            ProcessInput::None => (Vec::new(), false),
            ProcessInput::Json(value) => (value.to_string().into_bytes(), true),
        };
        let bounded_command = BoundedCommand {
            launch: launch.cwd(&self.root),
            input,
            separate_stderr,
            time_limit,
            output_limits: OUTPUT_LIMITS,
        };
        let ran = bounded_command.run(|_| {}).await;
        let exit = match ran.ending {
            CommandEnd::Exit(code) => Some(code),
            CommandEnd::TimedOut | CommandEnd::TooMuchOutput | CommandEnd::NotRun { .. } => None,
        };
        let mut summary = summary(&ran.ending, time_limit);
        if let Some(lines) = last_lines(&ran.stderr) {
            summary.push_str(&format!("; standard error: {lines}"));
        }
        let refusals = self.session_sandbox.refusals().await;
        if !refusals.is_empty() {
            let hosts: Vec<String> = refusals.into_iter().map(|refusal| refusal.host).collect();
            let how = self.session_sandbox.how_to_allow();
            summary.push_str(&format!("; its network access to {} was blocked. {how}", hosts.join(", ")));
        }
        // Ends remaining processes, and reverts git settings that would make git run something.
        for reverted in self.session_sandbox.close().await {
            summary.push_str(&format!("; {}", reverted.trim_end_matches('.')));
        }
        HostCommandOutcome { exit, output: ran.output.text(), summary: summary.trim_end().to_owned() }
    }
}

fn summary(ending: &CommandEnd, time_limit: Duration) -> String {
    match ending {
        CommandEnd::Exit(code @ autonoe_sandbox::EXIT_NOT_FOUND) => {
            format!("exit code {code}: command not found")
        }
        CommandEnd::Exit(code) => format!("exit code {code}"),
        CommandEnd::TimedOut => {
            format!("it was killed after its time limit of {}", format_duration(time_limit))
        }
        CommandEnd::TooMuchOutput => format!("it was killed after printing {MAX_OUTPUT} bytes"),
        CommandEnd::NotRun { why } => format!("it could not be run: {why}"),
    }
}

fn not_run(why: String) -> HostCommandOutcome {
    let summary = summary(&CommandEnd::NotRun { why }, Duration::ZERO);
    HostCommandOutcome { exit: None, output: String::new(), summary }
}
