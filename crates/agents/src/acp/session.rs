//! Parameters of the requests that start a session, and their responses.

use autonoe_mcp::McpTransport;
use serde_json::{Value, json};

use crate::effort::effort;
use crate::vendor::{SERVER, ServerCommand, VendorSession, VendorSettings};

const VERSION: u32 = 1;

/// Leaves the choice of the model to the agent.
pub const OWN_MODEL: &str = "default";

/// `serves`: whether we read and write files and run commands for the agent.
pub(super) fn initialize_params(serves: bool) -> Value {
    let files = json!({ "readTextFile": serves, "writeTextFile": serves });
    json!({
        "protocolVersion": VERSION,
        "clientCapabilities": { "fs": files, "terminal": serves },
        "clientInfo": { "name": "autonoe", "version": env!("CARGO_PKG_VERSION") },
    })
}

pub(super) fn can_load(initialized: &Value) -> bool {
    initialized["agentCapabilities"]["loadSession"].as_bool().unwrap_or_default()
}

/// The working directory and the MCP servers.
pub(super) fn session_params(
    settings: &VendorSettings,
    vendor_session: &VendorSession,
    initialized: &Value,
) -> Value {
    let ServerCommand { command, args, env } = &vendor_session.server;
    let env: Vec<Value> = env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let mut servers = vec![json!({ "name": SERVER, "command": command, "args": args, "env": env })];
    let supports_http =
        initialized["agentCapabilities"]["mcpCapabilities"]["http"].as_bool().unwrap_or_default();
    let pairs = |pairs: &std::collections::BTreeMap<String, String>| -> Vec<Value> {
        pairs.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
    };
    for (name, server) in &settings.servers.configs {
        match &server.transport {
            McpTransport::Stdio { command, args, env, .. } => {
                servers.push(json!({ "name": name, "command": command, "args": args, "env": pairs(&env.0) }))
            }
            McpTransport::Http { url, headers } if supports_http => servers
                .push(json!({ "type": "http", "name": name, "url": url, "headers": pairs(&headers.0) })),
            McpTransport::Http { .. } => {}
        }
    }
    json!({ "cwd": vendor_session.shown_start(), "mcpServers": servers })
}

#[derive(Debug, PartialEq)]
pub(super) enum AcpModelChoice {
    /// The model is selected already.
    Current,
    Request(&'static str, Value),
    Unknown {
        /// The models that the agent offers.
        offered: Vec<String>,
    },
}

/// How to select a model.
pub(super) fn choose_model(started: &Value, model: &str) -> AcpModelChoice {
    let options = started["configOptions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let option = options.iter().find(|option| option["category"] == "model" || option["id"] == "model");
    if let Some(option) = option {
        if option["currentValue"] == model {
            return AcpModelChoice::Current;
        }
        let values = values(&option["options"]);
        if values.iter().any(|value| value == model) {
            let choice = json!({ "configId": option["id"], "value": model });
            return AcpModelChoice::Request("session/set_config_option", choice);
        }
        return AcpModelChoice::Unknown { offered: values };
    }
    let models = started["models"]["availableModels"].as_array().map(Vec::as_slice).unwrap_or_default();
    let models: Vec<String> =
        models.iter().filter_map(|offered| offered["modelId"].as_str()).map(str::to_owned).collect();
    match models.iter().any(|offered| offered == model) {
        _ if started["models"]["currentModelId"] == model => AcpModelChoice::Current,
        true => AcpModelChoice::Request("session/set_model", json!({ "modelId": model })),
        false => AcpModelChoice::Unknown { offered: models },
    }
}

/// The request that sets how much the agent thinks; `None` if it offers nothing that fits.
pub(super) fn choose_thinking(started: &Value, tokens: u32) -> Option<(&'static str, Value)> {
    let options = started["configOptions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let option = options.iter().find(|option| option["category"] == "thought_level")?;
    let level = effort(tokens);
    let value = values(&option["options"]).into_iter().find(|value| value.eq_ignore_ascii_case(level))?;
    Some(("session/set_config_option", json!({ "configId": option["id"], "value": value })))
}

/// The values of an option, which may be nested in groups.
fn values(options: &Value) -> Vec<String> {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let values = options.iter().flat_map(|option| match option["value"].as_str() {
        Some(value) => vec![value.to_owned()],
        None => values(&option["options"]),
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AcpModelChoice, choose_model, choose_thinking};

    #[test]
    fn thinking_is_set_where_the_agent_offers_a_level() {
        let offer = |category: &str| {
            json!({ "configOptions": [{ "id": "effort", "category": category, "currentValue": "medium",
                "options": [{ "value": "low" }, { "value": "High" }] }] })
        };
        let choice = |value: &str| {
            Some(("session/set_config_option", json!({ "configId": "effort", "value": value })))
        };
        assert_eq!(choose_thinking(&offer("thought_level"), 1_024), choice("low"));
        assert_eq!(choose_thinking(&offer("thought_level"), 32_000), choice("High"));
        assert_eq!(choose_thinking(&offer("thought_level"), 8_192), None, "medium is not offered");
        assert_eq!(choose_thinking(&offer("model"), 1_024), None);
        assert_eq!(choose_thinking(&json!({}), 1_024), None);
    }

    #[test]
    fn a_model_is_selected_in_the_way_it_is_offered() {
        let codex = json!({ "configOptions": [{ "id": "model", "category": "model", "currentValue": "a",
            "options": [{ "value": "a" }, { "group": "more", "options": [{ "value": "b" }] }] }] });
        assert_eq!(choose_model(&codex, "a"), AcpModelChoice::Current);
        let choice = json!({ "configId": "model", "value": "b" });
        assert_eq!(choose_model(&codex, "b"), AcpModelChoice::Request("session/set_config_option", choice));
        let offered = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(choose_model(&codex, "c"), AcpModelChoice::Unknown { offered });
        let gemini = json!({ "models": { "availableModels": [{ "modelId": "a" }, { "modelId": "b" }], "currentModelId": "a" } });
        assert_eq!(choose_model(&gemini, "a"), AcpModelChoice::Current);
        assert_eq!(
            choose_model(&gemini, "b"),
            AcpModelChoice::Request("session/set_model", json!({ "modelId": "b" }))
        );
        assert_eq!(choose_model(&json!({}), "c"), AcpModelChoice::Unknown { offered: Vec::new() });
    }
}
