//! Linux: a room confines itself, and with itself all that it starts. Nothing of this can be undone.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::{landlock, seccomp};
use crate::bounds::{Bounds, Layer, Limits};

/// Threads that a process has at most on average; runtimes and browsers have a dozen or two.
const THREADS_OF_A_PROCESS: u64 = 16;

/// Confines this process as the layer asks; with Landlock, connections go to the `way_out` port only.
pub(crate) fn confine(layer: Layer, bounds: &Bounds, way_out: u16) -> io::Result<()> {
    let net = match layer {
        Layer::None | Layer::Seatbelt => return Ok(()),
        Layer::Bubblewrap => seccomp::Net::Private,
        Layer::Landlock => seccomp::Net::Shared,
    };
    limit(layer, &bounds.limits)?;
    rustix::thread::set_no_new_privs(true)?;
    // Root keeps what its files give it and no power over the rest; without new privileges it cannot come back.
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    if layer == Layer::Landlock {
        landlock::restrict(bounds, way_out)?;
    }
    seccomp::restrict(net, bounds.nested)
}

fn limit(layer: Layer, limits: &Limits) -> io::Result<()> {
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, limits.file_size)?;
    // What a process really uses: address space that is only reserved, as many runtimes do, does not count.
    lower(Resource::Data, limits.memory)?;
    // Here the kernel counts threads. In a user namespace of its own only the room's count; elsewhere it would be all of
    // the user's. Root is exempt. So the room counts its processes as well; this holds until it looks.
    if layer == Layer::Bubblewrap {
        lower(Resource::Nproc, limits.processes.saturating_mul(THREADS_OF_A_PROCESS))?;
    }
    Ok(())
}

/// Sets both limits, unless they are lower already.
fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let to = now.maximum.map_or(to, |maximum| maximum.min(to));
    Ok(setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) })?)
}
