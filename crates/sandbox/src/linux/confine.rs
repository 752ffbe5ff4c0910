//! Linux: a room confines its own process and thereby everything it starts. This cannot be undone.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::{attribute_filter, landlock, seccomp};
use crate::bounds::{Bounds, RoomLimits, SandboxLayer};

/// Threads allowed per process on average; runtimes and browsers use a dozen or two.
const THREADS_PER_PROCESS: u64 = 16;

/// Confines this process as the layer requires; with Landlock, connections are limited to `egress_port`, and the orchestrator
/// must serve the descriptor that is returned with [`super::guard_attributes`].
pub(crate) fn confine(layer: SandboxLayer, bounds: &Bounds, egress_port: u16) -> io::Result<Option<OwnedFd>> {
    let net = match layer {
        SandboxLayer::None | SandboxLayer::Seatbelt => return Ok(None),
        SandboxLayer::Bubblewrap => seccomp::Net::Private,
        SandboxLayer::Landlock => seccomp::Net::Shared,
    };
    limit(layer, &bounds.limits)?;
    rustix::thread::set_no_new_privs(true)?;
    // Root keeps its ordinary file permissions and loses all capabilities; without new privileges it cannot regain them.
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    let mut attribute_calls = None;
    if layer == SandboxLayer::Landlock {
        landlock::restrict(bounds, egress_port)?;
        attribute_calls = Some(attribute_filter::install()?.into());
    }
    seccomp::restrict(net, bounds.nested)?;
    Ok(attribute_calls)
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
