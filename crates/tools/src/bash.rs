//! Bash: a shell command in the workspace, in bounded time, memory and output.
//!
//! It runs in the session's room. What it leaves in the background, a server for the tests say, goes on until the session
//! ends; when it is cancelled or takes too long, all that it started ends with it.

use std::fmt;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_sandbox::{Child, Exit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use crate::cap::HeadTail;
use crate::{Tool, ToolContext, ToolOutput, ToolSpec, Workspace, args};

/// How long a command may take when no `timeout` is given.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a command may take at most, whatever its `timeout`.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);
/// How many characters of output one call gives, from its beginning and its end.
pub const MAX_OUTPUT_CHARS: usize = 30_000;

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
    #[serde(rename = "description")]
    _description: Option<String>,
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
                "Runs a shell command in the workspace root and gives its output, standard output \
                 and standard error together. Each call is a new shell: directory and variables do \
                 not carry over. There is no terminal and no input. A command may take {} s, or up \
                 to {} s with timeout. Processes left in the background, such as servers, go on until \
                 the session ends; send their output to a file. Output beyond {MAX_OUTPUT_CHARS} characters is cut in its middle.",
                DEFAULT_TIMEOUT.as_secs(),
                MAX_TIMEOUT.as_secs()
            ),
            input_schema: args::schema::<Args>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        match args::parse("Bash", args) {
            Ok(args) => run(&self.workspace, &args, &cx.cancel).await.unwrap_or_else(ToolOutput::error),
            Err(message) => ToolOutput::error(message),
        }
    }
}

async fn run(workspace: &Workspace, args: &Args, cancel: &CancellationToken) -> Result<ToolOutput, String> {
    let limit = match args.timeout.map(Duration::from_millis) {
        Some(Duration::ZERO) => return Err("`timeout` must be at least 1 millisecond.".to_owned()),
        given => given.unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT),
    };
    let (mut child, mut output) = start(workspace, &args.command).await?;
    let mut kept = HeadTail::new(MAX_OUTPUT_CHARS);
    let (end, drained) = {
        let mut reading = pin!(collect(&mut output, &mut kept));
        let mut waiting = pin!(finish(&mut child, cancel, limit));
        // The output may end long before the command, but hardly after it.
        tokio::select! {
            biased;
            () = &mut reading => (waiting.await, true),
            end = &mut waiting => (end, tokio::time::timeout(DRAIN_LIMIT, reading).await.is_ok()),
        }
    };
    if !drained {
        // Somebody in the background holds the other end and must not stumble over its being closed.
        tokio::spawn(async move { tokio::io::copy(&mut output, &mut tokio::io::sink()).await });
    }
    Ok(end.report(&kept.finish()))
}

/// Starts the command and gives the pipe that both its outputs go to.
async fn start(workspace: &Workspace, command: &str) -> Result<(Child, pipe::Receiver), String> {
    let failed = |error: &dyn fmt::Display| format!("The command could not be started: {error}.");
    let launch = workspace.quarters().command(shell()).await.map_err(|error| failed(&error))?;
    let start = || -> io::Result<_> {
        let (reader, writer) = io::pipe()?;
        // A command that begins with a dash is still a command.
        let launch = launch.args(["-c", "--", command]).cwd(workspace.root());
        let child = launch.stdout(writer.try_clone()?).stderr(writer).leaving_background().spawn()?;
        Ok((child, pipe::Receiver::from_owned_fd(reader.into())?))
    };
    start().map_err(|error| failed(&error))
}

fn shell() -> &'static str {
    if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" }
}

/// Reads until nobody holds the other end. A failing pipe ends the output like a closed one.
async fn collect(output: &mut pipe::Receiver, kept: &mut HeadTail) {
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        kept.push(&buffer[..count]);
    }
}

/// How a command ended.
enum End {
    Exited(Exit),
    TimedOut(Duration),
    Cancelled,
    /// Its keeper could not be waited for, or did not end it.
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
    fn report(&self, output: &str) -> ToolOutput {
        let output = output.trim_end_matches('\n');
        let shown = if output.is_empty() { "(no output)" } else { output };
        let why = match self {
            Self::Exited(exit) if exit.is_success() => return ToolOutput::ok(shown),
            Self::Exited(Exit::Code(code)) => format!("Exit code {code}"),
            Self::Exited(Exit::NotStarted { why, .. }) => format!("The shell could not be started: {why}."),
            Self::TimedOut(limit) => {
                let most = if *limit == MAX_TIMEOUT { ", the most there is" } else { "" };
                format!(
                    "Timed out after {} s{most}. The command and all it started were ended.",
                    limit.as_secs_f64()
                )
            }
            Self::Cancelled => "Cancelled. The command and all it started were ended.".to_owned(),
            Self::Lost(error) => format!("The command was lost: {error}."),
        };
        ToolOutput::error(format!("{why}\n{shown}"))
    }
}
