//! PreToolUse hooks: commands of the project that are run before a tool call and may deny it, in Claude Code's format.
//!
//! A hook only narrows: its `allow` is the absence of an objection. A hook that fails denies the call, unlike in Claude
//! Code, since nobody is there to see the error.

mod reply;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, GateContext, ToolCall};
use autonoe_core::hook_runner::{HookRun, HookRunner};
use autonoe_files::PathMapping;
use futures::future::join_all;
use serde_json::json;

use crate::hook_rule::HookRule;
use crate::policy_options::PolicyOptions;
use reply::objection;

/// The hooks of one session.
pub struct HookGate {
    rules: Vec<HookRule>,
    session_id: String,
    root: PathBuf,
    mapping: Option<PathMapping>,
}

impl HookGate {
    /// `None` if the project has no hooks.
    pub fn new(options: &PolicyOptions, session_id: String) -> Option<Self> {
        let rules = options.hooks.clone();
        let (root, mapping) = (options.root.clone(), options.mapping.clone());
        (!rules.is_empty()).then_some(Self { rules, session_id, root, mapping })
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
        let input = self.input(call, context);
        let runs =
            join_all(rules.iter().map(|rule| run(context.hook_runner, rule, &input))).await.into_iter();
        let mut objections = rules.iter().zip(runs).filter_map(|(rule, run)| objection(rule, &run));
        objections.next().map_or(Decision::Abstain, Decision::Deny)
    }

    fn must_be_asked(&self) -> bool {
        true
    }
}

async fn run(runner: Option<&dyn HookRunner>, rule: &HookRule, input: &str) -> HookRun {
    match runner {
        Some(runner) => runner.run(&rule.command, input, rule.time_limit).await,
        None => HookRun::not_run("this session has no room to run it in".to_owned()),
    }
}
