//! What became of a room or a supervisor that is gone without a word: killed, and perhaps for want of memory.

use rustix::process::Signal;

use crate::supervisor::EXIT_SIGNAL_BASE;
use crate::system;

/// What was known of the machine's memory when something began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryBefore {
    oom_kills: u64,
}

impl MemoryBefore {
    pub(crate) fn now() -> Self {
        Self { oom_kills: system::oom_kills() }
    }

    /// That `what` is gone, and what is known of why. `code` is how its supervisor says that it ended.
    pub(crate) fn explain(self, what: &str, code: Option<i32>) -> String {
        explain(system::oom_kills() > self.oom_kills, what, code)
    }
}

fn explain(has_run_out: bool, what: &str, code: Option<i32>) -> String {
    match code.map(|code| (code, code - EXIT_SIGNAL_BASE)) {
        Some((_, number)) if number > 0 => {
            format!("something killed {what} with {}{}", named(number), memory(number, has_run_out))
        }
        Some((code, _)) => format!("{what} ended with exit code {code}"),
        None => format!("something killed {what}{}", memory(Signal::KILL.as_raw(), has_run_out)),
    }
}

/// What is known of the memory; only one signal is sent for want of it.
fn memory(signal: i32, has_run_out: bool) -> &'static str {
    match (signal == Signal::KILL.as_raw(), has_run_out) {
        (true, true) => ": the kernel killed processes meanwhile because memory ran out",
        (true, false) => " (memory?)",
        (false, _) => "",
    }
}

fn named(number: i32) -> String {
    let names = [
        (Signal::KILL, "SIGKILL"),
        (Signal::TERM, "SIGTERM"),
        (Signal::INT, "SIGINT"),
        (Signal::HUP, "SIGHUP"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::BUS, "SIGBUS"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::SYS, "SIGSYS"),
    ];
    let known = names.iter().find(|(signal, _)| signal.as_raw() == number);
    known.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn what_is_known_is_told() {
        let ran_out = "something killed the room with SIGKILL: the kernel killed processes meanwhile because memory ran out";
        for (has_run_out, code, words) in [
            (false, Some(137), "something killed the room with SIGKILL (memory?)"),
            (true, Some(137), ran_out),
            (false, None, "something killed the room (memory?)"),
            (true, Some(143), "something killed the room with SIGTERM"),
            (false, Some(128 + 31), "something killed the room with SIGSYS"),
            (false, Some(128 + 30), "something killed the room with signal 30"),
            (false, Some(125), "the room ended with exit code 125"),
        ] {
            assert_eq!(explain(has_run_out, "the room", code), words);
        }
    }
}
