//! Files that an agent reads and writes through us. A process in the room does it, so that the kernel
//! enforces the rules.

use std::time::Duration;

use agent_client_protocol_schema::v1::{ReadTextFileRequest, WriteTextFileRequest};
use autonoe_core::gate::ToolCall;
use autonoe_sandbox::{Launch, PipedProgram};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::message::RpcError;
use crate::vendor::VendorSession;

const FILE_LIMIT: Duration = Duration::from_secs(30);

/// Reads the file whose path is its first argument.
const READ: &str = r#"[ -e "$1" ] || exit 44; cat < "$1""#;

/// The exit code of [`READ`] for a missing file.
const EXIT_MISSING: i32 = 44;

/// The protocol's error code for a missing file, which agents do not treat as a failure.
const NOT_FOUND: i64 = -32002;

/// The protocol's error code for internal errors.
pub(super) const FAILED: i64 = -32603;

/// Writes the file whose path is its first argument, and creates its directories.
const WRITE: &str = r#"mkdir -p -- "$(dirname -- "$1")" && cat > "$1""#;

/// The read as a call that our gates know.
pub(super) fn read_call(id: &str, request: &ReadTextFileRequest) -> ToolCall {
    let input = json!({ "file_path": request.path });
    ToolCall { id: id.to_owned(), name: "Read".to_owned(), input }
}

/// The write as a call that our gates know.
pub(super) fn write_call(id: &str, request: &WriteTextFileRequest) -> ToolCall {
    let input = json!({ "file_path": request.path, "content": request.content });
    ToolCall { id: id.to_owned(), name: "Write".to_owned(), input }
}

pub(super) async fn read(
    vendor_session: &VendorSession,
    request: &ReadTextFileRequest,
) -> Result<Value, RpcError> {
    let text = run(shell(vendor_session, READ, &request.path.display().to_string()).await?, "").await?;
    let (line, limit) =
        (request.line.unwrap_or(1).max(1) as usize, request.limit.map(|limit| limit as usize));
    let lines = text.split_inclusive('\n').skip(line - 1).take(limit.unwrap_or(usize::MAX));
    Ok(json!({ "content": lines.collect::<String>() }))
}

pub(super) async fn write(
    vendor_session: &VendorSession,
    request: &WriteTextFileRequest,
) -> Result<Value, RpcError> {
    run(shell(vendor_session, WRITE, &request.path.display().to_string()).await?, &request.content).await?;
    Ok(json!({}))
}

async fn shell(vendor_session: &VendorSession, script: &str, path: &str) -> Result<Launch, RpcError> {
    let launch = vendor_session.command("/bin/sh").await.map_err(|error| failed(error.to_string()))?;
    Ok(launch.args(["-c", script, "sh", path]))
}

async fn run(launch: Launch, input: &str) -> Result<String, RpcError> {
    let (mut program, (mut output, mut pipe)) =
        PipedProgram::start(launch).map_err(|error| failed(error.to_string()))?;
    let feed = async {
        // A failed write shows in the exit code.
        let _ = pipe.write_all(input.as_bytes()).await;
        drop(pipe);
    };
    let mut text = String::new();
    let work = async { tokio::join!(feed, output.read_to_string(&mut text)).1 };
    let read = tokio::time::timeout(FILE_LIMIT, work).await;
    let exit = program.ended(FILE_LIMIT).await;
    match (read, exit) {
        (Ok(Ok(_)), Some(Ok(exit))) if exit.is_success() => Ok(text),
        (Ok(Ok(_)), Some(Ok(exit))) if exit.code() == EXIT_MISSING => Err(RpcError {
            code: NOT_FOUND,
            message: "Resource not found: no such file or directory".to_owned(),
        }),
        (Ok(Err(error)), _) => Err(failed(format!("the file is not text: {error}"))),
        _ => {
            program.stop().await;
            Err(failed(program.stderr_tail().await.unwrap_or_else(|| "the file access timed out".to_owned())))
        }
    }
}

fn failed(message: String) -> RpcError {
    RpcError { code: FAILED, message }
}
