//! Settings of climpt that have no counterpart in a definition here.

use serde_json::Value;

use super::Importer;

/// A setting of `agent.json` by its pointer, what it is, and what to do instead.
const AGENT_SETTINGS: [(&str, &str, &str); 18] = [
    ("/behavior/sandboxConfig", "The sandbox settings.", SANDBOX),
    ("/runner/boundaries/sandbox", "The sandbox settings.", SANDBOX),
    ("/sandbox", "The sandbox settings.", SANDBOX),
    ("/runner/boundaries/allowUnsandboxedCommands", "Commands outside the sandbox.", SANDBOX),
    ("/github", "Labels and actions on GitHub.", GITHUB),
    ("/runner/integrations", "Labels and actions on GitHub.", GITHUB),
    ("/actions", ACTIONS, ACTIONS_INSTEAD),
    ("/runner/actions", ACTIONS, ACTIONS_INSTEAD),
    ("/worktree", "The worktree.", WORKTREE),
    ("/runner/execution/worktree", "The worktree.", WORKTREE),
    (
        "/runner/execution/finalize",
        "Merging, pushing and opening a pull request at the end.",
        "Use `autonoe land` and `autonoe pr`.",
    ),
    ("/logging", "The log files.", LOGS),
    ("/runner/logging", "The log files.", LOGS),
    ("/runner/flow/defaultModel", "The model.", MODEL),
    (
        "/runner/flow/askUserAutoResponse",
        "The automatic answer to questions.",
        "Nothing to do: an agent that runs unattended cannot ask.",
    ),
    ("/runner/telemetry", "Telemetry.", "See docs/configuration.md for OpenTelemetry."),
    (
        "/prompts/fallbackDir",
        "The directory of fallback prompts.",
        "Nothing to do: each step names its prompt.",
    ),
    (
        "/runner/flow/prompts/fallbackDir",
        "The directory of fallback prompts.",
        "Nothing to do: each step names its prompt.",
    ),
];

const SANDBOX: &str =
    "Every session runs in a sandbox; see docs/security.md for hosts and paths that you allow.";
const GITHUB: &str = "Tell the agent in a prompt to use `gh`, or do it after the run.";
const ACTIONS: &str = "Action blocks in the agent's answers.";
const ACTIONS_INSTEAD: &str =
    "Use `actions` of a step for commands that always run, or `output` for structured answers.";
const WORKTREE: &str = "Nothing to do: every run works in a workspace of its own.";
const LOGS: &str = "Use `autonoe sessions` and `autonoe report`.";
const MODEL: &str = "Use --model, or `model` in your configuration.";

impl Importer<'_> {
    pub(super) fn report_settings(&mut self) {
        let source = self.source;
        for (pointer, what, instead) in AGENT_SETTINGS {
            let is_off = |value: &Value| value.is_null() || value.get("enabled") == Some(&Value::Bool(false));
            if source.agent.pointer(pointer).is_some_and(|value| !is_off(value)) {
                let place = format!("agent.json, ${}", pointer.replace('/', "."));
                self.report.drop(&place, what, instead);
            }
        }
        for name in source.config.as_object().into_iter().flat_map(|config| config.keys()) {
            if name != "overrides" && name != "version" && name != "$schema" {
                let place = format!("config.json, $.{name}");
                self.report.drop(
                    &place,
                    "This setting of climpt's runner.",
                    "See docs/configuration.md for ours.",
                );
            }
        }
        self.report_validators();
        self.report_step_settings();
    }

    /// Validators run commands before a closure; here these are actions with a check.
    fn report_validators(&mut self) {
        let registry = &self.source.registry;
        let count =
            |name: &str| registry.get(name).and_then(Value::as_object).map_or(0, serde_json::Map::len);
        for name in ["failurePatterns", "completionPatterns"].into_iter().filter(|name| count(name) > 0) {
            let what = format!("{} patterns that explain a failed validation.", count(name));
            let instead = "Nothing to do: the output of a failed action is in {uv-previous_summary}.";
            self.report.drop(&format!("steps_registry.json, $.{name}"), what, instead);
        }
        let commands: Vec<&str> = registry
            .get("validators")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|validators| validators.values())
            .filter_map(|validator| validator.get("command")?.as_str())
            .collect();
        if count("validators") > 0 {
            let named =
                ["validationSteps", "completionSteps"].into_iter().filter_map(|name| registry.get(name));
            let steps: Vec<&String> =
                named.filter_map(Value::as_object).flat_map(|steps| steps.keys()).collect();
            let is_imported = |name: &&str| self.steps.contains_key(*name);
            let steps: Vec<&str> =
                steps.into_iter().filter_map(|old| self.step_names.get(old)).filter(is_imported).collect();
            let what = format!("Commands that validate the work ({}).", commands.join("; "));
            let of = if steps.is_empty() { String::new() } else { format!(" before {}", steps.join(", ")) };
            let instead =
                format!("Add them to `actions` of the step{of}, with a `check` of the type action.");
            self.report.drop("steps_registry.json, $.validators", what, instead);
        }
    }

    fn report_step_settings(&mut self) {
        for (old, step) in &self.source.steps {
            let Some(name) = self.step_names.get(old).filter(|name| self.steps.contains_key(*name)) else {
                continue;
            };
            let place = format!("steps_registry.json, {name}");
            if step.get("model").is_some_and(|model| !model.is_null()) {
                self.report.drop(&place, "The model of a single step.", MODEL);
            }
            let most = step.pointer("/iterations/max").and_then(Value::as_u64);
            if most.is_some_and(|most| most > 1) {
                let instead = "Let its check fail with `retry` as often as it may run.";
                self.report.drop(&place, "`iterations` of a step.", instead);
            }
        }
    }
}
