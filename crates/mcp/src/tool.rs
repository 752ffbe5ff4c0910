//! A tool of an MCP server, as a [`Tool`]: the call, its time limit and its progress reports.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_tools::{Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec, truncate_line};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, ProgressNotificationParam,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;

use crate::call_result;
use crate::server_error::plain;

/// The number of characters of a description shown to the model.
const MAX_DESCRIPTION_CHARS: usize = 4_000;
/// How long sending the cancellation of a call may take.
const CANCEL_LIMIT: Duration = Duration::from_secs(5);
const CANCELLED: &str = "Cancelled before it finished. The server was notified.";

#[derive(Clone)]
pub(crate) enum ServerStatus {
    /// Being started or restarted.
    Starting,
    Ready(ServerHandle),
    /// Failed for good, for this reason.
    Gone(Arc<str>),
}

/// A connected server.
#[derive(Clone)]
pub(crate) struct ServerHandle {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) progress: broadcast::Sender<ProgressNotificationParam>,
}

/// One tool of one server.
pub(crate) struct McpTool {
    spec: ToolSpec,
    server: Arc<str>,
    /// The server's own name for the tool.
    name: String,
    status: watch::Receiver<ServerStatus>,
    limit: Duration,
}

/// Why a call has no result.
enum CallError {
    Failed(ServiceError),
    Gone(Arc<str>),
}

impl McpTool {
    /// The tool that the server lists as `listed`, under the name `name`.
    pub(crate) fn new(
        name: String,
        listed: &rmcp::model::Tool,
        server: &Arc<str>,
        status: watch::Receiver<ServerStatus>,
        limit: Duration,
    ) -> Self {
        let mut schema = Map::clone(&listed.input_schema);
        // Every provider requires it, but not every server sends it.
        schema.entry("type").or_insert_with(|| json!("object"));
        let description = listed.description.as_deref().or(listed.title.as_deref()).unwrap_or_default();
        let hints = listed.annotations.as_ref();
        let spec = ToolSpec {
            name,
            description: truncate_line(description, MAX_DESCRIPTION_CHARS),
            input_schema: Value::Object(schema),
            read_only: hints.and_then(|hints| hints.read_only_hint).unwrap_or(false),
        };
        Self { spec, server: Arc::clone(server), name: listed.name.clone().into_owned(), status, limit }
    }

    async fn send(&self, arguments: Option<JsonObject>, cx: &ToolContext) -> Result<ToolOutput, CallError> {
        let handle = self.connected().await.map_err(CallError::Gone)?;
        // Subscribed before the request is sent, so that no report is missed.
        let mut reports = handle.progress.subscribe();
        let mut params = CallToolRequestParams::new(self.name.clone());
        params.arguments = arguments;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending = handle.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut pending = PendingCall(Some(sending.await.map_err(CallError::Failed)?));
        let response = loop {
            let Some(request) = pending.0.as_mut() else { break Err(ServiceError::UnexpectedResponse) };
            tokio::select! {
                biased;
                response = &mut request.rx => break response.unwrap_or(Err(ServiceError::TransportClosed)),
                Ok(report) = reports.recv() => {
                    if report.progress_token == request.progress_token {
                        self.report_progress(cx, report);
                    }
                }
            }
        };
        pending.0 = None;
        match response.map_err(CallError::Failed)? {
            ServerResult::CallToolResult(result) => Ok(call_result::output(result)),
            _ => Err(CallError::Failed(ServiceError::UnexpectedResponse)),
        }
    }

    /// Waits until the server is connected or has failed for good.
    async fn connected(&self) -> Result<ServerHandle, Arc<str>> {
        let mut status = self.status.clone();
        let settled = status.wait_for(|status| !matches!(status, ServerStatus::Starting)).await;
        match settled.as_deref() {
            Ok(ServerStatus::Ready(handle)) => Ok(handle.clone()),
            Ok(ServerStatus::Gone(why)) => Err(Arc::clone(why)),
            Ok(ServerStatus::Starting) | Err(_) => Err("it was closed with the session".into()),
        }
    }

    fn report_progress(&self, cx: &ToolContext, report: ProgressNotificationParam) {
        let mut metadata = Map::new();
        metadata.insert("progress".to_owned(), json!(report.progress));
        if let Some(total) = report.total {
            metadata.insert("total".to_owned(), json!(total));
        }
        cx.metadata(&report.message.unwrap_or_else(|| self.spec.name.clone()), metadata);
    }

    fn error_output(&self, error: CallError) -> ToolOutput {
        let server = &self.server;
        let (code, message) = match error {
            CallError::Gone(why) => {
                (ToolErrorCode::ConfigError, format!("The MCP server `{server}` is not available: {why}."))
            }
            CallError::Failed(ServiceError::McpError(error)) => {
                let data = error.data.map(|data| format!(" ({data})")).unwrap_or_default();
                (
                    ToolErrorCode::Unknown,
                    format!("The MCP server `{server}` rejected the call: {}{data}", error.message),
                )
            }
            CallError::Failed(error @ (ServiceError::TransportClosed | ServiceError::TransportSend(_))) => (
                ToolErrorCode::IoError,
                format!(
                    "The connection to the MCP server `{server}` was lost during the call ({}). \
                     It is unknown whether the call took effect.",
                    plain(&error)
                ),
            ),
            CallError::Failed(error) => (
                ToolErrorCode::Unknown,
                format!("The MCP server `{server}` sent no usable response: {error}."),
            ),
        };
        ToolOutput::error(code, message)
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        let arguments = match args {
            Value::Object(arguments) => Some(arguments),
            Value::Null => None,
            other => {
                let message =
                    format!("Invalid arguments for {}: expected an object, got {other}.", self.spec.name);
                return ToolOutput::error(ToolErrorCode::ValidationError, message);
            }
        };
        let result = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return ToolOutput::error(ToolErrorCode::Unknown, CANCELLED),
            result = timeout(self.limit, self.send(arguments, cx)) => result,
        };
        match result {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => self.error_output(error),
            Err(_) => ToolOutput::error(
                ToolErrorCode::Timeout,
                format!(
                    "The MCP server `{}` did not respond within {} s. The call was cancelled.",
                    self.server,
                    self.limit.as_secs_f64()
                ),
            ),
        }
    }
}

/// A request without a response yet. Dropping it sends a cancellation to the server.
struct PendingCall(Option<RequestHandle<RoleClient>>);

impl Drop for PendingCall {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            let reason = Some("the result is no longer needed".to_owned());
            runtime.spawn(timeout(CANCEL_LIMIT, handle.cancel(reason)));
        }
    }
}
