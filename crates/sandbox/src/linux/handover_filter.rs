//! Hands system calls over to the orchestrator that Landlock does not restrict, or not precisely enough: those that change a file's
//! attributes, those that give a socket an address, and the one that opens the other end of a terminal.
//!
//! The filter checks numbers only; see `call_guard.rs` for the decisions.

use std::io;

use autonoe_kernel_calls::SeccompListener;
use libc::{SECCOMP_RET_ALLOW, SECCOMP_RET_USER_NOTIF, sock_filter};

use super::{attribute_call, bpf, socket_call, terminal_call};

/// Applies the filter to this process and everything it starts. Returns the listener, which must not stay in the room.
pub(crate) fn install() -> io::Result<SeccompListener> {
    autonoe_kernel_calls::install(&program()).map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => io::Error::other(
            "Autonoe runs in a sandbox or container that answers system calls itself, and the kernel allows one such filter",
        ),
        _ => io::Error::other(format!("cannot judge system calls: {error}")),
    })
}

fn program() -> Vec<sock_filter> {
    let mut program = bpf::own_calls_only();
    for &call in attribute_call::NUMBERS.iter().chain(socket_call::NUMBERS) {
        program.extend(bpf::end_if(call as u32, SECCOMP_RET_USER_NOTIF));
    }
    let request = [bpf::load_argument(1)]
        .into_iter()
        .chain(bpf::end_if(terminal_call::REQUEST, SECCOMP_RET_USER_NOTIF))
        .chain([bpf::load_number()]);
    let request: Vec<_> = request.collect();
    program.push(bpf::skip_unless_equal(libc::SYS_ioctl as u32, request.len() as u8));
    program.extend(request);
    program.push(bpf::end(SECCOMP_RET_ALLOW));
    program
}
