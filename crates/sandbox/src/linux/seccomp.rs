//! Seccomp filters: refuse system calls that no program of a project needs and that have allowed sandbox escapes.

use std::collections::BTreeMap;
use std::io;

use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS,
    CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS, EPERM, IPPROTO_TCP, NETLINK_ROUTE, SOCK_STREAM, c_long,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

use super::attribute_call::FCHMODAT2;
use super::bpf;
use crate::bounds::Bounds;

/// The network that the room uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Net {
    /// A network namespace with nothing but loopback.
    Private,
    /// The machine's network, with Landlock: only TCP and Unix sockets with connections are allowed, and `socket_call.rs` restricts their
    /// addresses.
    Shared,
}

/// Always refused: access to kernel state, keys and the memory of other processes.
const REFUSED: &[c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kcmp,
    KEXEC_FILE_LOAD,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// `libc` does not know it for every machine and C library. Newer processors share one table of numbers.
#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: c_long = libc::SYS_kexec_file_load;
#[cfg(not(target_arch = "x86_64"))]
const KEXEC_FILE_LOAD: c_long = 294;

/// Requests of `ioctl` that write to a terminal as if a person had typed. Their type is another one with musl than with glibc.
#[allow(clippy::unnecessary_cast)]
const INJECT_TERMINAL_INPUT: [u64; 2] = [libc::TIOCSTI as u64, libc::TIOCLINUX as u64];

/// Requests of `fcntl` for which a file that can be read is enough: a lease stops everybody else who opens the file, and a notification
/// tells what others do in a directory.
const OF_OTHER_OPENERS: [u64; 2] = [libc::F_SETLEASE as u64, libc::F_NOTIFY as u64];

/// Refused unless programs may create sandboxes of their own.
const REFUSED_UNLESS_NESTED: &[c_long] = &[
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
];

/// Has this number on every machine; `libc` does not know it for all of them.
const OPEN_TREE_ATTR: c_long = 467;

/// With Landlock, also refused: memory, semaphores and messages that all processes of the machine share. Other layers have them apart.
const REFUSED_IF_SHARED: &[c_long] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
];

/// With Landlock, also refused for any other process than the caller, by the argument that names it: changes of how it runs. Without a
/// process namespace, these would be the user's other processes.
const OF_ANOTHER_PROCESS: &[(c_long, u8)] = &[
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
];

/// Likewise, by what the first argument says the second one is. Only for processes can 0 mean nobody but the caller.
const OF_OTHER_PROCESSES: &[(c_long, u64)] =
    &[(libc::SYS_setpriority, libc::PRIO_PROCESS as u64), (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS)];

const IOPRIO_WHO_PROCESS: u64 = 1;

/// Calls that set the mode of a file, and the argument that has it. Of directories, the set-group-ID bit only says which group new files
/// have, and no filter can tell them from files.
#[rustfmt::skip]
const MODE_CALLS: &[(c_long, u8)] = &[
    (libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")] (libc::SYS_chmod, 1),
];

/// Calls that always create a file, and the argument that has its mode. Those that create directories are not among them: the kernel
/// ignores both bits there.
#[rustfmt::skip]
const CREATE_CALLS: &[(c_long, u8)] = &[
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")] (libc::SYS_mknod, 1),
    #[cfg(target_arch = "x86_64")] (libc::SYS_creat, 1),
];

/// Calls that create a file if their flags say so, and the arguments that have the flags and the mode. Without such a flag, the mode is
/// whatever was in the register.
#[rustfmt::skip]
const OPEN_CALLS: &[(c_long, u8, u8)] = &[
    (libc::SYS_openat, 2, 3),
    #[cfg(target_arch = "x86_64")] (libc::SYS_open, 1, 2),
];

/// The flags of an open call that creates a file. Without `O_DIRECTORY`, what is left of `O_TMPFILE` is its own bit.
const CREATE_FLAGS: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

const SET_ID_BITS: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// Reported as not implemented, so that programs fall back: `io_uring` makes system calls that no filter sees, and the mode with which
/// `openat2` creates a file is in memory.
const NOT_IMPLEMENTED: &[c_long] =
    &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_openat2];

