//! What an agent may do, compiled to gates.
//!
//! Which tools exist at all ([`ToolGate`]), which paths they may touch ([`PathRules`], asked by [`PathGate`] and again
//! when a file is opened), which shell commands may run ([`CommandPolicy`], asked by [`BashGate`]), and what the user's
//! rules cover ([`Permissions`], asked by [`PermissionGate`]).

mod bash_gate;
mod path_gate;
mod path_rules;
mod paths;
mod pattern;
mod permissions;
mod policy;
mod registries;
mod rules;
mod shell;
mod tool_gate;
mod tool_pattern;
mod verdict;
mod walk;
mod wildcard;
mod words;

use std::sync::Arc;

use autonoe_core::gate::Gate;
use autonoe_core::instruction::Phase;

pub use autonoe_core::profile::Profile;
pub use bash_gate::BashGate;
pub use path_gate::PathGate;
pub use path_rules::{PathRules, Writes};
pub use paths::steering;
pub use permissions::{PermissionGate, PermissionRule, Permissions, RuleError};
pub use policy::{CommandPolicy, Mode, PolicyOptions};
pub use registries::registries;
pub use rules::git_lock::GitLocks;
pub use tool_gate::ToolGate;
pub use tool_pattern::{ToolPattern, ToolPatternError};
pub use verdict::{Judgement, Verdict};

/// The gates of a phase.
pub fn gates_for(phase: Phase, options: &PolicyOptions) -> Vec<Arc<dyn Gate>> {
    let options = PolicyOptions { mode: Mode::from(phase), ..options.clone() };
    vec![
        Arc::new(ToolGate::new(options.tools.clone(), options.mode)),
        Arc::new(PathGate::new(path_rules_for(phase, &options))),
        Arc::new(PermissionGate::new(Permissions::new(&options))),
        Arc::new(BashGate::new(CommandPolicy::new(options))),
    ]
}

/// The path rules of a phase, for its gate and for anyone who opens files.
pub fn path_rules_for(phase: Phase, options: &PolicyOptions) -> Arc<PathRules> {
    let writes = if phase.may_write() { Writes::Project } else { Writes::NoteOnly };
    Arc::new(PathRules::new(&options.root, writes, options.readable_places()).guarding(options.guarded_now()))
}
