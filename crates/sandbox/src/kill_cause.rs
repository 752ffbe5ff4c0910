//! Explains why a room or a supervisor is gone without a report: it was killed, perhaps because memory ran out.

use rustix::process::Signal;

use crate::supervisor::EXIT_SIGNAL_BASE;
use crate::system;

/// The number of out-of-memory kills when a process was started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OomBaseline {
    oom_kills: u64,
}

impl OomBaseline {
    pub(crate) fn now() -> Self {
        Self { oom_kills: system::oom_kills() }
    }

    /// Says that `subject` is gone, and why as far as we know. `code` is the exit code that its supervisor reported; `None`
    /// without a report.
    pub(crate) fn explain(self, subject: &str, code: Option<i32>) -> String {
        explain(system::oom_kills() > self.oom_kills, subject, code)
    }
}

fn explain(out_of_memory: bool, subject: &str, code: Option<i32>) -> String {
    match code.map(|code| (code, code - EXIT_SIGNAL_BASE)) {
        Some((_, signal)) if signal > 0 => {
            format!("{subject} was killed by {}{}", signal_name(signal), memory(signal, out_of_memory))
        }
        Some((code, _)) => format!("{subject} exited with code {code}"),
        None => format!("{subject} was killed{}", memory(Signal::KILL.as_raw(), out_of_memory)),
    }
}

/// A note about memory. The kernel only sends SIGKILL when memory runs out.
fn memory(signal: i32, out_of_memory: bool) -> &'static str {
    match (signal == Signal::KILL.as_raw(), out_of_memory) {
        (true, true) => ": the kernel was killing processes because memory ran out",
        (true, false) => " (possibly out of memory)",
        (false, _) => "",
    }
}

fn signal_name(number: i32) -> String {
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
    fn the_explanation_names_the_signal_and_memory() {
        let ran_out =
            "the room was killed by SIGKILL: the kernel was killing processes because memory ran out";
        for (out_of_memory, code, expected) in [
            (false, Some(137), "the room was killed by SIGKILL (possibly out of memory)"),
            (true, Some(137), ran_out),
            (false, None, "the room was killed (possibly out of memory)"),
            (true, Some(143), "the room was killed by SIGTERM"),
            (false, Some(128 + 31), "the room was killed by SIGSYS"),
            (false, Some(128 + 30), "the room was killed by signal 30"),
            (false, Some(125), "the room exited with code 125"),
        ] {
            assert_eq!(explain(out_of_memory, "the room", code), expected);
        }
    }
}
