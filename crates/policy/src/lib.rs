//! What an agent may do, compiled to gates.
//!
//! Today: which tools exist at all ([`ToolGate`]) and which paths they may touch ([`PathGate`]).

mod path_gate;
mod tool_gate;

use std::path::Path;
use std::sync::Arc;

use autonoe_core::gate::Gate;
use autonoe_core::instruction::InstructionName;

pub use path_gate::{PathGate, Writes};
pub use tool_gate::ToolGate;

/// The gates of a phase for the project at `root`, which must be canonical.
pub fn gates_for(phase: InstructionName, root: &Path) -> Vec<Arc<dyn Gate>> {
    let writes = if phase.may_write() { Writes::Project } else { Writes::NoteOnly };
    vec![Arc::new(ToolGate), Arc::new(PathGate::new(root, writes))]
}
