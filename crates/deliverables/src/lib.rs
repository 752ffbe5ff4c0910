//! The deliverable tools: `create`, `set_status`, `deprecate`, `verify`, `list` and `review`.
//!
//! Only [`DeliverableService`] executes them. The native agent calls it in process ([`tools_for`]). All other
//! agents use MCP, and their messages are answered where the service is ([`answer_message`]): they arrive
//! with the agent's other output, over a socket ([`CallServer`]) to which our binary forwards them as a relay
//! ([`run_helper_process`]), or on standard input if no other process holds the project ([`serve_stdio`]).

mod address;
mod arguments;
mod call_result;
mod in_process;
mod mcp;
mod mcp_relay;
mod service;
mod shared_tools;
mod socket;
mod spec;

pub use address::CallAddress;
pub use call_result::CallResult;
pub use in_process::{MCP_PREFIX, tools_for};
pub use mcp::answer_message;
pub use mcp_relay::{CALLS_VARIABLE, RELAY_ARG, relay, relay_stdio, run_helper_process};
pub use service::DeliverableService;
pub use shared_tools::SharedTools;
pub use socket::{CallServer, serve_stdio};
pub use spec::spec;
