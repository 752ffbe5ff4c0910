//! The machine: what a declarative agent asks of the outside, done for real. Commands and programs run in the sandbox.
//!
//! It looks nothing up: rooms, programs, environment, hosts and secrets are given to it.

mod files;
mod issues;
mod signature;
mod webhooks;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::duration::format as format_duration;
use autonoe_core::fault::Fault;
use autonoe_core::gate::{self, Gate, Ruling, ToolCall};
use autonoe_sandbox::{BoundedCommand, Ending, Kept, Launch, MAX_OUTPUT, Printed, SessionSandbox};
use serde_json::{Value, json};

use crate::host_effects::{CommandEnd, HostEffects, Notice};

pub use files::MAX_FILE_BYTES;
pub use issues::Issues;
pub use signature::Signer;
pub use webhooks::{Patience, Webhooks, check_allowed};

/// How much of an output is kept.
const KEPT: Kept = Kept { head: 32 * 1024, tail: 32 * 1024 };

/// How many lines of standard error are told, and how many characters of them.
const TOLD_LINES: usize = 5;
const TOLD_CHARS: usize = 500;

/// The machine that an agent works on.
pub struct Machine {
    /// The project's directory.
    pub root: PathBuf,
    /// The agent's directory, where its programs are.
    pub directory: PathBuf,
    /// Where commands and programs run, each in a room of its own.
    pub session_sandbox: Arc<SessionSandbox>,
    /// Who tells of issues.
    pub issues: Issues,
    /// Who may be called for help.
    pub webhooks: Webhooks,
    /// Asked before commands and programs where no sandbox holds them; none where one does.
    pub gates: Option<Vec<Arc<dyn Gate>>>,
}

#[async_trait]
impl HostEffects for Machine {
    async fn command(&self, command: &str, time_limit: Duration) -> CommandEnd {
        if let Some(why) = self.refused(command).await {
            return not_run(why);
        }
        let launch = match self.session_sandbox.shell(command).await {
            Ok(launch) => launch,
            Err(error) => return not_run(format!("its room cannot be opened ({error})")),
        };
        self.run(launch, Input::None, time_limit).await
    }

    async fn program(&self, program: &str, input: &Value, time_limit: Duration) -> CommandEnd {
        let (directory, name) = (self.directory.clone(), program.to_owned());
        let found = match tokio::task::spawn_blocking(move || files::executable(&directory, &name)).await {
            Ok(Ok(found)) => found,
            Ok(Err(why)) => return not_run(why),
            Err(error) => return not_run(error.to_string()),
        };
        if let Some(why) = self.refused(&found.to_string_lossy()).await {
            return not_run(why);
        }
        match self.session_sandbox.command(found).await {
            Ok(launch) => self.run(launch, Input::Json(input), time_limit).await,
            Err(error) => not_run(format!("its room cannot be opened ({error})")),
        }
    }

    async fn file(&self, path: &str) -> Result<Option<String>, Fault> {
        let (root, path) = (self.root.clone(), path.to_owned());
        let reading = tokio::task::spawn_blocking(move || files::read(&root, &path));
        reading.await.unwrap_or_else(|error| Err(files::unreadable("A file", &error.to_string())))
    }

    async fn issue(&self, issue: &str, repository: &str) -> Result<String, String> {
        self.issues.state(issue, repository).await
    }

    async fn notify(&self, notice: &Notice) -> Result<(), Fault> {
        self.webhooks.notify(notice).await
    }
}

/// What something is given to read.
enum Input<'a> {
    /// Nothing: what it says on standard error is part of its output.
    None,
    /// This: what it says on standard error is told, and only the rest is its output.
    Json(&'a Value),
}

impl Machine {
    /// Why a command must not be run, if it must not: what no sandbox holds, the command policy has to.
    async fn refused(&self, command: &str) -> Option<String> {
        let call = ToolCall {
            id: String::new(),
            name: "Bash".to_owned(),
            input: json!({ "command": command, "description": "an action of a declarative agent" }),
        };
        match gate::ask(self.gates.as_ref()?, &call).await {
            Ruling::Allowed => None,
            Ruling::Denied { reason, .. } => {
                Some(format!("without a sandbox the command policy decides, and it says: {reason}"))
            }
        }
    }

    async fn run(&self, launch: Launch, input: Input<'_>, time_limit: Duration) -> CommandEnd {
        let (input, keeps_errors_apart) = match input {
            Input::None => (Vec::new(), false),
            Input::Json(value) => (value.to_string().into_bytes(), true),
        };
        let bounded_command = BoundedCommand {
            launch: launch.cwd(&self.root),
            input,
            keeps_errors_apart,
            time_limit,
            kept: KEPT,
        };
        let ran = bounded_command.run(|_| {}).await;
        let exit = match ran.ending {
            Ending::Exit(code) => Some(code),
            Ending::TimedOut | Ending::TooMuchOutput | Ending::NotRun { .. } => None,
        };
        let mut sentence = sentence(&ran.ending, time_limit);
        if let Some(words) = last_words(&ran.errors) {
            sentence.push_str(&format!("; it said: {words}"));
        }
        let refusals = self.session_sandbox.refusals().await;
        if !refusals.is_empty() {
            let hosts: Vec<String> = refusals.into_iter().map(|refusal| refusal.host).collect();
            let how = self.session_sandbox.how_to_allow();
            sentence.push_str(&format!("; it had no way out to {}. {how}", hosts.join(", ")));
        }
        // Nothing of it is left for anyone who comes next, neither a process nor a setting that would have git run something.
        for put_right in self.session_sandbox.close().await {
            sentence.push_str(&format!("; {}", put_right.trim_end_matches('.')));
        }
        CommandEnd { exit, output: ran.output.text(), sentence: sentence.trim_end().to_owned() }
    }
}

/// How something ended, in words.
fn sentence(ending: &Ending, time_limit: Duration) -> String {
    match ending {
        Ending::Exit(code @ autonoe_sandbox::EXIT_NOT_FOUND) => {
            format!("exit code {code}: something that it calls was not found")
        }
        Ending::Exit(code) => format!("exit code {code}"),
        Ending::TimedOut => format!("it was ended after its time limit of {}", format_duration(time_limit)),
        Ending::TooMuchOutput => format!("it was ended after it had printed {MAX_OUTPUT} bytes"),
        Ending::NotRun { why } => format!("it could not be run: {why}"),
    }
}

fn not_run(why: String) -> CommandEnd {
    let sentence = sentence(&Ending::NotRun { why }, Duration::ZERO);
    CommandEnd { exit: None, output: String::new(), sentence }
}

/// The last lines of what a program said, if it said something.
fn last_words(printed: &Printed) -> Option<String> {
    let text = printed.text();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let words = lines[lines.len().saturating_sub(TOLD_LINES)..].join(" | ");
    let left_out = words.chars().count().saturating_sub(TOLD_CHARS);
    (!words.is_empty()).then(|| words.chars().skip(left_out).collect())
}
