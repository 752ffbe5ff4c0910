//! Hands the system calls that change a file's attributes over to the orchestrator: Landlock does not restrict them.
//!
//! The program is written by hand because `seccompiler` has no such action. It checks the numbers only; see `attribute_guard.rs`
//! for the decisions.

use std::io;
use std::mem::offset_of;

use autonoe_seccomp_notify::SeccompListener;
use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO,
    SECCOMP_RET_USER_NOTIF, seccomp_data, sock_filter,
};

use super::attribute_call;

/// The machine whose call numbers we know, as the kernel names it.
#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const MACHINE: u32 = 0xc000_00f3;

/// From here on, calls of x86_64 belong to its ABI with 32-bit pointers, under other numbers. Other machines have none so high.
const FOREIGN_CALLS: u32 = 0x4000_0000;

const NOT_IMPLEMENTED: u32 = SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// Applies the filter to this process and everything it starts. Returns the listener, which must not stay in the room.
pub(crate) fn install() -> io::Result<SeccompListener> {
    autonoe_seccomp_notify::install(&program()).map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => io::Error::other(
            "Autonoe runs in a sandbox or container that answers system calls itself, and the kernel allows one such filter",
        ),
        _ => io::Error::other(format!("cannot guard the attributes of files: {error}")),
    })
}

fn program() -> Vec<sock_filter> {
    let mut program = vec![
        load(offset_of!(seccomp_data, arch)),
        skip_if(BPF_JEQ, MACHINE, 1),
        end(NOT_IMPLEMENTED),
        load(offset_of!(seccomp_data, nr)),
        skip_unless(BPF_JGE, FOREIGN_CALLS, 1),
        end(NOT_IMPLEMENTED),
    ];
    for &call in attribute_call::NUMBERS {
        program.extend([skip_unless(BPF_JEQ, call as u32, 1), end(SECCOMP_RET_USER_NOTIF)]);
    }
    program.push(end(SECCOMP_RET_ALLOW));
    program
}

fn load(offset: usize) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, offset as u32)
}

fn end(action: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, action)
}

fn skip_if(compare: u32, value: u32, skipped: u8) -> sock_filter {
    sock_filter { jt: skipped, ..instruction(BPF_JMP | BPF_K | compare, value) }
}

fn skip_unless(compare: u32, value: u32, skipped: u8) -> sock_filter {
    sock_filter { jf: skipped, ..instruction(BPF_JMP | BPF_K | compare, value) }
}

fn instruction(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}
