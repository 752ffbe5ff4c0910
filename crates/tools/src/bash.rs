//! The Bash tool: runs a shell command in the workspace, with limits on time, memory and output.
//!
//! The command runs in the session's room. Processes that it leaves in the background, such as a test server, live until
//! the session ends; when the call is cancelled or times out, everything it started is killed.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_sandbox::{Exit, SandboxedChild};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::output::{ToolErrorCode, ToolOutput};
use crate::outputs::{MAX_OUTPUT_CHARS, OutputCapture};
use crate::shell::ShellCommand;
use crate::tool::{Tool, ToolSpec};
use crate::workspace::Workspace;
use crate::{args, cap};

/// How long a command may take without a `timeout`.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// The maximum `timeout`.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// The number of characters of a command shown in a title.
const MAX_TITLE_CHARS: usize = 80;
/// How long to wait for more output when the command has exited but a background process may still write.
const DRAIN_LIMIT: Duration = Duration::from_millis(200);
const READ_BUFFER_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub struct BashTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct BashArgs {
    /// The command to run.
    command: String,
    /// The time limit in milliseconds.
    timeout: Option<u64>,
    /// What the command does, in a few words.
    description: Option<String>,
    /// Whether to return at once while the command keeps running. Read its output with BashOutput, stop it with KillShell.
    #[serde(default)]
    run_in_background: bool,
}

impl BashTool {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for BashTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Bash".to_owned(),
            description: format!(
                "Runs a shell command and returns its output, standard output and standard error \
                 combined. The first call starts in the workspace root, each further call in the \
                 directory in which the previous one ended; variables do not carry over. There is \
                 no terminal and no input. A command may take {} s, or up to {} s with timeout; run \
                 a command that takes longer, such as a server, in the background with \
                 run_in_background. Everything still running when the session ends is killed. \
                 Output beyond {MAX_OUTPUT_CHARS} characters is cut in the middle and saved.",
                DEFAULT_TIMEOUT.as_secs(),
                MAX_TIMEOUT.as_secs()
            ),
            input_schema: args::schema::<BashArgs>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        let args: BashArgs = match args::parse("Bash", args) {
            Ok(args) => args,
            Err(failure) => return failure.into(),
        };
        let title = args.description.clone().unwrap_or_else(|| cap::line(&args.command, MAX_TITLE_CHARS));
        cx.metadata(&title, Map::new());
        let result = if args.run_in_background {
            start_job(&self.workspace, &args).await
        } else {
            run(&self.workspace, &args, &cx.cancel).await
        };
        result.unwrap_or_else(ToolOutput::from).titled(title)
    }
}

/// Starts a command in the background.
async fn start_job(workspace: &Workspace, args: &BashArgs) -> Result<ToolOutput, ToolFailure> {
    let jobs = workspace.jobs();
    jobs.check_limit()?;
    let shell = ShellCommand::start(workspace.session_sandbox(), &args.command, &workspace.cwd()).await?;
    let id = jobs.start(shell, &args.command, workspace.outputs());
    Ok(ToolOutput::ok(format!(
        "The command runs in the background as {id}. Read its output with BashOutput, stop it with KillShell."
    ))
    .with("bash_id", id))
}

async fn run(
    workspace: &Workspace,
    args: &BashArgs,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolFailure> {
    let limit = match args.timeout.map(Duration::from_millis) {
        Some(Duration::ZERO) => {
            return Err(ToolFailure::invalid("`timeout` must be at least 1 millisecond."));
        }
        given => given.unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT),
    };
    let mut shell = ShellCommand::start(workspace.session_sandbox(), &args.command, &workspace.cwd()).await?;
    let mut capture = OutputCapture::new(workspace.outputs(), "bash", MAX_OUTPUT_CHARS);
    let (end, drained) = {
        let mut reading = pin!(collect(&mut shell.output, &mut capture));
        let mut waiting = pin!(finish(&mut shell.child, cancel, limit));
        // The output may end long before the command, but hardly ever after it.
        tokio::select! {
            biased;
            () = &mut reading => (waiting.await, true),
            end = &mut waiting => (end, tokio::time::timeout(DRAIN_LIMIT, reading).await.is_ok()),
        }
    };
    let cwd_note = update_cwd(workspace, &shell);
    if !drained {
        // A background process still has the other end open, and must not fail because the pipe is closed.
        let mut output = shell.output;
        tokio::spawn(async move { tokio::io::copy(&mut output, &mut tokio::io::sink()).await });
    }
    let captured = capture.finish().await;
    let output = captured.add_metadata(end.report(&captured.text, cwd_note.as_deref()));
    Ok(output.with("cwd", workspace.show(&workspace.cwd())))
}

/// Makes the shell's last directory the current one. Returns a note if it is outside the project.
fn update_cwd(workspace: &Workspace, shell: &ShellCommand) -> Option<String> {
    let last = shell.last_directory().filter(|directory| !workspace.enter(directory))?;
    let (cwd, last) = (workspace.show(&workspace.cwd()), last.display());
    Some(format!("\n(The next command starts in {cwd} again: {last} is not in the project.)"))
}

/// Reads until every process has closed the other end. An error counts as the end.
async fn collect(output: &mut pipe::Receiver, capture: &mut OutputCapture) {
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        capture.push(&buffer[..count]).await;
    }
}

/// How a command ended.
enum CommandOutcome {
    Exited(Exit),
    TimedOut(Duration),
    Cancelled,
    /// The supervisor failed, or did not stop the command.
    Lost(io::Error),
}

async fn finish(child: &mut SandboxedChild, cancel: &CancellationToken, limit: Duration) -> CommandOutcome {
    let end = tokio::select! {
        exit = child.wait() => return exit.map_or_else(CommandOutcome::Lost, CommandOutcome::Exited),
        () = cancel.cancelled() => CommandOutcome::Cancelled,
        () = tokio::time::sleep(limit) => CommandOutcome::TimedOut(limit),
    };
    match child.stop().await {
        Ok(_) => end,
        Err(error) => CommandOutcome::Lost(error),
    }
}

impl CommandOutcome {
    fn report(&self, output: &str, note: Option<&str>) -> ToolOutput {
        let output = output.trim_end_matches('\n');
        let shown = if output.is_empty() { "(no output)" } else { output };
        let note = note.unwrap_or_default();
        let (code, why) = match self {
            Self::Exited(exit) if exit.is_success() => {
                return ToolOutput::ok(format!("{shown}{note}")).with("exit_code", 0);
            }
            Self::Exited(Exit::Code(code)) => (ToolErrorCode::Unknown, format!("Exit code {code}")),
            Self::Exited(Exit::NotStarted { why, .. }) => {
                (ToolErrorCode::IoError, format!("The shell could not be started: {why}."))
            }
            Self::TimedOut(limit) => {
                let maximum = if *limit == MAX_TIMEOUT { ", the maximum" } else { "" };
                let after = limit.as_secs_f64();
                let message = format!(
                    "Timed out after {after} s{maximum}. The command and everything it started were killed."
                );
                (ToolErrorCode::Timeout, message)
            }
            Self::Cancelled => {
                let message = "Cancelled. The command and everything it started were killed.";
                (ToolErrorCode::Unknown, message.to_owned())
            }
            Self::Lost(error) => (ToolErrorCode::IoError, format!("The command was lost: {error}.")),
        };
        let report = ToolOutput::error(code, format!("{why}\n{shown}{note}"));
        match self {
            Self::Exited(exit) => report.with("exit_code", exit.code()),
            Self::TimedOut(_) | Self::Cancelled | Self::Lost(_) => report,
        }
    }
}
