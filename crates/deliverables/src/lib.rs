//! The deliverable tools: `create`, `set_status`, `deprecate`, `verify` and `list`.
//!
//! [`DeliverableService`] carries them out and is the only one who does. The native agent calls it in
//! process ([`tools_for`]). Any other speaks MCP, and each of its messages is answered where the service is ([`answer_message`]): it
//! comes with what the agent says, or over a socket ([`CallServer`]), to which our binary carries it in the part of a relay
//! ([`run_helper_process`]), or on standard input where no other process holds the project ([`serve_stdio`]).

mod address;
mod arguments;
mod in_process;
mod mcp;
mod mcp_relay;
mod service;
mod socket;
mod spec;

pub use address::CallAddress;
pub use in_process::{MCP_PREFIX, tools_for};
pub use mcp::answer_message;
pub use mcp_relay::{CALLS_VARIABLE, RELAY_ARG, carry, carry_stdio, run_helper_process};
pub use service::{Answer, DeliverableService};
pub use socket::{CallServer, serve_stdio};
pub use spec::spec;
