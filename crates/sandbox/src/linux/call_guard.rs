//! Answers the system calls that a room hands over.
//!
//! A thread here, outside the room, judges each call and then carries it out itself. It does not let the program's own call continue: by
//! then, the path, the descriptor or the address could mean something else. The exception is a Unix socket that gets a path, whatever
//! that path is by then: Landlock decides about it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use autonoe_kernel_calls::{Inheritance, PendingSystemCall, SeccompListener};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, CWD, FileType, Mode, chmodat, chownat, fstat, removexattr, setxattr, utimensat};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::attribute_call::{AttributeCall, AttributeChange};
use super::call_target::CallTarget;
use super::calling_thread::CallingThread;
use super::own_servers::OwnServers;
use super::socket_call::{Connecting, SocketCall};
use super::writable_places::{WritablePlaces, descriptor_path};
use super::{socket_call, terminal_call};
use crate::bounds::Bounds;

/// The most connections to servers of the room that wait at the same time.
const MAX_CONNECTING: usize = 64;

/// Bytes for a thread that only waits for one.
const SMALL_STACK: usize = 64 * 1024;

/// Serves the calls of a room in a thread, which ends with the last process of the room. Programs may connect to `proxy_port` on
/// loopback, and to their own servers.
pub(crate) fn guard_calls(listener: OwnedFd, bounds: &Bounds, proxy_port: u16) -> io::Result<()> {
    let guard = Arc::new(CallGuard {
        listener: SeccompListener::from(listener),
        places: WritablePlaces::open(bounds),
        proxy_port,
        servers: OwnServers::default(),
        connecting: AtomicUsize::new(0),
    });
    thread::Builder::new().name("call-guard".to_owned()).spawn(move || guard.serve()).map(drop)
}

struct CallGuard {
    listener: SeccompListener,
    places: WritablePlaces,
    proxy_port: u16,
    servers: OwnServers,
    /// How many connections to them wait.
    connecting: AtomicUsize,
}

/// What a call that was carried out returns.
enum CallResult {
    Zero,
    /// The kernel makes the call.
    Permitted,
    /// Somebody else answers.
    Later,
    Descriptor(OwnedFd, Inheritance),
}

impl CallGuard {
    fn serve(self: &Arc<Self>) {
        // This thread then has the rights of the room's programs, the same user without capabilities, and the kernel decides as it
        // would for them. If that fails, the listener is closed, and all these calls fail.
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        if set_capabilities(None, sets).is_err() {
            return;
        }
        while wait(&self.listener) {
            match self.listener.receive() {
                Ok(call) => self.answer(&call),
                // The program was killed, or a signal came.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
                Err(_) => return,
            }
        }
    }

    fn answer(self: &Arc<Self>, call: &PendingSystemCall) {
        let answered = match self.carry_out(call) {
            Ok(CallResult::Zero) => self.listener.answer(call.id, Ok(())),
            Ok(CallResult::Permitted) => self.listener.permit(call.id),
            Ok(CallResult::Later) => Ok(()),
            Ok(CallResult::Descriptor(fd, inheritance)) => {
                let given = self.listener.answer_with(call.id, fd.as_fd(), inheritance);
                // Such as when the program has too many files open.
                given.or_else(|error| {
                    self.listener.answer(call.id, Err(error.raw_os_error().unwrap_or(libc::EMFILE)))
                })
            }
            Err(error) => self.listener.answer(call.id, Err(error.raw_os_error())),
        };
        // An error means that the program was killed.
        let _ = answered;
    }

    fn carry_out(self: &Arc<Self>, call: &PendingSystemCall) -> rustix::io::Result<CallResult> {
        let caller = CallingThread::new(call.thread);
        let is_pending = || self.listener.is_pending(call.id);
        if socket_call::NUMBERS.contains(&call.number) {
            let (port, servers, places) = (self.proxy_port, &self.servers, &self.places);
            return match socket_call::carry_out(call, &caller, port, servers, places, is_pending)? {
                SocketCall::CarriedOut => Ok(CallResult::Zero),
                SocketCall::Permitted => Ok(CallResult::Permitted),
                SocketCall::Connecting(connecting) => self.finish_later(call.id, connecting),
            };
        }
        if call.number == libc::SYS_ioctl {
            let (fd, inheritance) = terminal_call::open_peer(call, &caller)?;
            return Ok(CallResult::Descriptor(fd, inheritance));
        }
        self.change_attribute(call, &caller, is_pending)?;
        Ok(CallResult::Zero)
    }

    /// Waits in a thread of its own: a server that accepts nothing would keep all other calls waiting.
    fn finish_later(self: &Arc<Self>, call: u64, connecting: Connecting) -> rustix::io::Result<CallResult> {
        if self.connecting.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTING {
            self.connecting.fetch_sub(1, Ordering::Relaxed);
            return Err(Errno::AGAIN);
        }
        let guard = Arc::clone(self);
        let connect = move || {
            let connected = connecting.finish(&guard.servers, || guard.listener.is_pending(call));
            // An error means that the program was killed.
            let _ = guard.listener.answer(call, connected.map_err(Errno::raw_os_error));
            guard.connecting.fetch_sub(1, Ordering::Relaxed);
        };
        let thread = thread::Builder::new().name("connecting".to_owned()).stack_size(SMALL_STACK);
        match thread.spawn(connect) {
            Ok(_) => Ok(CallResult::Later),
            Err(_) => {
                self.connecting.fetch_sub(1, Ordering::Relaxed);
                Err(Errno::AGAIN)
            }
        }
    }

    fn change_attribute(
        &self,
        call: &PendingSystemCall,
        caller: &CallingThread,
        is_pending: impl Fn() -> bool,
    ) -> rustix::io::Result<()> {
        let AttributeCall { target, change } = AttributeCall::read(call, caller)?;
        let file = caller.open(&target)?;
        if !is_pending() {
            return Err(Errno::SRCH);
        }
        let file = match target {
            CallTarget::Descriptor(_) if is_nameless(&file) => file,
            CallTarget::Descriptor(_) | CallTarget::Path { .. } => {
                self.places.reopen(&file).ok_or(Errno::PERM)?
            }
        };
        change.apply(&file)
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
            // On a directory, the bit only says which group new files have.
            Self::Mode(mode) if mode.intersects(Mode::SUID | Mode::SGID) && !is_directory(file) => {
                Err(Errno::PERM)
            }
            Self::Mode(mode) => chmodat(CWD, path, *mode, AtFlags::empty()),
            Self::Owner(user, group) => chownat(CWD, path, *user, *group, AtFlags::empty()),
            Self::Times(times) => utimensat(CWD, path, times, AtFlags::empty()),
            Self::SetXattr { name, value, flags } => setxattr(path, name, value, *flags),
            Self::RemoveXattr { name } => removexattr(path, name),
        }
    }
}

fn is_directory(file: &OwnedFd) -> bool {
    fstat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
}
