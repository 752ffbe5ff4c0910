//! File leases: the kernel lets a reader know that nobody writes a file.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Which signal announces the end of a lease; not in the library for every system.
const F_SETSIG: libc::c_int = 10;

/// Takes a read lease of a file that is open for reading only. `EAGAIN` if anyone has the file open or mapped for writing. The lease ends
/// with the last copy of the descriptor. Who opens the file for writing waits until then, at most as long as the system says
/// (`/proc/sys/fs/lease-break-time`), and the lease counts as broken at once.
pub fn take_read_lease(file: BorrowedFd<'_>) -> io::Result<()> {
    // The end of a lease is asked for, not awaited: this signal is ignored, unlike the default one, which would end this process.
    control(file, F_SETSIG, libc::SIGURG)?;
    control(file, libc::F_SETLEASE, libc::F_RDLCK).map(drop)
}

/// Whether the lease is there and nobody has opened the file for writing since.
pub fn has_read_lease(file: BorrowedFd<'_>) -> bool {
    control(file, libc::F_GETLEASE, 0).is_ok_and(|kind| kind == libc::F_RDLCK)
}

fn control(file: BorrowedFd<'_>, command: libc::c_int, argument: libc::c_int) -> io::Result<libc::c_int> {
    // SAFETY: the three commands above take a number or nothing, no pointer.
    #[allow(unsafe_code)]
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if result >= 0 { Ok(result) } else { Err(io::Error::last_os_error()) }
}
