//! Answers the calls of a room that change the mode, owner, times or extended attributes of a file.
//!
//! Landlock does not restrict these calls. `attribute_filter.rs` hands them over to a thread here, outside the room, which carries them
//! out itself if the file is in a writable place. It never lets the program's own call continue: by then, the path or the
//! descriptor could mean another file.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::thread;

use autonoe_seccomp_notify::{PendingSystemCall, SeccompListener};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, CWD, chmodat, chownat, fstat, removexattr, setxattr, utimensat};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::attribute_call::{AttributeCall, AttributeChange, CallTarget};
use super::calling_thread::CallingThread;
use super::writable_places::{WritablePlaces, descriptor_path};
use crate::bounds::Bounds;

/// Serves the calls of a room in a thread, which ends with the last process of the room.
pub(crate) fn guard_attributes(listener: OwnedFd, bounds: &Bounds) -> io::Result<()> {
    let listener = SeccompListener::from(listener);
    let places = WritablePlaces::open(bounds);
    thread::Builder::new().name("attributes".to_owned()).spawn(move || serve(&listener, &places)).map(drop)
}

fn serve(listener: &SeccompListener, places: &WritablePlaces) {
    // This thread then has the rights of the room's programs, the same user without capabilities, and the kernel decides as it
    // would for them. If that fails, the listener is closed, and all these calls fail.
    let none = CapabilitySet::empty();
    if set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).is_err()
    {
        return;
    }
    while wait(listener) {
        match listener.receive() {
            Ok(call) => {
                let outcome = carry_out(&call, listener, places);
                // An error means that the program was killed.
                let _ = listener.answer(call.id, outcome.map_err(Errno::raw_os_error));
            }
            // The program was killed, or a signal came.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
            Err(_) => return,
        }
    }
}

/// Waits for a call. Returns false when no process can make one any more.
fn wait(listener: &SeccompListener) -> bool {
    loop {
        let mut fds = [PollFd::new(listener, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) => return fds[0].revents().contains(PollFlags::IN),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn carry_out(
    call: &PendingSystemCall,
    listener: &SeccompListener,
    places: &WritablePlaces,
) -> rustix::io::Result<()> {
    let caller = CallingThread::new(call.thread);
    let AttributeCall { target, change } = AttributeCall::read(call, &caller)?;
    let file = caller.open(&target)?;
    if !listener.is_pending(call.id) {
        return Err(Errno::SRCH);
    }
    let file = match target {
        CallTarget::Descriptor(_) if is_nameless(&file) => file,
        CallTarget::Descriptor(_) | CallTarget::Path { .. } => places.reopen(&file).ok_or(Errno::PERM)?,
    };
    change.apply(&file)
}

/// Whether a file that the program has open can be found by no path: a pipe, a socket, a memory file or a deleted file.
fn is_nameless(file: &OwnedFd) -> bool {
    let Ok(path) = fs::read_link(descriptor_path(file)) else {
        return false;
    };
    // A deleted name is not enough: the file may have another one.
    let is_deleted = || path.as_os_str().as_bytes().ends_with(b" (deleted)");
    !path.is_absolute() || (is_deleted() && fstat(file).is_ok_and(|stat| stat.st_nlink == 0))
}

impl AttributeChange {
    fn apply(&self, file: &OwnedFd) -> rustix::io::Result<()> {
        let path = descriptor_path(file);
        match self {
            Self::Mode(mode) => chmodat(CWD, path, *mode, AtFlags::empty()),
            Self::Owner(user, group) => chownat(CWD, path, *user, *group, AtFlags::empty()),
            Self::Times(times) => utimensat(CWD, path, times, AtFlags::empty()),
            Self::SetXattr { name, value, flags } => setxattr(path, name, value, *flags),
            Self::RemoveXattr { name } => removexattr(path, name),
        }
    }
}
