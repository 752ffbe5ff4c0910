//! PreToolUse hooks: commands of the project that are run before a tool call and may deny it, in Claude Code's format.
//!
//! A hook only narrows: its `allow` is the absence of an objection. A hook that fails denies the call, unlike in Claude
//! Code, since nobody is there to see the error. So does a hook whose script is not the one that the user has approved.

mod reply;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, GateContext, ToolCall};
use autonoe_core::hook_runner::{HookRun, HookRunner};
use autonoe_files::PathMapping;
use futures::future::join_all;
use serde_json::json;

use crate::approved_file::{ApprovedFile, FileIdentity};
use crate::hook_rule::HookRule;
use crate::policy_options::PolicyOptions;
use reply::objection;

/// The hooks of one session.
pub struct HookGate {
    rules: Vec<HookRule>,
    files: Vec<ApprovedFile>,
    session_id: String,
    root: PathBuf,
    mapping: Option<PathMapping>,
}

impl HookGate {
    /// `None` if the project has no hooks.
    pub fn new(options: &PolicyOptions, session_id: String) -> Option<Self> {
        let rules = options.hooks.clone();
        let (root, mapping) = (options.root.clone(), options.mapping.clone());
        let files = options.hook_files.clone();
        (!rules.is_empty()).then_some(Self { rules, files, session_id, root, mapping })
    }

    /// What leads to the files that hooks run, or the reason to deny the call.
    fn identify_files(&self) -> Result<Vec<FileIdentity>, String> {
        let identify = |file: &ApprovedFile| {
            // Where the project is shown at its own path, `.autonoe` in it is the user's, and no link leads there.
            let is_users = self.mapping.is_some() && !file.path.starts_with(&self.root);
            let at = if is_users { &file.path } else { &file.named };
            file.identify(at, &self.root).map_err(|why| not_approved(&self.shown(&file.named), &why))
        };
        self.files.iter().map(identify).collect()
    }

    /// The path of a file in the project.
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    /// What a hook reads: the fields that Claude Code passes, as far as every agent has them.
    fn input(&self, call: &ToolCall, context: GateContext<'_>) -> String {
        let cwd = context.cwd.unwrap_or(&self.root);
        let mut input = json!({
            "session_id": self.session_id,
            "cwd": self.mapping.as_ref().map_or_else(|| cwd.to_owned(), |mapping| mapping.to_shown(cwd)),
            "hook_event_name": "PreToolUse",
            "tool_name": call.name,
            "tool_input": call.input,
        });
        if !call.id.is_empty() {
            input["tool_use_id"] = json!(call.id);
        }
        input.to_string()
    }
}

#[async_trait]
impl Gate for HookGate {
    fn name(&self) -> &str {
        "hooks"
    }

    async fn check(&self, call: &ToolCall) -> Decision {
        self.check_in(call, GateContext::default()).await
    }

    /// Runs all hooks for this tool at the same time. The objection of the first one in the file is reported.
    async fn check_in(&self, call: &ToolCall, context: GateContext<'_>) -> Decision {
        let rules: Vec<&HookRule> =
            self.rules.iter().filter(|rule| rule.matcher.matches(&call.name)).collect();
        if rules.is_empty() {
            return Decision::Abstain;
        }
        let before = match self.identify_files() {
            Ok(before) => before,
            Err(reason) => return Decision::Deny(reason),
        };
        let input = self.input(call, context);
        let runs =
            join_all(rules.iter().map(|rule| run(context.hook_runner, rule, &input))).await.into_iter();
        let mut objections = rules.iter().zip(runs).filter_map(|(rule, run)| objection(rule, &run));
        if let Some(reason) = objections.next() {
            return Decision::Deny(reason);
        }
        // A program may have put another file there for just this time.
        match self.identify_files() {
            Ok(after) if after == before => Decision::Abstain,
            Ok(after) => {
                let mut pairs = self.files.iter().zip(before.iter().zip(&after));
                let changed = pairs.find(|(_, (before, after))| before != after).map(|(file, _)| &file.named);
                let changed = changed.map(|named| self.shown(named)).unwrap_or_default();
                Decision::Deny(not_approved(
                    &changed,
                    "something on the way to it was changed while the hook ran",
                ))
            }
            Err(reason) => Decision::Deny(reason),
        }
    }

    fn must_be_asked(&self) -> bool {
        true
    }
}

fn not_approved(file: &str, why: &str) -> String {
    format!(
        "The file {file}, which a hook runs, is not as the user has approved it: {why}. In the place where agents work, it must be \
         the user's own version; a script that is not committed belongs in .autonoe."
    )
}

async fn run(runner: Option<&dyn HookRunner>, rule: &HookRule, input: &str) -> HookRun {
    match runner {
        Some(runner) => runner.run(&rule.command, input, rule.time_limit).await,
        None => HookRun::not_run("this session has no room to run it in".to_owned()),
    }
}
