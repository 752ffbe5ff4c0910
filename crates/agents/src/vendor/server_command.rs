//! The MCP server of the deliverable tools, as a program.

use std::collections::BTreeMap;

/// The name of the MCP server of the deliverable tools.
pub(crate) const SERVER: &str = "autonoe";

/// The command that starts the MCP server of the deliverable tools inside the room.
pub(crate) struct ServerCommand {
    pub command: String,
    pub args: [&'static str; 1],
    pub env: BTreeMap<&'static str, String>,
}
