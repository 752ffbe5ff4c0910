//! The signals of the runs that are stopped. A shell without job control starts background programs with SIGINT ignored, and so
//! does `nohup` with SIGHUP; their children inherit that, and a run respects it: SIGINT would not stop it.

use std::sync::Arc;

use autonoe_sandbox::is_ignored;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::result::Result;

/// Makes children receive both signals even if this process ignores them: a signal that is caught here has its default
/// effect in the programs that are started.
pub fn deliver_to_children() -> Result {
    for signal in [SIGINT, SIGTERM].into_iter().filter(|signal| is_ignored(*signal)) {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::deliver_to_children;

    /// Started by the other test, with SIGINT ignored.
    #[test]
    #[ignore = "a child of the test below, which starts it with SIGINT and SIGTERM ignored"]
    fn print_the_ignored_signals_of_a_child() {
        deliver_to_children().expect("registered");
        let status = Command::new("grep").args(["SigIgn", "/proc/self/status"]).status();
        assert!(status.expect("started").success());
    }

    #[test]
    fn children_receive_signals_that_this_process_ignores() {
        let name = "bench::kills::signals::tests::print_the_ignored_signals_of_a_child";
        let own = std::env::current_exe().expect("a path");
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' INT TERM; exec \"$0\" \"$@\""]).arg(own);
        let output = shell.args(["--exact", name, "--ignored", "--nocapture"]).output().expect("started");
        let printed = String::from_utf8_lossy(&output.stdout);
        let mask = printed.lines().find_map(|line| line.split_once("SigIgn:")).expect("a mask").1.trim();
        let mask = u64::from_str_radix(mask, 16).expect("a number");
        assert_eq!(mask & (1 << 1 | 1 << 14), 0, "{printed}");
    }
}
