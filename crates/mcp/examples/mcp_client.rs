//! A client for the public conformance suite of the protocol: connects to the server whose URL is its last argument, calls
//! every listed tool once, and fails if anything failed.
#![allow(clippy::expect_used)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_mcp::{McpHost, McpServers, OAuthLogin, Registration, ServerConfig, VisitError};
use autonoe_sandbox::{Bounds, RoomConfig, Sandbox, SessionSandbox};
use autonoe_tools::ToolContext;
use serde_json::{Map, Value, json};

/// The client metadata document that the suite expects.
const METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
const REDIRECT_URI: &str = "http://localhost:3000/callback";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let url = std::env::args().next_back().expect("the address of a server");
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let config = ServerConfig::parse("suite", &json!({"type": "http", "url": url})).expect("a valid address");

    let mut host = McpHost::new("/", Arc::new(SessionSandbox::new(no_room_config())));
    host.login = Some(Arc::new(AutoLogin { context }));
    let servers = McpServers::start(BTreeMap::from([("suite".to_owned(), config)]), host);
    servers.settled().await;
    let mut failed = false;
    for tool in servers.tools() {
        let spec = tool.spec();
        let output = tool.call(sample(&spec.input_schema), &ToolContext::default()).await;
        println!("{}: {}", spec.name, output.output);
        failed |= output.is_error();
    }
    let problems = servers.problems();
    problems.iter().for_each(|problem| eprintln!("{problem}"));
    servers.close().await;
    if failed || !problems.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// This client starts no programs, so the sandbox is never used.
fn no_room_config() -> RoomConfig {
    let nowhere = std::env::temp_dir();
    RoomConfig {
        sandbox: Sandbox::none("/nonexistent"),
        bounds: Bounds::new(&nowhere, &nowhere, &nowhere),
        egress: Arc::default(),
        env: Vec::new(),
        guarded: Arc::default(),
        sessions: Default::default(),
    }
}

/// Arguments that match a schema.
fn sample(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let filled = properties.into_iter().map(|(name, property)| {
        let value = match property["type"].as_str() {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            _ => json!("text"),
        };
        (name, value)
    });
    Value::Object(filled.collect::<Map<_, _>>())
}

/// Consents to everything: the suite's pages redirect without any interaction.
struct AutoLogin {
    context: Value,
}

#[async_trait]
impl OAuthLogin for AutoLogin {
    fn registration(&self) -> Registration {
        let value = |key: &str| self.context[key].as_str().map(str::to_owned);
        Registration {
            redirect_uri: REDIRECT_URI.to_owned(),
            client_id: value("client_id"),
            client_secret: value("client_secret"),
            metadata_url: Some(METADATA_URL.to_owned()),
        }
    }

    async fn visit(&self, page: &str) -> Result<String, VisitError> {
        let failed = |error: reqwest::Error| VisitError::Failed(error.to_string());
        let no_redirects = reqwest::redirect::Policy::none();
        let client = reqwest::Client::builder().redirect(no_redirects).build().map_err(failed)?;
        let response = client.get(page).send().await.map_err(failed)?;
        let location = response.headers().get("location").and_then(|location| location.to_str().ok());
        location
            .map(str::to_owned)
            .ok_or_else(|| VisitError::Failed(format!("{} without a location header", response.status())))
    }
}
