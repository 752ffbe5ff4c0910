//! Starting things under the real keeper and watching processes come and go.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use autonoe_sandbox::{Launch, Launcher};

pub const KEEPER: &str = env!("CARGO_BIN_EXE_keeper");

/// Far above what anything here needs: reaching it is the failure, not a measurement.
const DEADLINE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A shell script under the keeper, in `dir`.
pub fn script(dir: &Path, text: &str) -> Launch {
    Launcher::new(KEEPER).command("sh").args(["-c", text]).env("PATH", "/usr/bin:/bin").cwd(dir)
}

/// Shell text that leaves three kinds of descendants, and their ids in files `a`, `b` and `c`:
/// a plain one, one in a session of its own, and one that ignores SIGTERM as well and is an orphan.
pub const THREE_DESCENDANTS: &str = r#"
    sleep 300 & echo $! > a.new; mv a.new a
    setsid sh -c 'echo $$ > b.new; mv b.new b; exec sleep 300' &
    (setsid sh -c 'trap "" TERM; echo $$ > c.new; mv c.new c; exec sleep 300' &)
    while ! { test -e b && test -e c; }; do sleep 0.01; done
"#;

/// Waits for the three and returns their ids.
pub fn three(dir: &Path) -> Vec<i32> {
    ["a", "b", "c"].iter().map(|name| pid_in(&dir.join(name))).collect()
}

/// Waits for a file with a process id in it.
pub fn pid_in(file: &Path) -> i32 {
    let mut pid = None;
    until(&format!("{} holds a process id", file.display()), || {
        pid = fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
        pid.is_some()
    });
    pid.unwrap()
}

pub fn assert_gone(pids: &[i32]) {
    for &pid in pids {
        until(&format!("process {pid} is gone"), || !is_running(pid));
    }
}

pub fn is_running(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        !matches!(state, Some('Z' | 'X'))
    })
}

pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}
