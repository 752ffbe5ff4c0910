//! Our own binary in other parts, in the session's room: what reads what strangers have written is kept apart from us, can
//! be ended at any moment, and reaches the network only through the egress proxy.

use std::ffi::OsString;
use std::io::{self, Write};
use std::time::Duration;

use autonoe_sandbox::Stream;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::{ToolErrorCode, Workspace, fetch, pdf};

/// The first argument by which our binary knows that it is to fetch something from the web.
pub const FETCH_ARG: &str = "__fetch";
/// The first argument by which our binary knows that it is to read a PDF.
pub const PDF_ARG: &str = "__pdf";

/// How much memory such a part may take.
const MAX_MEMORY_BYTES: u64 = 1 << 30;
/// How much it may answer.
const MAX_ANSWER_BYTES: u64 = 32 * 1024 * 1024;

/// Plays one of the parts, if the first of our binary's arguments says so, and returns the exit code. To be called
/// before anything else is done.
pub fn run_helper_process(arguments: &[OsString]) -> Option<i32> {
    let arguments: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let (part, arguments) = arguments.split_first()?;
    match *part {
        FETCH_ARG => Some(answer(|| fetch::part(arguments))),
        PDF_ARG => Some(answer(|| pdf::part(arguments))),
        _ => None,
    }
}

fn answer<T: Serialize>(work: impl FnOnce() -> T) -> i32 {
    let hard = getrlimit(Resource::Data).maximum;
    let memory = hard.map_or(MAX_MEMORY_BYTES, |hard| hard.min(MAX_MEMORY_BYTES));
    // Where there is no such limit, the room's own holds.
    let _ = setrlimit(Resource::Data, Rlimit { current: Some(memory), maximum: hard });
    // What a parser says in panic, nobody reads.
    std::panic::set_hook(Box::new(|_| {}));
    let told = serde_json::to_vec(&work()).map(|answer| io::stdout().write_all(&answer));
    i32::from(!matches!(told, Ok(Ok(()))))
}

/// Has our binary play a part in the session's room and gives its answer.
pub(crate) async fn ask<T: DeserializeOwned>(
    workspace: &Workspace,
    arguments: &[&str],
    stdin: Stream,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<T, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(ToolErrorCode::IoError, format!("A helper process could not be started: {error}."))
    };
    let launch = workspace.session_sandbox().ourselves().await.map_err(|error| failed(&error))?;
    let launch = launch.args(arguments).stdin(stdin).stdout(Stream::Piped);
    let mut child = launch.spawn().map_err(|error| failed(&error))?;
    let mut answer = Vec::new();
    let reading = async {
        if let Some(stdout) = child.stdout.take() {
            // An answer that breaks off is not understood below.
            let _ = stdout.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await;
        }
    };
    let ended = tokio::select! {
        () = reading => Ok(()),
        () = cancel.cancelled() => Err(Failure::cancelled()),
        () = tokio::time::sleep(limit) => Err(Failure::new(
            ToolErrorCode::Timeout,
            format!("It took longer than {} s and was ended.", limit.as_secs()),
        )),
    };
    // It is done, or is to end; whichever, its answer is all that counts.
    let _ = child.stop().await;
    ended?;
    serde_json::from_slice(&answer).map_err(|_| {
        Failure::new(ToolErrorCode::Unknown, "The helper process failed before it could answer.")
    })
}
