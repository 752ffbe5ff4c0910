//! Systems other than Linux: no adoption and no descriptors for processes, so only the program's
//! own process group is ended, and the parent's death is noticed by looking.

use rustix::fd::OwnedFd;
use rustix::io;
use rustix::process::{Pid, Signal, kill_process_group};

pub(crate) const ADOPTS_ORPHANS: bool = false;

pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub(crate) fn watch(_pid: Pid) -> io::Result<Option<OwnedFd>> {
    Ok(None)
}

pub(crate) fn signal_descendants(main: Pid, signal: Signal) {
    // The group may be empty already.
    let _ = kill_process_group(main, signal);
}

pub(crate) fn kill_orphans_of(_keeper: Pid) {}
