//! Helper processes: our own binary, started in the session's room to parse untrusted content. A helper is isolated from
//! us, can be killed at any time, and reaches the network only through the egress proxy.

use std::time::Duration;

use autonoe_sandbox::StdioTarget;
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

use crate::failure::ToolFailure;
use crate::output::ToolErrorCode;
use crate::workspace::Workspace;

/// The first argument that makes our binary fetch a URL.
pub const FETCH_ARG: &str = "__fetch";
/// The first argument that makes our binary read a PDF.
pub const PDF_ARG: &str = "__pdf";

/// The maximum size of a helper's result.
const MAX_RESULT_BYTES: u64 = 32 * 1024 * 1024;

/// Runs our binary as a helper in the session's room and returns its result.
pub(crate) async fn run_helper<T: DeserializeOwned>(
    workspace: &Workspace,
    arguments: &[&str],
    stdin: StdioTarget,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<T, ToolFailure> {
    let failed = |error: &dyn std::fmt::Display| {
        ToolFailure::new(ToolErrorCode::IoError, format!("A helper process could not be started: {error}."))
    };
    let launch = workspace.session_sandbox().own_binary().await.map_err(|error| failed(&error))?;
    let launch = launch.args(arguments).stdin(stdin).stdout(StdioTarget::Piped);
    let mut child = launch.spawn().map_err(|error| failed(&error))?;
    let mut result = Vec::new();
    let reading = async {
        if let Some(stdout) = child.stdout.take() {
            // A truncated result fails to parse below.
            let _ = stdout.take(MAX_RESULT_BYTES).read_to_end(&mut result).await;
        }
    };
    let ended = tokio::select! {
        () = reading => Ok(()),
        () = cancel.cancelled() => Err(ToolFailure::cancelled()),
        () = tokio::time::sleep(limit) => Err(ToolFailure::new(
            ToolErrorCode::Timeout,
            format!("It took longer than {} s and was killed.", limit.as_secs()),
        )),
    };
    // Either it has finished or it must stop now; only its result matters.
    let _ = child.stop().await;
    ended?;
    serde_json::from_slice(&result).map_err(|_| {
        ToolFailure::new(ToolErrorCode::Unknown, "The helper process failed before it returned a result.")
    })
}
