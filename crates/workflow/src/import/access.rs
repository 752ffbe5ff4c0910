//! Whether the sessions of a climpt agent may write.

use serde_json::Value;

use super::Importer;

/// Tools with which a session changes files.
const WRITING: [&str; 5] = ["Write", "Edit", "MultiEdit", "NotebookEdit", "Bash"];

impl Importer<'_> {
    /// `read` or `write`.
    pub(super) fn access(&mut self) -> &'static str {
        let source = self.source;
        let overrides = source.config.get("overrides");
        let overridden =
            |name: &str| overrides.and_then(|overrides| overrides.get(name)).filter(|value| !value.is_null());
        let mode = overridden("permissionMode")
            .or_else(|| source.setting("/behavior/permissionMode", "/runner/boundaries/permissionMode"));
        let tools = overridden("allowedTools")
            .or_else(|| source.setting("/behavior/allowedTools", "/runner/boundaries/allowedTools"));
        if overrides.is_some() {
            self.report.carry("config.json, $.overrides", "They take precedence over agent.json.");
        }
        let mode = mode.and_then(Value::as_str).unwrap_or_else(|| self.mode_of_kinds());
        let tools: Option<Vec<&str>> =
            tools.and_then(Value::as_array).map(|tools| tools.iter().filter_map(Value::as_str).collect());
        let writes = |tool: &&str| *tool == "*" || WRITING.iter().any(|name| tool.starts_with(name));
        let has_writing_tool = tools.as_ref().is_none_or(|tools| tools.iter().any(writes));
        let access = if mode == "plan" || !has_writing_tool { "read" } else { "write" };
        let place = "agent.json, permissionMode";
        let what = match (mode, has_writing_tool) {
            (mode, false) if mode != "plan" => {
                format!("It is {mode}, but no allowed tool writes; `access` is read.")
            }
            (mode, _) => format!("{mode} is `access`: {access}."),
        };
        self.report.change(place, what);
        if mode == "bypassPermissions" {
            let instead = "Nothing to do: the sandbox and the command policy hold every agent.";
            self.report.drop(place, "No agent can bypass permissions here.", instead);
        }
        if let Some(tools) = tools.filter(|tools| !tools.is_empty() && !tools.contains(&"*")) {
            let instead = "Set `access`; the sandbox and the command policy limit what tools can do.";
            let what = format!("The list of allowed tools ({}) has no counterpart.", tools.join(", "));
            self.report.drop("agent.json, allowedTools", what, instead);
        }
        self.narrow_steps(access);
        access
    }

    /// The mode of an agent that names none: climpt then takes that of each step's kind.
    fn mode_of_kinds(&self) -> &'static str {
        let writes =
            |step: &Value| matches!(step.get("stepKind").and_then(Value::as_str), Some("work" | "closure"));
        if self.source.steps.values().any(writes) { "acceptEdits" } else { "plan" }
    }

    /// Steps of an agent that may only read need no access of their own.
    fn narrow_steps(&mut self, access: &str) {
        if access == "read" {
            self.steps.values_mut().for_each(|step| drop(step.remove("access")));
        }
    }
}

/// Whether a step of this kind may only read.
pub(super) fn only_reads(step: &Value) -> bool {
    match step.get("permissionMode").and_then(Value::as_str) {
        Some(mode) => mode == "plan",
        None => step.get("stepKind") == Some(&Value::from("verification")),
    }
}
