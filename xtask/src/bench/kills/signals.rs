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
    use std::path::Path;
    use std::process::Command;

    use autonoe_test_kit::example;

    const INT_AND_TERM: u64 = 1 << 1 | 1 << 14;

    /// Starts a program with both signals ignored. Returns the signals that it says are ignored.
    fn ignored_by(program: &Path, args: &[&str]) -> u64 {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' INT TERM; exec \"$0\" \"$@\""]).arg(program).args(args);
        let output = shell.output().expect("started");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, mask) = printed.split_once("SigIgn:").unwrap_or_else(|| panic!("no mask: {output:?}"));
        u64::from_str_radix(mask.trim(), 16).expect("a number")
    }

    #[test]
    fn children_receive_signals_that_this_process_ignores() {
        let inherited = ignored_by(Path::new("grep"), &["SigIgn", "/proc/self/status"]);
        assert_eq!(inherited & INT_AND_TERM, INT_AND_TERM, "{inherited:x}");
        let delivered = ignored_by(&example("child_signals"), &[]);
        assert_eq!(delivered & INT_AND_TERM, 0, "{delivered:x}");
    }
}
