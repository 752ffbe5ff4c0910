//! Systems other than Linux: orphans cannot be adopted, so only the program's own process group is killed.

use std::io;
use std::os::fd::OwnedFd;

use crate::bounds::{Bounds, SandboxLayer};
use crate::in_use::InUse;
use crate::layer_unavailable::LayerUnavailable;
use rustix::net::RecvFlags;
use rustix::process::{Pid, Signal, kill_process_group};

/// Descriptors cannot be received with close-on-exec set here. Supervisors and rooms have no other thread that could fork
/// in between.
pub(crate) const RECEIVE: RecvFlags = RecvFlags::empty();

pub(crate) const ADOPTS_ORPHANS: bool = false;

pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub(crate) fn signal_descendants(main: Pid, signal: Signal) {
    // An error means that the group is already empty.
    let _ = kill_process_group(main, signal);
}

/// Whether the program's group has received SIGTERM.
#[derive(Debug, Default)]
pub(crate) struct Terminated(bool);

impl Terminated {
    /// Ignores the list: only the program's own group is signalled here.
    pub(crate) fn excluding(_pids: impl IntoIterator<Item = Pid>) -> Self {
        Self::default()
    }
}

/// Sends SIGTERM to the program's group, once.
pub(crate) fn terminate_descendants(main: Pid, terminated: &mut Terminated) {
    if !std::mem::replace(&mut terminated.0, true) {
        signal_descendants(main, Signal::TERM);
    }
}

pub(crate) fn kill_orphans_of(_supervisor: Pid) {}

pub(crate) fn descendants() -> Vec<i32> {
    Vec::new()
}

pub(crate) fn kill_descendants(_scope: Option<&SignalScope>) {}

pub(crate) fn refuse_tracing() -> io::Result<()> {
    Ok(())
}

/// Not available here.
#[derive(Debug)]
pub(crate) enum SignalScope {}

impl SignalScope {
    pub(crate) fn enter() -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub(crate) fn kill_all(&self) {}
}

/// Not available here.
#[derive(Debug, Default)]
pub(crate) struct SharedMemoryMonitor;

impl SharedMemoryMonitor {
    pub(crate) fn exceeds(&mut self, _limit: u64, _processes: &[i32]) -> bool {
        false
    }
}

/// Other processes cannot be inspected here.
pub(crate) fn process_using(_file: (u64, u64), _owner: u32, _directories: &[(u64, u64)]) -> InUse {
    InUse::Unknown
}

/// Nothing here.
#[derive(Debug, Default)]
pub(crate) struct Confinement {
    pub calls: Option<OwnedFd>,
    pub signal_scope: Option<SignalScope>,
}

/// The layers of these systems are applied from outside the process.
pub(crate) fn confine(_layer: SandboxLayer, _bounds: &Bounds) -> io::Result<Confinement> {
    Ok(Confinement::default())
}

/// No layer here needs it.
pub(crate) fn guard_calls(_listener: OwnedFd, _bounds: &Bounds, _proxy_port: u16) -> io::Result<()> {
    Ok(())
}

pub(crate) fn landlock_is_available() -> Result<(), LayerUnavailable> {
    Err(LayerUnavailable::NoLandlock("this system has none".to_owned()))
}

/// Not available here.
pub(crate) fn landlock_scopes_signals() -> bool {
    false
}

/// Not available here.
pub(crate) fn ignored_signals() -> u64 {
    0
}

/// Not available here.
pub(crate) fn oom_kills() -> u64 {
    0
}
