//! The one egress proxy out of the sandbox.
//!
//! Processes in a sandbox have a network of their own with nothing in it but loopback. A listening socket that was opened
//! *inside* is handed to [`Egress::start`], which serves it from outside. It does four things:
//!
//! - **tunnels** (`CONNECT host:port`) to hosts that a [`HostPattern`] allows;
//! - **plain HTTP** (`GET http://host/…`) to the same hosts, one judged request at a time;
//! - **routes** (`/<token>/<name>/…`) to providers, with the real [`Key`] put in, so that no key is needed inside;
//! - **sockets** (`/<token>/<name>`, with an `Upgrade`): bytes both ways with one Unix socket of ours, which a program could not
//!   reach by itself where it may open no Unix sockets.
//!
//! Everything else is refused, and each refused host is kept for [`Egress::refusals`]. What is inside a tunnel is not
//! looked at. Children need `HTTP_PROXY` and `HTTPS_PROXY` set to [`Egress::proxy_url`], and `NO_PROXY` for loopback.

mod address;
mod connect;
mod egress;
mod failure;
mod headers;
mod host;
pub mod limits;
mod pattern;
mod proxy;
mod redact_reply;
mod refusal;
mod route;
mod rules;
mod socket;
mod tunnel;
mod upstream;

pub use egress::Egress;
pub use pattern::{HostPattern, PatternError};
pub use refusal::{Reason, Refusal};
pub use route::{Key, Route, RouteError};
pub use rules::Rules;
pub use socket::SocketRoute;
pub use upstream::{ProxyError, UpstreamProxy};
