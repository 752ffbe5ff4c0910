//! Filter programs that `seccompiler` cannot express: for calls of another ABI, and with calls that are handed over.

use std::mem::offset_of;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ERRNO, seccomp_data,
    sock_filter,
};

/// The machine whose call numbers we know, as the kernel names it.
#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const MACHINE: u32 = 0xc000_00f3;

/// From here on, calls of x86_64 belong to its ABI with 32-bit pointers (x32), under other numbers. Other machines have none so high.
const FOREIGN_CALLS: u32 = 0x4000_0000;

const NOT_IMPLEMENTED: u32 = SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// Answers calls of another ABI as not implemented, and has the number of any other call loaded after that.
pub(crate) fn own_calls_only() -> Vec<sock_filter> {
    vec![
        load(offset_of!(seccomp_data, arch)),
        skip_if(BPF_JEQ, MACHINE, 1),
        end(NOT_IMPLEMENTED),
        load(offset_of!(seccomp_data, nr)),
        skip_unless(BPF_JGE, FOREIGN_CALLS, 1),
        end(NOT_IMPLEMENTED),
    ]
}

pub(crate) fn load_number() -> sock_filter {
    load(offset_of!(seccomp_data, nr))
}

/// Loads the lower half of an argument.
pub(crate) fn load_argument(index: usize) -> sock_filter {
    let high_first = if cfg!(target_endian = "big") { 4 } else { 0 };
    load(offset_of!(seccomp_data, args) + index * size_of::<u64>() + high_first)
}

/// Ends with `action` if the loaded value is `value`.
pub(crate) fn end_if(value: u32, action: u32) -> [sock_filter; 2] {
    [skip_unless(BPF_JEQ, value, 1), end(action)]
}

/// Skips instructions unless the loaded value is `value`.
pub(crate) fn skip_unless_equal(value: u32, skipped: u8) -> sock_filter {
    skip_unless(BPF_JEQ, value, skipped)
}

pub(crate) fn end(action: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, action)
}

fn load(offset: usize) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, offset as u32)
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
