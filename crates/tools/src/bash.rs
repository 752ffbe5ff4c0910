//! Bash: a shell command in the workspace, in bounded time, memory and output.
//!
//! It runs in the session's room. What it leaves in the background, a server for the tests say, goes on until the session
//! ends; when it is cancelled or takes too long, all that it started ends with it.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_sandbox::{Child, Exit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::outputs::Capture;
use crate::shell::Shell;
use crate::{Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec, Workspace, args, cap};

/// How long a command may take when no `timeout` is given.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a command may take at most, whatever its `timeout`.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);
/// How many characters of output one call gives, from its beginning and its end.
pub const MAX_OUTPUT_CHARS: usize = 30_000;

/// How many characters of a command stand in a title.
const MAX_TITLE_CHARS: usize = 80;
/// How long more output is awaited when the command has ended but something in the background may still write.
const DRAIN_LIMIT: Duration = Duration::from_millis(200);
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// The tool `Bash`.
#[derive(Debug)]
pub struct Bash {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The command to run.
    command: String,
    /// How long it may take, in milliseconds.
    timeout: Option<u64>,
    /// What the command does, in a few words.
    description: Option<String>,
    /// Whether to go on at once while the command runs. Look at its output with BashOutput, end it with KillShell.
    #[serde(default)]
    run_in_background: bool,
}

impl Bash {
    /// The tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Bash".to_owned(),
            description: format!(
                "Runs a shell command and gives its output, standard output and standard error \
                 together. The first call starts in the workspace root, each further one in the \
                 directory in which the last one ended; variables do not carry over. There is no \
                 terminal and no input. A command may take {} s, or up to {} s with timeout; one \
                 that goes on for longer, such as a server, belongs in the background with \
                 run_in_background. Whatever still runs when the session ends is ended. Output \
                 beyond {MAX_OUTPUT_CHARS} characters is cut in its middle and saved.",
                DEFAULT_TIMEOUT.as_secs(),
                MAX_TIMEOUT.as_secs()
            ),
            input_schema: args::schema::<Args>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        let args: Args = match args::parse("Bash", args) {
            Ok(args) => args,
            Err(failure) => return failure.into(),
        };
        let title = args.description.clone().unwrap_or_else(|| cap::line(&args.command, MAX_TITLE_CHARS));
        cx.metadata(&title, Map::new());
        let done = if args.run_in_background {
            begin(&self.workspace, &args).await
        } else {
            run(&self.workspace, &args, &cx.cancel).await
        };
        done.unwrap_or_else(ToolOutput::from).titled(title)
    }
}

/// Leaves a command running in the background.
async fn begin(workspace: &Workspace, args: &Args) -> Result<ToolOutput, Failure> {
    let jobs = workspace.jobs();
    jobs.check_room()?;
    let shell = Shell::start(workspace, &args.command, &workspace.cwd()).await?;
    let id = jobs.begin(shell, &args.command, workspace.outputs());
    Ok(ToolOutput::ok(format!(
        "The command runs in the background as {id}. Look at its output with BashOutput, end it with KillShell."
    ))
    .with("bash_id", id))
}

async fn run(workspace: &Workspace, args: &Args, cancel: &CancellationToken) -> Result<ToolOutput, Failure> {
    let limit = match args.timeout.map(Duration::from_millis) {
        Some(Duration::ZERO) => return Err(Failure::invalid("`timeout` must be at least 1 millisecond.")),
        given => given.unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT),
    };
    let mut shell = Shell::start(workspace, &args.command, &workspace.cwd()).await?;
    let mut kept = Capture::new(workspace.outputs(), "bash", MAX_OUTPUT_CHARS);
    let (end, drained) = {
        let mut reading = pin!(collect(&mut shell.output, &mut kept));
        let mut waiting = pin!(finish(&mut shell.child, cancel, limit));
        // The output may end long before the command, but hardly after it.
        tokio::select! {
            biased;
            () = &mut reading => (waiting.await, true),
            end = &mut waiting => (end, tokio::time::timeout(DRAIN_LIMIT, reading).await.is_ok()),
        }
    };
    let stayed = settle(workspace, &shell);
    if !drained {
        // Somebody in the background holds the other end and must not stumble over its being closed.
        let mut output = shell.output;
        tokio::spawn(async move { tokio::io::copy(&mut output, &mut tokio::io::sink()).await });
    }
    let captured = kept.finish().await;
    let output = captured.told_in(end.report(&captured.text, stayed.as_deref()));
    Ok(output.with("cwd", workspace.show(&workspace.cwd())))
}

/// Keeps the directory in which a shell ended. Says so if it cannot be kept.
fn settle(workspace: &Workspace, shell: &Shell) -> Option<String> {
    let left_in = shell.left_in().filter(|directory| !workspace.enter(directory))?;
    let (cwd, left_in) = (workspace.show(&workspace.cwd()), left_in.display());
    Some(format!("\n(The next command starts in {cwd} again: {left_in} is not in the project.)"))
}

/// Reads until nobody holds the other end. A failing pipe ends the output like a closed one.
async fn collect(output: &mut pipe::Receiver, kept: &mut Capture) {
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        kept.push(&buffer[..count]).await;
    }
}

/// How a command ended.
enum End {
    Exited(Exit),
    TimedOut(Duration),
    Cancelled,
    /// Its supervisor could not be waited for, or did not end it.
    Lost(io::Error),
}

async fn finish(child: &mut Child, cancel: &CancellationToken, limit: Duration) -> End {
    let end = tokio::select! {
        exit = child.wait() => return exit.map_or_else(End::Lost, End::Exited),
        () = cancel.cancelled() => End::Cancelled,
        () = tokio::time::sleep(limit) => End::TimedOut(limit),
    };
    match child.stop().await {
        Ok(_) => end,
        Err(error) => End::Lost(error),
    }
}

impl End {
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
                let most = if *limit == MAX_TIMEOUT { ", the most there is" } else { "" };
                let after = limit.as_secs_f64();
                let message =
                    format!("Timed out after {after} s{most}. The command and all it started were ended.");
                (ToolErrorCode::Timeout, message)
            }
            Self::Cancelled => {
                (ToolErrorCode::Unknown, "Cancelled. The command and all it started were ended.".to_owned())
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
