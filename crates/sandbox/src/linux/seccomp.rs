//! System calls that no program of a project needs and that have let others out: refused.

use std::collections::BTreeMap;
use std::io;

use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS,
    CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS, EPERM, IPPROTO_TCP, SOCK_STREAM, TIOCLINUX, TIOCSTI, c_long,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Whether the network is the room's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Net {
    /// A network of its own, with nothing but loopback.
    Private,
    /// The machine's network: only TCP, whose connections Landlock judges.
    Shared,
}

/// Refused whatever the arguments: the kernel's own state, keys, other processes' memory.
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
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
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

/// Refused unless programs may build sandboxes of their own.
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
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
];

/// Said not to exist, so that programs fall back: a second way to make system calls, which no filter sees.
const UNKNOWN: &[c_long] = &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Families of addresses that a program may open sockets for. Not among them: the virtual machine's host, the
/// hardware, Bluetooth and the like, which no network namespace holds back.
const FAMILIES: [i32; 4] = [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK];

const NAMESPACES: [i32; 7] =
    [CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS];

/// Sends data before the connection is judged.
const MSG_FASTOPEN: u64 = 0x2000_0000;
/// The bits of a socket's type that are its type.
const SOCKET_TYPE: u64 = 0xf;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refuses these calls to this process and all that it starts.
pub(crate) fn restrict(net: Net, nested: bool) -> io::Result<()> {
    for program in programs(net, nested).map_err(io::Error::other)? {
        seccompiler::apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

fn programs(net: Net, nested: bool) -> Result<[BpfProgram; 2], BackendError> {
    let mut unknown = always(UNKNOWN);
    if !nested {
        // Its flags lie in memory, where no filter sees them; the older call shows them.
        unknown.insert(libc::SYS_clone3, Vec::new());
    }
    Ok([
        compile(refused(net, nested)?, SeccompAction::Errno(EPERM as u32))?,
        compile(unknown, SeccompAction::Errno(libc::ENOSYS as u32))?,
    ])
}

fn compile(rules: Rules, when_matched: SeccompAction) -> Result<BpfProgram, BackendError> {
    let machine = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, when_matched, machine)?.try_into()
}

fn always(calls: &[c_long]) -> Rules {
    calls.iter().map(|&call| (call, Vec::new())).collect()
}

fn refused(net: Net, nested: bool) -> Result<Rules, BackendError> {
    let mut rules = always(REFUSED);
    if !nested {
        rules.extend(always(REFUSED_UNLESS_NESTED));
        let made = NAMESPACES.map(|flag| rule(vec![has(0, flag as u64)?]));
        let made = made.into_iter().collect::<Result<Vec<_>, _>>()?;
        rules.insert(libc::SYS_clone, made.clone());
        rules.insert(libc::SYS_unshare, made);
    }
    // Typing into a terminal on somebody's behalf.
    rules.insert(libc::SYS_ioctl, vec![rule(vec![is(1, TIOCSTI)?])?, rule(vec![is(1, TIOCLINUX)?])?]);
    rules.insert(libc::SYS_socket, sockets(net)?);
    if net == Net::Shared {
        for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
            rules.insert(call, vec![rule(vec![has(flags, MSG_FASTOPEN)?])?]);
        }
    }
    Ok(rules)
}

/// Sockets that may not be opened.
fn sockets(net: Net) -> Result<Vec<SeccompRule>, BackendError> {
    let others: Result<Vec<_>, _> = FAMILIES.iter().map(|&family| is_not(0, family as u64)).collect();
    let mut refused = vec![rule(others?)?];
    if net == Net::Private {
        return Ok(refused);
    }
    // A socket in the file system leads to anyone who listens there, past every rule for files.
    refused.push(rule(vec![is(0, AF_UNIX as u64)?])?);
    for family in [AF_INET as u64, AF_INET6 as u64] {
        let other_protocol = vec![is(0, family)?, is_not(2, 0)?, is_not(2, IPPROTO_TCP as u64)?];
        refused.push(rule(other_protocol)?);
        for kind in (0..=SOCKET_TYPE).filter(|&kind| kind != SOCK_STREAM as u64) {
            let of_kind = condition(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?;
            refused.push(rule(vec![is(0, family)?, of_kind])?);
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