/// With Landlock, also reported as not implemented: `setxattrat`, `removexattrat` and `file_setattr`. Programs then use the calls
/// that `attribute_call.rs` knows.
const NEWEST_ATTRIBUTE_CALLS: &[c_long] = &[463, 466, 469];

/// With Landlock, also refused: requests to change a file's flags, for which a descriptor for reading is enough.
const ATTRIBUTE_REQUESTS: [u64; 7] = [
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4008_6604, // EXT4_IOC_SETVERSION
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x4004_7211, // FAT_IOCTL_SET_ATTRIBUTES
];

/// Address families that a program may open sockets for. Others, such as vsock, packet sockets and Bluetooth, are refused
/// because network namespaces do not isolate them.
const FAMILIES: [i32; 4] = [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK];

const NAMESPACES: [i32; 7] =
    [CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS];

/// Sends data with the first packet, before Landlock checks the connection.
const MSG_FASTOPEN: u64 = 0x2000_0000;
/// The mask that separates a socket's type from its flags.
const SOCKET_TYPE: u64 = 0xf;
/// The types of sockets that are connected before they send.
const CONNECTED: [i32; 2] = [SOCK_STREAM, libc::SOCK_SEQPACKET];

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Applies the filters to this process and everything it starts.
pub(crate) fn restrict(net: Net, bounds: &Bounds) -> io::Result<()> {
    for program in programs(net, bounds).map_err(io::Error::other)? {
        seccompiler::apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

fn programs(net: Net, bounds: &Bounds) -> Result<[BpfProgram; 3], BackendError> {
    let mut not_implemented = always(NOT_IMPLEMENTED);
    if !bounds.nested {
        // The flags of clone3 are in memory, where no filter sees them; those of clone are in a register.
        not_implemented.insert(libc::SYS_clone3, Vec::new());
    }
    if net == Net::Shared {
        not_implemented.extend(always(NEWEST_ATTRIBUTE_CALLS));
    }
    Ok([
        own_calls_only(),
        compile(refused(net, bounds)?, SeccompAction::Errno(EPERM as u32))?,
        compile(not_implemented, SeccompAction::Errno(libc::ENOSYS as u32))?,
    ])
}

/// The rules of `seccompiler` know call numbers, which mean something else in another ABI of the same machine.
fn own_calls_only() -> BpfProgram {
    let program = bpf::own_calls_only().into_iter().chain([bpf::end(libc::SECCOMP_RET_ALLOW)]);
    let instruction = |filter: libc::sock_filter| sock_filter {
        code: filter.code,
        jt: filter.jt,
        jf: filter.jf,
        k: filter.k,
    };
    program.map(instruction).collect()
}

fn compile(rules: SeccompRules, when_matched: SeccompAction) -> Result<BpfProgram, BackendError> {
    let machine = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, when_matched, machine)?.try_into()
}

fn always(calls: &[c_long]) -> SeccompRules {
    calls.iter().map(|&call| (call, Vec::new())).collect()
}

fn refused(net: Net, bounds: &Bounds) -> Result<SeccompRules, BackendError> {
    let mut rules = always(REFUSED);
    if !bounds.tracing {
        rules.insert(libc::SYS_ptrace, Vec::new());
    }
    for &(call, mode) in MODE_CALLS {
        rules.insert(call, vec![rule(vec![has(mode, libc::S_ISUID.into())?])?]);
    }
    for &(call, mode) in CREATE_CALLS {
        let set_id = SET_ID_BITS.map(|bit| rule(vec![has(mode, bit.into())?]));
        rules.insert(call, set_id.into_iter().collect::<Result<_, _>>()?);
    }
    for &(call, flags, mode) in OPEN_CALLS {
        let both = CREATE_FLAGS.into_iter().flat_map(|flag| SET_ID_BITS.map(|bit| (flag, bit)));
        let set_id = both.map(|(flag, bit)| rule(vec![has(flags, flag as u64)?, has(mode, bit.into())?]));
        rules.insert(call, set_id.collect::<Result<_, _>>()?);
    }
    if !bounds.nested {
        rules.extend(always(REFUSED_UNLESS_NESTED));
        let new_namespace = NAMESPACES.map(|flag| rule(vec![has(0, flag as u64)?]));
        let new_namespace = new_namespace.into_iter().collect::<Result<Vec<_>, _>>()?;
        rules.insert(libc::SYS_clone, new_namespace.clone());
        rules.insert(libc::SYS_unshare, new_namespace);
    }
    let requests_about_others = OF_OTHER_OPENERS.map(|request| rule(vec![is(1, request)?]));
    rules.insert(libc::SYS_fcntl, requests_about_others.into_iter().collect::<Result<_, _>>()?);
    // New limits for another process: with a size of 0, a judge could not write down what it has found.
    rules.insert(libc::SYS_prlimit64, vec![rule(vec![is_not(0, 0)?, is_not(2, 0)?])?]);
    // Not with a process namespace: threads that choose their processor name themselves, which no filter can tell apart.
    if net == Net::Shared {
        for &(call, process) in OF_ANOTHER_PROCESS {
            rules.insert(call, vec![rule(vec![is_not(process, 0)?])?]);
        }
        for &(call, process) in OF_OTHER_PROCESSES {
            rules.insert(call, vec![rule(vec![is_not(0, process)?])?, rule(vec![is_not(1, 0)?])?]);
        }
    }
    let mut requests = INJECT_TERMINAL_INPUT
        .map(|request| rule(vec![is(1, request)?]))
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_socket, sockets(net)?);
    if net == Net::Shared {
        rules.extend(always(REFUSED_IF_SHARED));
        rules.insert(libc::SYS_socketpair, pairs()?);
        for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
            rules.insert(call, vec![rule(vec![has(flags, MSG_FASTOPEN)?])?]);
        }
        for request in ATTRIBUTE_REQUESTS {
            requests.push(rule(vec![is(1, request)?])?);
        }
    }
    rules.insert(libc::SYS_ioctl, requests);
    Ok(rules)
}

