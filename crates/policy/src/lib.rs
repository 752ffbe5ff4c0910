//! The rules for what an agent may do, as gates that check each tool call.
//!
//! [`ToolGate`] decides which tools exist. [`PathGate`] checks the paths of file tools against [`PathRules`], which the
//! tools apply again when they open a file. [`BashGate`] checks shell commands against [`CommandPolicy`].
//! [`PermissionGate`] checks calls against the permission rules in a [`PermissionSet`]. [`HookGate`] runs the project's own
//! commands, which may deny a call that all others allow.

mod approved_file;
mod bash_gate;
mod brace_sequences;
mod contained;
mod directory_flow;
mod glob_prefix;
mod hook_command;
mod hook_rule;
mod hooks;
mod moved_root;
mod path_denial;
mod path_gate;
mod path_globs;
mod path_rules;
mod paths;
mod permission_gate;
mod permission_set;
mod permissions;
mod policy;
mod policy_level;
mod policy_options;
mod possible_values;
mod registries;
mod rules;
mod shell;
mod tool_gate;
mod tool_pattern;
mod variable_kinds;
mod verdict;
mod walk;
mod wildcard;
mod words;

use std::sync::Arc;

use autonoe_core::gate::Gate;
use autonoe_core::instruction::Phase;

use moved_root::MovedRootGate;

pub use approved_file::ApprovedFile;
pub use autonoe_core::mode::Mode;
pub use autonoe_core::profile::Profile;
pub use bash_gate::BashGate;
pub use contained::is_command_variable;
pub use hook_command::{HookCommandText, NamedFile};
pub use hook_rule::{HookMatcher, HookRule};
pub use hooks::HookGate;
pub use path_gate::PathGate;
pub use path_rules::PathRules;
pub use paths::{WriteScope, read_only_names};
pub use permission_gate::PermissionGate;
pub use permission_set::PermissionSet;
pub use permissions::permission_rule::PermissionRule;
pub use permissions::rule_error::RuleError;
pub use policy::CommandPolicy;
pub use policy_level::PolicyLevel;
pub use policy_options::{GitLocks, PolicyOptions};
pub use registries::registries;
pub use tool_gate::ToolGate;
pub use tool_pattern::{ToolPattern, ToolPatternError};
pub use verdict::{CommandDecision, CommandVerdict};

pub fn gates_for(phase: Phase, options: &PolicyOptions) -> Vec<Arc<dyn Gate>> {
    let options = PolicyOptions { mode: Mode::from(phase), ..options.clone() };
    let mapping = options.mapping.clone();
    let gates: [Arc<dyn Gate>; 4] = [
        Arc::new(ToolGate::new(options.tools.clone(), options.mode)),
        Arc::new(PathGate::new(path_rules_for(phase, &options))),
        Arc::new(PermissionGate::new(PermissionSet::new(&options))),
        Arc::new(BashGate::new(CommandPolicy::new(options))),
    ];
    match mapping {
        Some(mapping) => {
            gates.map(|gate| Arc::new(MovedRootGate::new(gate, mapping.clone())) as Arc<dyn Gate>).into()
        }
        None => gates.into(),
    }
}

/// The path rules of a phase, for its [`PathGate`] and for the tools that open files.
pub fn path_rules_for(phase: Phase, options: &PolicyOptions) -> Arc<PathRules> {
    let write_scope = if phase.may_write() { WriteScope::Project } else { WriteScope::NoteOnly };
    Arc::new(
        PathRules::new(&options.root, write_scope, PermissionSet::new(options).readable_paths())
            .with_guarded(options.guarded_files())
            .with_home(options.home.as_deref()),
    )
}
