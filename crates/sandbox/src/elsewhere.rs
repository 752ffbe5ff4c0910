//! Systems other than Linux: no adoption, so only the program's own process group is ended.

use std::io;

use crate::bounds::{Bounds, Layer};
use crate::git_locks::InUse;
use rustix::net::RecvFlags;
use rustix::process::{Pid, Signal, kill_process_group};

/// Descriptors cannot be received so that no child inherits them; supervisors and rooms have no other threads.
pub(crate) const RECEIVE: RecvFlags = RecvFlags::empty();

pub(crate) const ADOPTS_ORPHANS: bool = false;

pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub(crate) fn signal_descendants(main: Pid, signal: Signal) {
    // The group may be empty already.
    let _ = kill_process_group(main, signal);
}

/// Whether the program's group was sent SIGTERM.
#[derive(Debug, Default)]
pub(crate) struct Terminated(bool);

impl Terminated {
    /// Only the program itself can be told from others here.
    pub(crate) fn sparing(_pids: impl IntoIterator<Item = Pid>) -> Self {
        Self::default()
    }
}

/// Sends SIGTERM to the program's group, once.
pub(crate) fn terminate_descendants(main: Pid, told: &mut Terminated) {
    if !std::mem::replace(&mut told.0, true) {
        signal_descendants(main, Signal::TERM);
    }
}

pub(crate) fn kill_orphans_of(_supervisor: Pid) {}

pub(crate) fn count_descendants() -> u64 {
    0
}

pub(crate) fn kill_descendants() {}

/// Processes cannot be looked into here.
pub(crate) fn who_uses(_file: (u64, u64), _owner: u32, _places: &[(u64, u64)]) -> InUse {
    InUse::Unknown
}

/// The layer of this system holds from outside.
pub(crate) fn confine(_layer: Layer, _bounds: &Bounds, _way_out: u16) -> io::Result<()> {
    Ok(())
}

pub(crate) fn landlock_is_available() -> Result<(), String> {
    Err("this system has no Landlock".to_owned())
}

/// The signals that this process ignores: nobody tells here.
pub(crate) fn ignored_signals() -> u64 {
    0
}

/// How often the system has killed for want of memory: nobody tells here.
pub(crate) fn oom_kills() -> u64 {
    0
}