/// The pairs of sockets that are refused: one of datagrams could send to any server that receives them at a path.
fn pairs() -> Result<Vec<SeccompRule>, BackendError> {
    of_other_kinds(&CONNECTED).map(|of_kind| rule(vec![of_kind?])).collect()
}

/// The conditions for sockets of any other kind.
fn of_other_kinds(kinds: &[i32]) -> impl Iterator<Item = Result<SeccompCondition, BackendError>> {
    let others = (0..=SOCKET_TYPE).filter(|kind| !kinds.iter().any(|other| *other as u64 == *kind));
    others.map(|kind| condition(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind))
}

/// The rules for sockets that are refused.
fn sockets(net: Net) -> Result<Vec<SeccompRule>, BackendError> {
    let others: Result<Vec<_>, _> = FAMILIES.iter().map(|&family| is_not(0, family as u64)).collect();
    let mut refused = vec![rule(others?)?];
    if net == Net::Private {
        return Ok(refused);
    }
    // Of the kernel's own services, programs need the routing tables.
    refused.push(rule(vec![is(0, AF_NETLINK as u64)?, is_not(2, NETLINK_ROUTE as u64)?])?);
    // A datagram has its address with it, which nobody judges.
    for of_kind in of_other_kinds(&CONNECTED) {
        refused.push(rule(vec![is(0, AF_UNIX as u64)?, of_kind?])?);
    }
    for family in [AF_INET as u64, AF_INET6 as u64] {
        let other_protocol = vec![is(0, family)?, is_not(2, 0)?, is_not(2, IPPROTO_TCP as u64)?];
        refused.push(rule(other_protocol)?);
        for of_kind in of_other_kinds(&[SOCK_STREAM]) {
            refused.push(rule(vec![is(0, family)?, of_kind?])?);
        }
    }
    Ok(refused)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions)
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn has(argument: u8, flag: u64) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::MaskedEq(flag), flag)
}

fn condition(argument: u8, compare: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, value)
}
