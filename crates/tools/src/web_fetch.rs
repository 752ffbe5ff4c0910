//! WebFetch: a page of the web as text.
//!
//! The gates have judged the address. The fetching is done in the session's room, behind the egress proxy that judges hosts; where
//! there is no room that holds anything back, only hosts that a permission rule names are asked.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_sandbox::Stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::failure::Failure;
use crate::fetch::{FETCH_LIMIT, Fetched, MAX_FETCH_BYTES};
use crate::parts::{self, FETCH_ARG};
use crate::{MAX_OUTPUT_CHARS, Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec, Workspace, args};

/// How long the process that fetches may take beside the fetch itself.
const GRACE: Duration = Duration::from_secs(10);
/// The longest address.
const MAX_ADDRESS_BYTES: usize = 8 * 1024;

/// The tool `WebFetch`.
#[derive(Debug)]
pub struct WebFetch {
    workspace: Arc<Workspace>,
    /// Whom to ask where there is no egress proxy: `host` or `host:port`.
    hosts: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The address of the page, with http:// or https://.
    url: String,
    /// What you look for on the page. The page is given as it is.
    #[serde(rename = "prompt")]
    _prompt: Option<String>,
}

impl WebFetch {
    /// The tool for this workspace. Where it has no sandbox, only these hosts are asked.
    pub fn new(workspace: Arc<Workspace>, hosts: Vec<String>) -> Self {
        Self { workspace, hosts }
    }

    async fn fetch(&self, args: Value, cx: &ToolContext) -> Result<ToolOutput, Failure> {
        let args: Args = args::parse("WebFetch", args)?;
        let url = address(&args.url)?;
        if !self.workspace.session_sandbox().has_egress() {
            self.judge(&url)?;
        }
        cx.metadata(&format!("Fetching {url}"), Map::new());
        let fetched = self.ask(&url, &cx.cancel).await?;
        let output = told(&url, fetched)?;
        Ok(self.workspace.outputs().capped(output, MAX_OUTPUT_CHARS).await)
    }

    async fn ask(&self, url: &Url, cancel: &CancellationToken) -> Result<Fetched, Failure> {
        let limit = FETCH_LIMIT + GRACE;
        parts::ask(&self.workspace, &[FETCH_ARG, url.as_str()], Stream::Null, limit, cancel).await
    }

    /// Without a egress proxy, nobody else knows where the network leads.
    fn judge(&self, url: &Url) -> Result<(), Failure> {
        let host = url.host_str().unwrap_or_default();
        let named = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        if self.hosts.contains(&named) {
            return Ok(());
        }
        Err(Failure::new(
            ToolErrorCode::PermissionDenied,
            format!(
                "Without a sandbox, only hosts that a permission rule names can be fetched from, and none names {named}. \
                 The user can add one, such as \"WebFetch(https://{named}/*)\"."
            ),
        ))
    }
}

#[async_trait]
impl Tool for WebFetch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "WebFetch".to_owned(),
            description: format!(
                "Fetches a page of the web and gives it as text: HTML as Markdown, other text as it is, of a PDF its \
                 text. Reads up to {} MiB and takes up to {} s. A redirection to another host is not followed but \
                 told. Only pages that the user has permitted can be fetched.",
                MAX_FETCH_BYTES / (1024 * 1024),
                FETCH_LIMIT.as_secs()
            ),
            input_schema: args::schema::<Args>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        self.fetch(args, cx).await.unwrap_or_else(ToolOutput::from)
    }
}

fn address(text: &str) -> Result<Url, Failure> {
    let wrong = |why: &str| Failure::invalid(format!("`url` {why}."));
    if text.len() > MAX_ADDRESS_BYTES {
        return Err(wrong("is too long"));
    }
    let url = Url::parse(text).map_err(|error| wrong(&format!("is not an address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("may not hold a user name or password"));
    }
    Ok(url)
}

fn told(asked: &Url, fetched: Fetched) -> Result<ToolOutput, Failure> {
    match fetched {
        Fetched::Page { url, content_type, text, truncated } => {
            let text = if text.trim().is_empty() { "(the page has no text)".to_owned() } else { text };
            let note = if truncated { "\n(The page is longer; only its beginning was read.)" } else { "" };
            Ok(ToolOutput::ok(format!("{text}{note}"))
                .titled(format!("Fetched {url}"))
                .with("url", url)
                .with("content_type", content_type))
        }
        Fetched::Elsewhere { url } => Ok(ToolOutput::ok(format!(
            "{asked} redirects to another host: {url}\nIf that is what you want, fetch it by that address."
        ))
        .titled(format!("{asked} is elsewhere"))
        .with("redirect", url)),
        Fetched::Failed { code, why } => {
            Err(Failure::new(code, format!("{asked} could not be fetched: {why}.")))
        }
    }
}
