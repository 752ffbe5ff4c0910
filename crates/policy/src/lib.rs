//! What an agent may do, compiled to gates.
//!
//! Which tools exist at all ([`ToolGate`]), which paths they may touch ([`PathGate`]), and which shell commands
//! may run ([`CommandPolicy`], asked by [`BashGate`]).

mod bash_gate;
mod path_gate;
mod paths;
mod policy;
mod rules;
mod shell;
mod tool_gate;
mod verdict;
mod walk;
mod words;

use std::sync::Arc;

use autonoe_core::gate::Gate;
use autonoe_core::instruction::InstructionName;

pub use autonoe_core::profile::Profile;
pub use bash_gate::BashGate;
pub use path_gate::{PathGate, Writes};
pub use policy::{CommandPolicy, Mode, PolicyOptions};
pub use tool_gate::ToolGate;
pub use verdict::{Judgement, Verdict};

/// The gates of a phase.
pub fn gates_for(phase: InstructionName, options: &PolicyOptions) -> Vec<Arc<dyn Gate>> {
    let writes = if phase.may_write() { Writes::Project } else { Writes::NoteOnly };
    let commands = CommandPolicy::new(PolicyOptions { mode: Mode::from(phase), ..options.clone() });
    vec![
        Arc::new(ToolGate),
        Arc::new(PathGate::new(&options.root, writes)),
        Arc::new(BashGate::new(commands)),
    ]
}
