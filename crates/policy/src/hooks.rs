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
use autonoe_files::{PathMapping, ReadLease};
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
    can_agents_write_files: bool,
}

/// A file that a hook runs, as it was before.
struct HeldFile {
    identity: FileIdentity,
    /// `None` if no agent can write it.
    lease: Option<ReadLease>,
}

impl HookGate {
    /// `None` if the project has no hooks.
    pub fn new(options: &PolicyOptions, session_id: String) -> Option<Self> {
        let rules = options.hooks.clone();
        let (root, mapping) = (options.root.clone(), options.mapping.clone());
        let files = options.hook_files.clone();
        let can_agents_write_files = options.can_agents_write_hook_files;
        (!rules.is_empty()).then_some(Self {
            rules,
            files,
            session_id,
            root,
            mapping,
            can_agents_write_files,
        })
    }

    /// What leads to the files that hooks run, or the reason to deny the call.
    fn identify_files(&self) -> Result<Vec<FileIdentity>, String> {
        let identify = |file: &ApprovedFile| {
            file.identify(self.looked_for_at(file), &self.root).map_err(|why| self.not_approved(file, &why))
        };
        self.files.iter().map(identify).collect()
    }

    /// The same before a hook runs. Where rooms do not keep agents from writing these files, a lease does: otherwise a program that has one
    /// mapped could change it between the comparison and the moment in which the hook reads it.
    fn hold_files(&self) -> Result<Vec<HeldFile>, String> {
        let hold = |file: &ApprovedFile| {
            let at = self.looked_for_at(file);
            match self.can_agents_write_files && file.path.starts_with(&self.root) {
                true => file.lease(at, &self.root).map(|(identity, lease)| (identity, Some(lease))),
                false => file.identify(at, &self.root).map(|identity| (identity, None)),
            }
            .map(|(identity, lease)| HeldFile { identity, lease })
            .map_err(|why| self.not_approved(file, &why))
        };
        self.files.iter().map(hold).collect()
    }

    /// The reason to deny the call if a file that hooks run was not the same all the time.
    fn find_change(&self, held: &[HeldFile]) -> Option<String> {
        let now = match self.identify_files() {
            Ok(now) => now,
            Err(reason) => return Some(reason),
        };
        self.files.iter().zip(held.iter().zip(&now)).find_map(|(file, (held, now))| {
            let is_broken = held.lease.as_ref().is_some_and(|lease| !lease.holds());
            let why = match &held.identity == now {
                false => "something on the way to it was changed while the hook ran",
                true if is_broken => "another program tried to write it while the hook ran",
                true => return None,
            };
            Some(self.not_approved(file, why))
        })
    }

    fn looked_for_at<'a>(&self, file: &'a ApprovedFile) -> &'a Path {
        // Where the project is shown at its own path, `.autonoe` in it is the user's, and no link leads there.
        let is_users = self.mapping.is_some() && !file.path.starts_with(&self.root);
        if is_users { &file.path } else { &file.named }
    }

    fn not_approved(&self, file: &ApprovedFile, why: &str) -> String {
        let file = self.shown(&file.named);
        format!(
            "The file {file}, which a hook runs, is not as the user has approved it: {why}. In the place where agents work, it must be \
             the user's own version; a script that is not committed belongs in .autonoe."
        )
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
        let held = match self.hold_files() {
            Ok(held) => held,
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
        self.find_change(&held).map_or(Decision::Abstain, Decision::Deny)
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
