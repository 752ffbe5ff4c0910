//! Linux: adopts orphans and finds descendants in `/proc`.
//!
//! Signals go to whole process groups, because the kernel does that atomically: members that fork at the same moment
//! cannot escape.

mod attribute_call;
mod bpf;
mod call_guard;
mod call_target;
mod calling_thread;
mod confine;
mod handover_filter;
mod landlock;
mod listening_sockets;
mod lock_users;
mod memory;
mod own_servers;
mod seccomp;
mod shared_memory;
mod signal_scope;
mod socket_call;
mod terminal_call;
mod writable_places;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::io;
use rustix::process::{
    DumpableBehavior, Pid, Signal, getpid, kill_process, kill_process_group, set_child_subreaper,
    set_dumpable_behavior,
};

use rustix::net::RecvFlags;

pub(crate) use call_guard::guard_calls;
pub(crate) use confine::{Confinement, confine};
pub(crate) use landlock::is_available as landlock_is_available;
pub(crate) use lock_users::process_using;
pub(crate) use memory::oom_kills;
pub(crate) use shared_memory::SharedMemoryMonitor;
pub(crate) use signal_scope::{SignalScope, landlock_scopes_signals};

/// Received descriptors are not inherited by children.
pub(crate) const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC;

/// Whether orphaned descendants become our children, so that no children left means no descendants left.
pub(crate) const ADOPTS_ORPHANS: bool = true;

/// Makes this process the parent of every orphaned descendant.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))
}

/// Sends a signal to every descendant of this process, which must be a session leader.
pub(crate) fn signal_descendants(_main: Pid, signal: Signal) {
    signal_tree(getpid(), signal);
}

/// The processes that were sent SIGTERM. Each gets it only once, so that its cleanup is not interrupted.
#[derive(Debug, Default)]
pub(crate) struct Terminated {
    pids: BTreeSet<i32>,
    groups: BTreeSet<i32>,
}

impl Terminated {
    /// Excludes these processes, which terminate their own descendants.
    pub(crate) fn excluding(pids: impl IntoIterator<Item = Pid>) -> Self {
        let pids: BTreeSet<i32> = pids.into_iter().map(Pid::as_raw_pid).collect();
        Self { groups: pids.clone(), pids }
    }
}

/// Sends SIGTERM to every descendant of this process that has not received it yet.
pub(crate) fn terminate_descendants(_main: Pid, terminated: &mut Terminated) {
    let me = getpid().as_raw_pid();
    terminated.groups.insert(me);
    let descendants = descendants_of(me, &processes());
    let new: Vec<_> = descendants.into_iter().filter(|p| !terminated.pids.contains(&p.pid)).collect();
    for process in &new {
        // A new group is signalled as a whole, so that no member escapes by forking.
        if terminated.groups.insert(process.group) {
            let _ = Pid::from_raw(process.group).map(|group| kill_process_group(group, Signal::TERM));
            terminated.pids.extend(new.iter().filter(|p| p.group == process.group).map(|p| p.pid));
        } else if terminated.pids.insert(process.pid) {
            let _ = Pid::from_raw(process.pid).map(|pid| kill_process(pid, Signal::TERM));
        }
    }
}

/// Kills what a killed supervisor has left behind: the processes still in its session, and their descendants.
pub(crate) fn kill_orphans_of(supervisor: Pid) {
    signal_tree(supervisor, Signal::KILL);
}

/// Kills every descendant of this process, at once if it is the first process of a PID namespace or in a domain of its own.
pub(crate) fn kill_descendants(scope: Option<&SignalScope>) {
    match scope {
        Some(scope) => scope.kill_all(),
        // Group 1 means every process that we may signal; for the first process of a PID namespace these are exactly its
        // descendants. The kernel does it in one step, even while they fork.
        None if getpid() == Pid::INIT => drop(kill_process_group(Pid::INIT, Signal::KILL)),
        None => signal_tree(getpid(), Signal::KILL),
    }
}

/// Keeps programs of the same user from tracing this process, reading its memory and taking its descriptors.
pub(crate) fn refuse_tracing() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

/// The ids of all descendants of this process.
pub(crate) fn descendants() -> Vec<i32> {
    descendants_of(getpid().as_raw_pid(), &processes()).iter().map(|process| process.pid).collect()
}

/// The signals that this process ignores, signal n as bit n-1.
pub(crate) fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

fn signal_tree(supervisor: Pid, signal: Signal) {
    let me = supervisor.as_raw_pid();
    let descendants = descendants_of(me, &processes());
    let groups: BTreeSet<i32> = descendants.iter().map(|p| p.group).filter(|&g| g != me).collect();
    // Errors mean that a process has exited in the meantime.
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
    // A descendant may have joined the supervisor's own group, or left its group since. No other signal is sent twice.
    let alone = descendants.iter().filter(|p| p.group == me || signal == Signal::KILL);
    for pid in alone.filter_map(|p| Pid::from_raw(p.pid)) {
        let _ = kill_process(pid, signal);
    }
}

/// One entry of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
}

fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Process::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?))
        .collect()
}

impl Process {
    /// Parses `pid (name) state ppid pgrp session …`, where the name may contain any characters.
    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        let name_end = stat.iter().rposition(|&byte| byte == b')')?;
        let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace().skip(1).map(|field| field.parse().ok());
        Some(Self { pid, parent: fields.next()??, group: fields.next()??, session: fields.next()?? })
    }
}

/// The descendants of `me` and the processes in the session that it leads. The group of a descendant contains only
/// descendants, since a group never spans sessions and sessions cannot be joined.
fn descendants_of(me: i32, all: &[Process]) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = BTreeMap::new();
    let mut todo: Vec<_> = all.iter().filter(|p| p.session == me || p.parent == me).collect();
    while let Some(process) = todo.pop() {
        if process.pid != me && found.insert(process.pid, *process).is_none() {
            todo.extend(children.get(&process.pid).into_iter().flatten());
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::{Process, descendants_of};

    fn process(pid: i32, parent: i32, group: i32, session: i32) -> Process {
        Process { pid, parent, group, session }
    }

    #[test]
    fn a_process_name_may_look_like_fields() {
        let parsed = Process::parse(7, b"7 (a) R 1 1 (b) S 3 4 5 0 -1 0\n");
        assert_eq!(parsed, Some(process(7, 3, 4, 5)));
        assert_eq!(Process::parse(7, b"7 (a"), None);
        assert_eq!(Process::parse(7, b"7 (a) R x"), None);
    }

    #[test]
    fn descendants_are_found_across_sessions_and_unrelated_processes_are_not() {
        let all = [
            process(1, 0, 1, 1),
            process(10, 1, 10, 10),  // me
            process(11, 10, 11, 10), // child
            process(12, 11, 12, 12), // grandchild in a session of its own
            process(13, 12, 12, 12), // and its child
            process(14, 1, 11, 10),  // in my session, but with another parent
            process(20, 1, 20, 20),  // unrelated
            process(21, 20, 21, 20),
        ];
        let pids: Vec<_> = descendants_of(10, &all).iter().map(|p| p.pid).collect();
        assert_eq!(pids, [11, 12, 13, 14]);
    }
}
