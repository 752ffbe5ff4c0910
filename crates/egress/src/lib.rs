//! The egress proxy: the only network access out of the sandbox.
//!
//! Processes in a sandbox have a network namespace with nothing but loopback. A listening socket that was opened *inside* is
//! passed to [`Egress::start`], which serves it from outside. The proxy supports four kinds of requests:
//!
//! - **tunnels** (`CONNECT host:port`) to hosts that a [`HostPattern`] allows;
//! - **plain HTTP** (`GET http://host/…`) to the same hosts, each request checked on its own;
//! - **routes** (`/<token>/<name>/…`) to providers; the proxy inserts the real [`Key`], so no key is needed inside;
//! - **sockets** (`/<token>/<name>`, with an `Upgrade`): a byte stream to one Unix socket of ours, for programs that are
//!   not allowed to open Unix sockets themselves.
//!
//! Everything else is refused, and refused hosts are recorded for [`Egress::refusals`]. The contents of a tunnel are not
//! inspected. Children need `HTTP_PROXY` and `HTTPS_PROXY` set to [`Egress::proxy_url`], and `NO_PROXY` for loopback.

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
pub use refusal::{EgressRefusal, RefusalReason};
pub use route::{Key, Route, RouteError};
pub use rules::EgressRules;
pub use socket::SocketRoute;
pub use upstream::{ProxyError, UpstreamProxy};
