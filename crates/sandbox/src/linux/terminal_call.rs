//! The request that opens the other end of a pseudoterminal.
//!
//! All terminals of the machine are in one directory, where Landlock could only allow all of them or none. So programs cannot open them
//! by their path; from the end that they have, we open the other one for them.

use std::os::fd::OwnedFd;

use autonoe_kernel_calls::{Inheritance, PendingSystemCall};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer};

use super::calling_thread::CallingThread;

/// `TIOCGPTPEER`, the same number on every machine that we know.
pub(crate) const REQUEST: u32 = 0x5441;

/// Opens the other end of the terminal that the caller has open. Fails for every other descriptor.
pub(crate) fn open_peer(
    call: &PendingSystemCall,
    caller: &CallingThread,
) -> rustix::io::Result<(OwnedFd, Inheritance)> {
    let [descriptor, _, flags, ..] = call.args;
    let own_end = caller.duplicate(descriptor as u32 as i32)?;
    let flags = i32::try_from(flags).map_err(|_| Errno::INVAL)?;
    // It must not become the controlling terminal of our own process.
    let other_end =
        ioctl_tiocgptpeer(&own_end, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    let inheritance = match flags & libc::O_CLOEXEC {
        0 => Inheritance::Inherited,
        _ => Inheritance::CloseOnExec,
    };
    Ok((other_end, inheritance))
}
