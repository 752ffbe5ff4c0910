//! The two JSON files of the result.

use serde_json::{Map, Value, json};

use super::Importer;
use crate::names::is_version;

/// The version of a definition that has none, or one that is not a version.
const FIRST_VERSION: &str = "1.0.0";

impl Importer<'_> {
    pub(super) fn agent_file(&self, completion: Value, access: &str) -> Value {
        let text = |name: &str| self.source.agent.get(name).and_then(Value::as_str);
        let version = text("version").filter(|version| is_version(version)).unwrap_or(FIRST_VERSION);
        let mut agent = Map::new();
        let mut put = |name: &str, value: Value| drop(agent.insert(name.to_owned(), value));
        put("version", version.into());
        put("name", self.name.as_str().into());
        if let Some(shown) = text("displayName") {
            put("displayName", shown.into());
        }
        put("description", text("description").unwrap_or("Imported from climpt.").into());
        put("parameters", json!(self.parameters));
        if self.reads_input {
            put("stdin", true.into());
        }
        put("access", access.into());
        if let Some(prompt) = self.system_prompt.as_ref().filter(|path| *path != "system.md") {
            put("systemPrompt", prompt.as_str().into());
        }
        let iterations = self.max_iterations();
        put("completion", completion);
        put("maxIterations", iterations.into());
        // climpt does not limit how often a step may repeat itself.
        put("stepLoopLimit", iterations.into());
        Value::Object(agent)
    }

    pub(super) fn steps_file(&self, entry: &str) -> Value {
        let version = self.source.registry.get("version").and_then(Value::as_str);
        let version = version.filter(|version| is_version(version)).unwrap_or(FIRST_VERSION);
        json!({ "version": version, "entryStep": entry, "steps": self.steps })
    }
}
