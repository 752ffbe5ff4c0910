//! Seccomp user notification: a filter that hands system calls over to another process, which answers in the kernel's place. Which calls
//! a filter hands over and what their answers are is up to others.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_long, c_ulong};

/// A signal does not interrupt a call that was received; otherwise a call that was carried out could be made again.
const FLAGS: c_ulong = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

/// Receives the calls of every process with the filter. When it is dropped, these calls fail with `ENOSYS`.
#[derive(Debug)]
pub struct SeccompListener(OwnedFd);

/// A system call that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub struct PendingSystemCall {
    pub id: u64,
    /// The thread that makes the call.
    pub thread: u32,
    pub number: c_long,
    pub args: [u64; 6],
}

/// Adds a filter to this thread and everything that it starts. Requires "no new privileges" and Linux 5.19.
pub fn install(filter: &[libc::sock_filter]) -> io::Result<SeccompListener> {
    let len = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    let mode = c_ulong::from(libc::SECCOMP_SET_MODE_FILTER);
    // SAFETY: the kernel only reads the program, whose pointer and length are those of `filter`. It checks the instructions.
    #[allow(unsafe_code)]
    let fd = unsafe { libc::syscall(libc::SYS_seccomp, mode, FLAGS, &raw const program) };
    let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just created this descriptor for us, close-on-exec.
    #[allow(unsafe_code)]
    Ok(SeccompListener(unsafe { OwnedFd::from_raw_fd(fd) }))
}

impl SeccompListener {
    /// The next call. Blocks until there is one; `ENOENT` if its thread has been killed in the meantime.
    pub fn receive(&self) -> io::Result<PendingSystemCall> {
        let data = libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] };
        let mut call = libc::seccomp_notif { id: 0, pid: 0, flags: 0, data };
        let fd = self.0.as_raw_fd();
        // SAFETY: the request names the size of `call`, and the kernel writes no more than that.
        #[allow(unsafe_code)]
        let result = unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) };
        check(result)?;
        Ok(PendingSystemCall {
            id: call.id,
            thread: call.pid,
            number: c_long::from(call.data.nr),
            args: call.data.args,
        })
    }

    /// Whether the call still waits. As long as it does, the id of its thread cannot belong to another one.
    pub fn is_pending(&self, id: u64) -> bool {
        let fd = self.0.as_raw_fd();
        // SAFETY: the kernel reads eight bytes at this pointer.
        #[allow(unsafe_code)]
        let result = unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) };
        result == 0
    }

    /// Answers a call: 0, or an error number. `ENOENT` if its thread is gone.
    pub fn answer(&self, id: u64, outcome: Result<(), i32>) -> io::Result<()> {
        let error = outcome.err().map_or(0, |errno| -errno);
        self.send(libc::seccomp_notif_resp { id, val: 0, error, flags: 0 })
    }

    /// Lets the kernel make the call. What its arguments point to, and what its descriptors are, may have changed by then: only for calls
    /// that something else judges too. `ENOENT` if its thread is gone.
    pub fn permit(&self, id: u64) -> io::Result<()> {
        let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        self.send(libc::seccomp_notif_resp { id, val: 0, error: 0, flags })
    }

    fn send(&self, mut response: libc::seccomp_notif_resp) -> io::Result<()> {
        let fd = self.0.as_raw_fd();
        // SAFETY: the request names the size of `response`, and the kernel reads no more than that.
        #[allow(unsafe_code)]
        let result = unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
        check(result)
    }
}

/// Whether a descriptor that a caller receives stays open in programs that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inheritance {
    Inherited,
    CloseOnExec,
}

impl SeccompListener {
    /// Gives a copy of a descriptor to the caller and answers the call with its number. `ENOENT` if its thread is gone.
    pub fn answer_with(&self, id: u64, fd: BorrowedFd<'_>, inheritance: Inheritance) -> io::Result<()> {
        let newfd_flags = match inheritance {
            Inheritance::Inherited => 0,
            Inheritance::CloseOnExec => libc::O_CLOEXEC as u32,
        };
        let mut given = libc::seccomp_notif_addfd {
            id,
            // Adds the descriptor and answers the call in one step.
            flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
            srcfd: fd.as_raw_fd() as u32,
            newfd: 0,
            newfd_flags,
        };
        let listener = self.0.as_raw_fd();
        // SAFETY: the request names the size of `given`, and the kernel reads no more than that.
        #[allow(unsafe_code)]
        let number = unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw mut given) };
        if number >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsFd for SeccompListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for SeccompListener {
    /// Another kind of descriptor is harmless: its calls fail.
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl From<SeccompListener> for OwnedFd {
    fn from(listener: SeccompListener) -> Self {
        listener.0
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
