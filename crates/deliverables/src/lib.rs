//! The deliverable tools: `create`, `set_status`, `deprecate`, `verify` and `list`.
//!
//! [`DeliverableService`] carries them out and is the only one who does. The native agent calls it in
//! process ([`tools_for`]); a client that carries MCP messages itself has them answered one by one ([`answer_message`]); any
//! other speaks MCP with `autonoe mcp` ([`serve_stdio`]), which passes each call over a socket ([`CallServer`]) to the
//! process that holds the project, if one does.

mod arguments;
mod in_process;
mod mcp;
mod service;
mod socket;
mod spec;

pub use in_process::{MCP_PREFIX, tools_for};
pub use mcp::{answer_message, serve_stdio};
pub use service::{Answer, Caller, DeliverableService};
pub use socket::{CallServer, SocketCaller};
pub use spec::spec;
