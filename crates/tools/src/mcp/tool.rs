//! A server's tool as one of ours: the call, its limits, and what is told of it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, ProgressNotificationParam,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;

use super::answer;
use super::trouble::plain;
use crate::{Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec, cap};

/// How much of a description the model is shown.
const MAX_DESCRIPTION_CHARS: usize = 4_000;
/// How long the word that a call is cancelled may take to reach the server.
const CANCEL_LIMIT: Duration = Duration::from_secs(5);
const CANCELLED: &str = "Cancelled before it finished. The server was told.";

/// How a server stands.
#[derive(Clone)]
pub(super) enum Link {
    /// It is being started, for the first or the second time.
    Starting,
    /// It can be spoken to.
    Ready(Line),
    /// It is gone and will not come back, for this reason.
    Gone(Arc<str>),
}

/// A connection to a server.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) peer: Peer<RoleClient>,
    pub(super) progress: broadcast::Sender<ProgressNotificationParam>,
}

/// One tool of one server.
pub(super) struct McpTool {
    spec: ToolSpec,
    server: Arc<str>,
    /// What the server calls it.
    name: String,
    link: watch::Receiver<Link>,
    limit: Duration,
}

/// Why a call gave no answer.
enum Lost {
    Failed(ServiceError),
    Gone(Arc<str>),
}

impl McpTool {
    /// The tool that the server lists as `listed`, called `name` here.
    pub(super) fn new(
        name: String,
        listed: &rmcp::model::Tool,
        server: &Arc<str>,
        link: watch::Receiver<Link>,
        limit: Duration,
    ) -> Self {
        let mut schema = Map::clone(&listed.input_schema);
        // Every provider insists on it, and not every server says it.
        schema.entry("type").or_insert_with(|| json!("object"));
        let about = listed.description.as_deref().or(listed.title.as_deref()).unwrap_or_default();
        let hints = listed.annotations.as_ref();
        let spec = ToolSpec {
            name,
            description: cap::line(about, MAX_DESCRIPTION_CHARS),
            input_schema: Value::Object(schema),
            read_only: hints.and_then(|hints| hints.read_only_hint).unwrap_or(false),
        };
        Self { spec, server: Arc::clone(server), name: listed.name.clone().into_owned(), link, limit }
    }

    async fn ask(&self, arguments: Option<JsonObject>, cx: &ToolContext) -> Result<ToolOutput, Lost> {
        let line = self.line().await.map_err(Lost::Gone)?;
        // Before the question is asked, so that no report is missed.
        let mut reports = line.progress.subscribe();
        let mut params = CallToolRequestParams::new(self.name.clone());
        params.arguments = arguments;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending = line.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut asked = Asked(Some(sending.await.map_err(Lost::Failed)?));
        let answer = loop {
            let Some(handle) = asked.0.as_mut() else { break Err(ServiceError::UnexpectedResponse) };
            tokio::select! {
                biased;
                answer = &mut handle.rx => break answer.unwrap_or(Err(ServiceError::TransportClosed)),
                Ok(report) = reports.recv() => {
                    if report.progress_token == handle.progress_token {
                        self.tell(cx, report);
                    }
                }
            }
        };
        asked.0 = None;
        match answer.map_err(Lost::Failed)? {
            ServerResult::CallToolResult(result) => Ok(answer::output(result)),
            _ => Err(Lost::Failed(ServiceError::UnexpectedResponse)),
        }
    }

    /// The connection, as soon as there is one.
    async fn line(&self) -> Result<Line, Arc<str>> {
        let mut link = self.link.clone();
        let settled = link.wait_for(|link| !matches!(link, Link::Starting)).await;
        match settled.as_deref() {
            Ok(Link::Ready(line)) => Ok(line.clone()),
            Ok(Link::Gone(why)) => Err(Arc::clone(why)),
            Ok(Link::Starting) | Err(_) => Err("it was closed with the session".into()),
        }
    }

    fn tell(&self, cx: &ToolContext, report: ProgressNotificationParam) {
        let mut known = Map::new();
        known.insert("progress".to_owned(), json!(report.progress));
        if let Some(total) = report.total {
            known.insert("total".to_owned(), json!(total));
        }
        cx.metadata(&report.message.unwrap_or_else(|| self.spec.name.clone()), known);
    }

    fn lost(&self, lost: Lost) -> ToolOutput {
        let server = &self.server;
        let (code, said) = match lost {
            Lost::Gone(why) => {
                (ToolErrorCode::ConfigError, format!("The MCP server `{server}` is not there: {why}."))
            }
            Lost::Failed(ServiceError::McpError(error)) => {
                let more = error.data.map(|data| format!(" ({data})")).unwrap_or_default();
                (
                    ToolErrorCode::Unknown,
                    format!("The MCP server `{server}` refused the call: {}{more}", error.message),
                )
            }
            Lost::Failed(error @ (ServiceError::TransportClosed | ServiceError::TransportSend(_))) => (
                ToolErrorCode::IoError,
                format!(
                    "The connection to the MCP server `{server}` was lost during the call ({}). \
                     Whether the call took effect is not known.",
                    plain(&error)
                ),
            ),
            Lost::Failed(error) => {
                (ToolErrorCode::Unknown, format!("The MCP server `{server}` gave no usable answer: {error}."))
            }
        };
        ToolOutput::error(code, said)
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
                let said =
                    format!("Wrong arguments for {}: expected an object, not {other}.", self.spec.name);
                return ToolOutput::error(ToolErrorCode::ValidationError, said);
            }
        };
        let answer = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return ToolOutput::error(ToolErrorCode::Unknown, CANCELLED),
            answer = timeout(self.limit, self.ask(arguments, cx)) => answer,
        };
        match answer {
            Ok(Ok(output)) => output,
            Ok(Err(lost)) => self.lost(lost),
            Err(_) => ToolOutput::error(
                ToolErrorCode::Timeout,
                format!(
                    "The MCP server `{}` did not answer within {} s. It was told to stop.",
                    self.server,
                    self.limit.as_secs_f64()
                ),
            ),
        }
    }
}

/// A question without an answer yet. Dropped, the server is told that none is wanted any more.
struct Asked(Option<RequestHandle<RoleClient>>);

impl Drop for Asked {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            let reason = Some("the result is no longer wanted".to_owned());
            runtime.spawn(timeout(CANCEL_LIMIT, handle.cancel(reason)));
        }
    }
}
