//! The configuration of the egress proxy.

use crate::address::AddressScope;
use crate::host::HostPort;
use crate::pattern::HostPattern;
use crate::refusal::{EgressRefusal, RefusalReason};
use crate::route::Route;
use crate::socket::SocketRoute;
use crate::upstream::UpstreamProxy;

#[derive(Clone, Debug, Default)]
pub struct EgressRules {
    /// The hosts that may be reached; empty means none.
    pub allow: Vec<HostPattern>,
    pub routes: Vec<Route>,
    pub sockets: Vec<SocketRoute>,
    /// The proxy between us and the internet; `None` means a direct connection.
    pub upstream: Option<UpstreamProxy>,
    /// A sentence that explains how to allow a host, added to every refusal.
    pub how_to_allow: String,
}

impl EgressRules {
    /// The addresses that a connection to `target` may use.
    pub(crate) fn check(&self, target: &HostPort) -> Result<AddressScope, EgressRefusal> {
        let scope = self.allow.iter().filter_map(|pattern| pattern.scope(target)).max();
        scope.ok_or_else(|| EgressRefusal::new(target, RefusalReason::NotAllowed))
    }
}
