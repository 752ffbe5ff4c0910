//! How a session with an agent is begun: what is said to it, and what it answers.

use autonoe_tools::Way;
use serde_json::{Value, json};

use crate::vendor::{SERVER, ServerCommand, VendorSettings};

/// The version of the protocol.
const VERSION: u32 = 1;

/// The model of an agent that is left to choose by itself.
pub const OWN_MODEL: &str = "default";

/// What we tell of ourselves: whether we read and write files and run commands for an agent.
pub(super) fn greeting(serves: bool) -> Value {
    let files = json!({ "readTextFile": serves, "writeTextFile": serves });
    json!({
        "protocolVersion": VERSION,
        "clientCapabilities": { "fs": files, "terminal": serves },
        "clientInfo": { "name": "autonoe", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// Whether an agent that answered so can resume an earlier session.
pub(super) fn can_load(answer: &Value) -> bool {
    answer["agentCapabilities"]["loadSession"].as_bool().unwrap_or_default()
}

/// Where it works and with which MCP servers.
pub(super) fn place(settings: &VendorSettings, deliverables: &ServerCommand, greeted: &Value) -> Value {
    let ServerCommand { command, args, env } = deliverables;
    let env: Vec<Value> = env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let mut servers = vec![json!({ "name": SERVER, "command": command, "args": args, "env": env })];
    let takes_http = greeted["agentCapabilities"]["mcpCapabilities"]["http"].as_bool().unwrap_or_default();
    let pairs = |pairs: &std::collections::BTreeMap<String, String>| -> Vec<Value> {
        pairs.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
    };
    for (name, server) in &settings.servers {
        match &server.way {
            Way::Stdio { command, args, env, .. } => {
                servers.push(json!({ "name": name, "command": command, "args": args, "env": pairs(&env.0) }))
            }
            Way::Http { url, headers } if takes_http => servers
                .push(json!({ "type": "http", "name": name, "url": url, "headers": pairs(&headers.0) })),
            Way::Http { .. } => {}
        }
    }
    json!({ "cwd": settings.root, "mcpServers": servers })
}

/// What must be asked of an agent that answered so for it to use a model. An error if it offers others only.
pub(super) fn choose_model(begun: &Value, model: &str) -> Result<Option<(&'static str, Value)>, String> {
    let options = begun["configOptions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let option = options.iter().find(|option| option["category"] == "model" || option["id"] == "model");
    if let Some(option) = option {
        if option["currentValue"] == model {
            return Ok(None);
        }
        let values = values(&option["options"]);
        if values.iter().any(|value| value == model) {
            let choice = json!({ "configId": option["id"], "value": model });
            return Ok(Some(("session/set_config_option", choice)));
        }
        return Err(values.join(", "));
    }
    let models = begun["models"]["availableModels"].as_array().map(Vec::as_slice).unwrap_or_default();
    let models: Vec<&str> = models.iter().filter_map(|offered| offered["modelId"].as_str()).collect();
    match models.contains(&model) {
        _ if begun["models"]["currentModelId"] == model => Ok(None),
        true => Ok(Some(("session/set_model", json!({ "modelId": model })))),
        false => Err(models.join(", ")),
    }
}

/// The values of an option, which may be in groups.
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

    use super::choose_model;

    #[test]
    fn a_model_is_chosen_the_way_it_is_offered() {
        let codex = json!({ "configOptions": [{ "id": "model", "category": "model", "currentValue": "a",
            "options": [{ "value": "a" }, { "group": "more", "options": [{ "value": "b" }] }] }] });
        assert_eq!(choose_model(&codex, "a"), Ok(None));
        let choice = json!({ "configId": "model", "value": "b" });
        assert_eq!(choose_model(&codex, "b"), Ok(Some(("session/set_config_option", choice))));
        assert_eq!(choose_model(&codex, "c"), Err("a, b".to_owned()));
        let gemini = json!({ "models": { "availableModels": [{ "modelId": "a" }, { "modelId": "b" }], "currentModelId": "a" } });
        assert_eq!(choose_model(&gemini, "a"), Ok(None));
        assert_eq!(choose_model(&gemini, "b"), Ok(Some(("session/set_model", json!({ "modelId": "b" })))));
        assert_eq!(choose_model(&json!({}), "c"), Err(String::new()));
    }
}
