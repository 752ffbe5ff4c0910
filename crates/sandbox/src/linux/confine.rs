//! Linux: a room confines its own process and thereby everything it starts. This cannot be undone.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::signal_scope::SignalScope;
use super::{handover_filter, landlock, seccomp};
use crate::bounds::{Bounds, RoomLimits, SandboxLayer};

/// Threads allowed per process on average; runtimes and browsers use a dozen or two.
const THREADS_PER_PROCESS: u64 = 16;

/// What a room needs to know about its own confinement.
#[derive(Debug, Default)]
pub(crate) struct Confinement {
    /// With Landlock, the orchestrator must serve this with [`super::guard_calls`].
    pub calls: Option<OwnedFd>,
    /// With Landlock, if the kernel restricts signals too.
    pub signal_scope: Option<SignalScope>,
}

/// Confines this process as the layer requires.
pub(crate) fn confine(layer: SandboxLayer, bounds: &Bounds) -> io::Result<Confinement> {
    let net = match layer {
        SandboxLayer::None | SandboxLayer::Seatbelt => return Ok(Confinement::default()),
        SandboxLayer::Bubblewrap => seccomp::Net::Private,
        SandboxLayer::Landlock => seccomp::Net::Shared,
    };
    limit(layer, &bounds.limits)?;
    rustix::thread::set_no_new_privs(true)?;
    // Root keeps its ordinary file permissions and loses all capabilities; without new privileges it cannot regain them.
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    let mut confinement = Confinement::default();
    if layer == SandboxLayer::Landlock {
        confinement.signal_scope = SignalScope::proven_by(|| landlock::restrict(bounds))?;
        confinement.calls = Some(handover_filter::install()?.into());
    }
    seccomp::restrict(net, bounds)?;
    Ok(confinement)
}

fn limit(layer: SandboxLayer, limits: &RoomLimits) -> io::Result<()> {
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, limits.file_size)?;
    // Limits the memory in use: address space that is only reserved, as by many runtimes, does not count.
    lower(Resource::Data, limits.memory)?;
    // The kernel counts threads here: in a user namespace only those of the room, otherwise all of the user's. Root is
    // exempt. So the room also counts its processes itself; this limit applies between two counts.
    if layer == SandboxLayer::Bubblewrap {
        lower(Resource::Nproc, limits.processes.saturating_mul(THREADS_PER_PROCESS))?;
    }
    Ok(())
}

/// Sets the soft and the hard limit, unless they are lower already.
fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let to = now.maximum.map_or(to, |maximum| maximum.min(to));
    Ok(setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) })?)
}
