//! The prompts of steps: where climpt would find them, and what they become.

use serde_json::Value;

use super::Importer;
use super::source::Generation;
use super::variables::rewrite;
use crate::definition::PROMPTS_DIR;
use crate::names::is_path_below;

impl Importer<'_> {
    /// Imports the prompt of a step, and returns its new path.
    pub(super) fn import_prompt(&mut self, old: &str, step: &Value) -> String {
        let candidates = self.prompt_paths(step.get("prompt").unwrap_or(step), step);
        let path =
            self.import_file(&format!("steps_registry.json, {old}"), &candidates, || described(old, step));
        if let Some(name) = self.step_names.get(old) {
            self.prompt_of.insert(name.to_owned(), path.clone());
        }
        if is_true(step.get("usesStdin")) || is_true(step.get("useStdin")) {
            self.reads_input = true;
        }
        path
    }

    /// Imports the prompt of a check, and returns its new path.
    pub(super) fn import_check_prompt(&mut self, old: &str, check: &Value) -> String {
        let candidates = self.prompt_paths(check.get("prompt").unwrap_or(&Value::Null), &Value::Null);
        let place = format!("steps_registry.json, {old}, check");
        self.import_file(&place, &candidates, || format!("Has the step {old} reached its goal?\n"))
    }

    pub(super) fn import_system_prompt(&mut self) {
        let path = self.source.setting("/behavior/systemPromptPath", "/runner/flow/systemPromptPath");
        let path = path.and_then(Value::as_str).unwrap_or("prompts/system.md").to_owned();
        let exists = self.bases().iter().any(|base| self.source.files.contains_key(&format!("{base}{path}")));
        if !exists {
            let what = format!("The system prompt {path} does not exist.");
            return self.report.drop("agent.json", what, "Write prompts/system.md, or leave it out.");
        }
        self.system_prompt = Some(self.import_file("agent.json", &[path], String::new));
    }

    /// The directories that paths of prompts are relative to, with a trailing `/`.
    fn bases(&self) -> Vec<String> {
        let registry = &self.source.registry;
        let written =
            ["basePath", "userPromptsBase"].into_iter().filter_map(|name| registry.get(name)?.as_str());
        let mut bases: Vec<String> = written
            .map(|base| self.own_path(base))
            .filter(|base| is_path_below(base))
            .map(|base| format!("{base}/"))
            .collect();
        bases.extend([format!("{PROMPTS_DIR}/"), String::new()]);
        bases
    }

    /// A path below the agent's directory that may be written from the project's root.
    pub(super) fn own_path(&self, path: &str) -> String {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let own = format!(".agent/{}/", self.source.directory_name);
        path.strip_prefix(&own).unwrap_or(path).to_owned()
    }

    /// The paths that a prompt may have, in the order of preference.
    fn prompt_paths(&self, prompt: &Value, step: &Value) -> Vec<String> {
        let text = |name: &str| prompt.get(name).and_then(Value::as_str);
        let mut paths: Vec<String> = Vec::new();
        paths.extend(prompt.as_str().or(text("path")).or(text("promptPath")).map(str::to_owned));
        if let (Some(c2), Some(c3)) = (text("c2"), text("c3")) {
            let c1 = text("c1").or(self.source.registry.get("c1").and_then(Value::as_str)).unwrap_or("steps");
            let edition = text("edition").unwrap_or("default");
            let closure = self.closure_action(step);
            let adaptations = [text("adaptation"), closure.as_deref()];
            for adaptation in adaptations.into_iter().flatten() {
                paths.push(format!("{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md"));
            }
            paths.push(format!("{c1}/{c2}/{c3}/f_{edition}.md"));
        }
        paths.extend(text("fallback").map(str::to_owned));
        paths.iter().map(|path| path.trim_start_matches("./").to_owned()).collect()
    }

    /// The prompt of a closure step depends on what climpt does with the issue afterwards.
    fn closure_action(&self, step: &Value) -> Option<String> {
        let is_closure = [step.get("stepKind"), step.get("c2")].contains(&Some(&Value::from("closure")));
        let action =
            self.source.agent.pointer("/runner/integrations/github/defaultClosureAction")?.as_str()?;
        (is_closure && action != "close").then(|| action.to_owned())
    }

    fn import_file(&mut self, place: &str, paths: &[String], missing: impl Fn() -> String) -> String {
        let bases = self.bases();
        let found = paths.iter().flat_map(|path| bases.iter().map(move |base| format!("{base}{path}")));
        let found = found.into_iter().find(|file| self.source.files.contains_key(file));
        let (file, text) = match found {
            Some(file) if !self.source.files[&file].trim().is_empty() => {
                let text = self.source.files[&file].clone();
                (file, text)
            }
            _ => {
                let shown = paths.first().cloned().unwrap_or_else(|| "no path".to_owned());
                let file = match is_path_below(&shown) && !shown.contains(' ') {
                    true => shown.clone(),
                    false => "missing.md".to_owned(),
                };
                let instead = format!(
                    "Write the prompt into {PROMPTS_DIR}/{}; it has the step's description for now.",
                    below_prompts(&file)
                );
                self.report.drop(
                    place,
                    format!("The prompt {shown} does not exist in climpt's directory, or is empty."),
                    instead,
                );
                (file, missing())
            }
        };
        let path = below_prompts(&file).to_owned();
        let is_first = self.source.generation == Generation::First;
        let rewritten = rewrite(&text, &self.names_in_prompts(), &self.name, is_first);
        if !rewritten.literal.is_empty() {
            let what = format!("In {path}, {} is text and not a variable.", rewritten.literal.join(", "));
            self.report.change(place, what);
        }
        self.prompts.insert(path.clone(), rewritten.text);
        path
    }
}

fn below_prompts(file: &str) -> &str {
    file.strip_prefix(PROMPTS_DIR).and_then(|rest| rest.strip_prefix('/')).unwrap_or(file)
}

/// A prompt from the description of its step.
fn described(old: &str, step: &Value) -> String {
    let text = |name: &str| step.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let name = text("name").unwrap_or(old);
    match text("description") {
        Some(description) => format!("# {name}\n\n{description}\n"),
        None => format!("# {name}\n"),
    }
}

fn is_true(value: Option<&Value>) -> bool {
    value.and_then(Value::as_bool).unwrap_or(false)
}
