//! What the egress proxy allows, as it is told once at the start.

use crate::address::Reach;
use crate::host::Target;
use crate::pattern::HostPattern;
use crate::refusal::{Reason, Refusal};
use crate::route::Route;
use crate::socket::SocketRoute;
use crate::upstream::UpstreamProxy;

/// What may pass.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The hosts that may be reached; empty means none.
    pub allow: Vec<HostPattern>,
    /// The providers whose keys are put in here.
    pub routes: Vec<Route>,
    /// The sockets of ours that programs inside may talk to.
    pub sockets: Vec<SocketRoute>,
    /// The proxy that stands between us and the internet, if there is one.
    pub upstream: Option<UpstreamProxy>,
    /// A sentence that tells anyone who was refused how the host can be allowed.
    pub how_to_allow: String,
}

impl Rules {
    /// How far a connection to `target` may lead.
    pub(crate) fn judge(&self, target: &Target) -> Result<Reach, Refusal> {
        let reach = self.allow.iter().filter_map(|pattern| pattern.reach(target)).max();
        reach.ok_or_else(|| Refusal::new(target, Reason::NotAllowed))
    }
}
