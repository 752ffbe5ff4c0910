//! Processes that end in the middle of their work. Each is a part of `examples/victim.rs`, with nothing in its environment.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{self, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use autonoe_core::deliverable::DeliverableStatus::Passed;
use autonoe_core::plan::StatusReader;
use autonoe_store::journal::history::History;
use autonoe_store::{JournalPoint, StatusStore};

use crate::support::{Bench, create};

const SIGKILL: i32 = 9;

/// A process of the victim; it is killed when it is dropped.
pub struct Child {
    process: process::Child,
    lines: Mutex<Lines<BufReader<ChildStdout>>>,
}

impl Child {
    /// Has it play a part on the same project.
    pub fn start(bench: &Bench, part: &str) -> Self {
        Self::spawn(Command::new(victim()), bench, part, None)
    }

    /// The same, started by another program that is given its command line; none if that is not installed.
    pub fn start_by(mut command: Command, bench: &Bench, part: &str) -> Option<Self> {
        let is_installed = Command::new(command.get_program()).arg("--version").output().is_ok();
        command.arg(victim());
        is_installed.then(|| Self::spawn(command, bench, part, None))
    }

    fn spawn(mut command: Command, bench: &Bench, part: &str, crash: Option<JournalPoint>) -> Self {
        command
            .arg(part)
            .arg(bench.dir.path())
            .args(crash.map(|point| format!("{}:1", point.name())))
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines: Mutex::new(lines) }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Reads what the child prints up to `line`; fails if the child ends before.
    pub fn await_line(&self, line: &str) {
        let found = self.lines.lock().unwrap().by_ref().map(Result::unwrap).any(|said| said.contains(line));
        assert!(found, "the child ended without saying {line:?}");
    }

    /// Kills the child and returns when it is gone.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits for the child's end: what it printed, and the signal that ended it.
    fn finish(mut self) -> (Vec<String>, Option<i32>) {
        let lines = self.lines.lock().unwrap().by_ref().map(Result::unwrap).collect();
        (lines, self.process.wait().unwrap().signal())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program that plays the parts.
fn victim() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let victim = test.ancestors().nth(2).unwrap().join("examples/victim");
    assert!(
        victim.exists(),
        "{} is missing: build it with `cargo build -p autonoe-store --examples`",
        victim.display()
    );
    victim
}

#[tokio::test]
async fn a_change_survives_a_kill_at_every_point_of_its_way() {
    for point in [JournalPoint::StatusIntended, JournalPoint::StatusWritten, JournalPoint::StatusApplied] {
        let bench = Bench::new();
        let store = bench.store().await;
        create(&store, &["A"]).await.unwrap();
        drop(store);
        let child = Command::new(victim());
        let (said, signal) = Child::spawn(child, &bench, "pass_a_deliverable", Some(point)).finish();
        assert_eq!(signal, Some(SIGKILL), "{point:?}: {said:?}");
        assert!(!said.iter().any(|line| line.contains("passed")), "{point:?}: killed too late");

        let store = bench.store().await;
        let status = store.load().await.unwrap().unwrap();
        assert_eq!(status.deliverables[0].status, Passed, "{point:?}");
        assert_eq!(bench.count("status_writes WHERE applied = 0"), 0, "{point:?}");
        assert_eq!(bench.autonoe_files(), ["status.json"], "{point:?}");
    }
}

/// No file may grow beyond 128 KiB, which is what a full disk feels like, and needs no root.
#[tokio::test]
async fn a_full_disk_is_a_fault_and_loses_nothing_that_was_acknowledged() {
    let bench = Bench::new();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\""]).arg(victim());
    let (said, signal) = Child::spawn(shell, &bench, "fill_the_disk", None).finish();
    assert_eq!(signal, None, "{said:?}");
    let created = said.iter().filter(|line| line.contains("created ")).count();
    assert!(created > 0, "{said:?}");
    let fault = said.iter().find(|line| line.contains("fault ")).expect("the disk is full");
    assert!(fault.contains("fault journal lasting=true") || fault.contains("fault status_file lasting=true"));

    let before = StatusStore::read(&bench.project).unwrap().expect("the file is whole");
    assert!(before.deliverables.len() >= created, "{} of {created}", before.deliverables.len());
    assert_eq!(bench.autonoe_files(), ["status.json"], "no half-written file is left");
    let history = History::open(&bench.project.journal_file()).unwrap().unwrap();
    assert_eq!(history.integrity().unwrap(), "ok");

    let store = bench.store().await;
    create(&store, &["after"]).await.unwrap();
    let after = store.load().await.unwrap().unwrap();
    assert!(after.deliverables.len() > before.deliverables.len());
    assert_eq!(after.deliverables[..before.deliverables.len()], before.deliverables[..]);
}
