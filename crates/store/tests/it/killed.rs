//! Processes that are killed in the middle of their work. Each runs one task of `examples/victim.rs` with an
//! empty environment.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use autonoe_core::deliverable::DeliverableStatus::Passed;
use autonoe_core::plan::StatusReader;
use autonoe_store::journal::history::History;
use autonoe_store::{JournalPoint, StatusStore};
use autonoe_test_kit::example;

use crate::support::{StoreFixture, create};

const SIGKILL: i32 = 9;

/// A victim process, killed when dropped.
pub struct VictimProcess {
    process: process::Child,
    lines: Mutex<Lines<BufReader<ChildStdout>>>,
}

impl VictimProcess {
    pub fn start(fixture: &StoreFixture, task: &str) -> Self {
        Self::spawn(Command::new(example("victim")), fixture, task, None)
    }

    /// Started through another program that gets the command line; `None` if that is not installed.
    pub fn start_by(mut command: Command, fixture: &StoreFixture, task: &str) -> Option<Self> {
        let is_installed = Command::new(command.get_program()).arg("--version").output().is_ok();
        command.arg(example("victim"));
        is_installed.then(|| Self::spawn(command, fixture, task, None))
    }

    fn spawn(mut command: Command, fixture: &StoreFixture, task: &str, crash: Option<JournalPoint>) -> Self {
        command
            .arg(task)
            .arg(fixture.dir.path())
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

    /// Reads the output up to `line`; fails if the process ends before.
    pub fn await_line(&self, line: &str) {
        let found = self.lines.lock().unwrap().by_ref().map(Result::unwrap).any(|text| text.contains(line));
        assert!(found, "the process ended without printing {line:?}");
    }

    /// Kills the process and waits until it has ended.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits for the end; returns the output and the signal that ended it.
    fn finish(mut self) -> (Vec<String>, Option<i32>) {
        let lines = self.lines.lock().unwrap().by_ref().map(Result::unwrap).collect();
        (lines, self.process.wait().unwrap().signal())
    }
}

impl Drop for VictimProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn a_change_survives_a_kill_at_every_point() {
    for point in [JournalPoint::StatusIntended, JournalPoint::StatusWritten, JournalPoint::StatusApplied] {
        let fixture = StoreFixture::new();
        let store = fixture.store().await;
        create(&store, &["A"]).await.unwrap();
        drop(store);
        let child = Command::new(example("victim"));
        let (output, signal) =
            VictimProcess::spawn(child, &fixture, "pass_a_deliverable", Some(point)).finish();
        assert_eq!(signal, Some(SIGKILL), "{point:?}: {output:?}");
        assert!(!output.iter().any(|line| line.contains("passed")), "{point:?}: killed too late");

        let store = fixture.store().await;
        let status = store.load().await.unwrap().unwrap();
        assert_eq!(status.deliverables[0].status, Passed, "{point:?}");
        assert_eq!(fixture.count("status_writes WHERE applied = 0"), 0, "{point:?}");
        assert_eq!(fixture.autonoe_files(), ["status.json"], "{point:?}");
    }
}

/// No file may grow beyond 128 KiB, which acts like a full disk and needs no root.
#[tokio::test]
async fn a_full_disk_is_a_fault_and_loses_nothing_that_was_acknowledged() {
    let fixture = StoreFixture::new();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\""]).arg(example("victim"));
    let (output, signal) = VictimProcess::spawn(shell, &fixture, "fill_the_disk", None).finish();
    assert_eq!(signal, None, "{output:?}");
    let created = output.iter().filter(|line| line.contains("created ")).count();
    assert!(created > 0, "{output:?}");
    let fault = output.iter().find(|line| line.contains("fault ")).expect("the disk is full");
    assert!(
        fault.contains("fault journal permanent=true") || fault.contains("fault status_file permanent=true")
    );

    let before = StatusStore::read(&fixture.project).unwrap().expect("the file is whole");
    assert!(before.deliverables.len() >= created, "{} of {created}", before.deliverables.len());
    assert_eq!(fixture.autonoe_files(), ["status.json"], "no half-written file is left");
    let history = History::open(&fixture.project.journal_file()).unwrap().unwrap();
    assert_eq!(history.integrity().unwrap(), "ok");

    let store = fixture.store().await;
    create(&store, &["after"]).await.unwrap();
    let after = store.load().await.unwrap().unwrap();
    assert!(after.deliverables.len() > before.deliverables.len());
    assert_eq!(after.deliverables[..before.deliverables.len()], before.deliverables[..]);
}
