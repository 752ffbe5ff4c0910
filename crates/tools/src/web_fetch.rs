//! The WebFetch tool: fetches a web page as text.
//!
//! The gates have already checked the URL. A helper process in the session's room fetches it through the egress proxy, which
//! checks the host; without a sandbox, only hosts that a permission rule names are allowed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_sandbox::StdioTarget;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::args;
use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::fetch::{FETCH_LIMIT, Fetched, MAX_FETCH_BYTES};
use crate::helper_process::{self, FETCH_ARG};
use crate::output::{ToolErrorCode, ToolOutput};
use crate::outputs::MAX_OUTPUT_CHARS;
use crate::tool::{Tool, ToolSpec};
use crate::workspace::Workspace;

/// How long the helper process may take in addition to the fetch itself.
const GRACE: Duration = Duration::from_secs(10);
/// The maximum length of a URL.
const MAX_URL_BYTES: usize = 8 * 1024;

#[derive(Debug)]
pub struct WebFetchTool {
    workspace: Arc<Workspace>,
    /// The hosts allowed without an egress proxy: `host` or `host:port`.
    hosts: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct WebFetchArgs {
    /// The URL of the page, with http:// or https://.
    url: String,
    /// What you are looking for on the page. The whole page is returned regardless.
    #[serde(rename = "prompt")]
    _prompt: Option<String>,
}

impl WebFetchTool {
    /// `hosts` are the hosts allowed when the workspace has no sandbox.
    pub fn new(workspace: Arc<Workspace>, hosts: Vec<String>) -> Self {
        Self { workspace, hosts }
    }

    async fn fetch(&self, args: Value, cx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let args: WebFetchArgs = args::parse("WebFetch", args)?;
        let url = parse_url(&args.url)?;
        if !self.workspace.session_sandbox().has_egress() {
            self.check_host(&url)?;
        }
        cx.metadata(&format!("Fetching {url}"), Map::new());
        let fetched = self.run_helper(&url, &cx.cancel).await?;
        let output = output(&url, fetched)?;
        Ok(self.workspace.outputs().capped(output, MAX_OUTPUT_CHARS).await)
    }

    async fn run_helper(&self, url: &Url, cancel: &CancellationToken) -> Result<Fetched, ToolFailure> {
        let limit = FETCH_LIMIT + GRACE;
        helper_process::run_helper(
            &self.workspace,
            &[FETCH_ARG, url.as_str()],
            StdioTarget::Null,
            limit,
            cancel,
        )
        .await
    }

    /// Without an egress proxy, nothing else checks the host.
    fn check_host(&self, url: &Url) -> Result<(), ToolFailure> {
        let host = url.host_str().unwrap_or_default();
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        if self.hosts.contains(&host) {
            return Ok(());
        }
        Err(ToolFailure::new(
            ToolErrorCode::PermissionDenied,
            format!(
                "Without a sandbox, only hosts that a permission rule names can be fetched from, and no rule names {host}. \
                 The user can add one, such as \"WebFetch(https://{host}/*)\"."
            ),
        ))
    }
}

#[async_trait]
impl Tool for WebFetchTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "WebFetch".to_owned(),
            description: format!(
                "Fetches a web page and returns it as text: HTML as Markdown, other text unchanged, a PDF as its \
                 text. Reads up to {} MiB and takes up to {} s. A redirect to another host is not followed but \
                 reported. Only pages that the user has permitted can be fetched.",
                MAX_FETCH_BYTES / (1024 * 1024),
                FETCH_LIMIT.as_secs()
            ),
            input_schema: args::schema::<WebFetchArgs>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        self.fetch(args, cx).await.unwrap_or_else(ToolOutput::from)
    }
}

fn parse_url(text: &str) -> Result<Url, ToolFailure> {
    let wrong = |why: &str| ToolFailure::invalid(format!("`url` {why}."));
    if text.len() > MAX_URL_BYTES {
        return Err(wrong("is too long"));
    }
    let url = Url::parse(text).map_err(|error| wrong(&format!("is not a valid URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("must start with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not contain a user name or password"));
    }
    Ok(url)
}

fn output(requested: &Url, fetched: Fetched) -> Result<ToolOutput, ToolFailure> {
    match fetched {
        Fetched::Page { url, content_type, text, truncated } => {
            let text = if text.trim().is_empty() { "(the page has no text)".to_owned() } else { text };
            let note = if truncated { "\n(The page is longer; only its start was read.)" } else { "" };
            Ok(ToolOutput::ok(format!("{text}{note}"))
                .titled(format!("Fetched {url}"))
                .with("url", url)
                .with("content_type", content_type))
        }
        Fetched::Elsewhere { url } => Ok(ToolOutput::ok(format!(
            "{requested} redirects to another host: {url}\nTo follow the redirect, fetch that URL."
        ))
        .titled(format!("{requested} redirects to another host"))
        .with("redirect", url)),
        Fetched::Failed { code, why } => {
            Err(ToolFailure::new(code, format!("{requested} could not be fetched: {why}.")))
        }
    }
}
