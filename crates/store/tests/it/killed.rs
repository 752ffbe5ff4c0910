//! Processes that end in the middle of their work. Each is this test binary again, running one of the ignored tests
//! below with nothing in its environment but the directory to work in.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{self, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use autonoe_core::deliverable::DeliverableStatus::Passed;
use autonoe_core::plan::StatusReader;
use autonoe_core::status::ProjectStatus;
use autonoe_store::journal::JournalOptions;
use autonoe_store::journal::history::History;
use autonoe_store::{JournalPoint, Project, ProjectLock, StatusStore};
use jiff::Timestamp;

use crate::support::{Bench, FixedClock, SPEC, create, deliverable, set};

const DIRECTORY: &str = "AUTONOE_TEST_DIRECTORY";
const CRASH: &str = "AUTONOE_TEST_CRASH";
const SIGKILL: i32 = 9;

/// Another process of this binary; it is killed when it is dropped.
pub struct Child {
    process: process::Child,
    lines: Mutex<Lines<BufReader<ChildStdout>>>,
}

impl Child {
    /// Runs one of the ignored tests of this module on the same project.
    pub fn start(bench: &Bench, test: &str) -> Self {
        Self::spawn(Command::new(std::env::current_exe().unwrap()), bench, test, None)
    }

    fn spawn(mut command: Command, bench: &Bench, test: &str, crash: Option<JournalPoint>) -> Self {
        command
            .args(["--exact", &format!("killed::{test}"), "--ignored", "--nocapture", "--test-threads=1"])
            .env_clear()
            .env(DIRECTORY, bench.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(point) = crash {
            command.env(CRASH, format!("{}:1", point.name()));
        }
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

/// The project this process was given; none unless it is a child.
fn given_project() -> Option<Project> {
    let directory = std::env::var_os(DIRECTORY)?;
    let directory = Path::new(&directory);
    Some(Project::open(&directory.join("project"), &directory.join("state")).unwrap())
}

async fn open_store(project: &Project) -> StatusStore {
    let crash = std::env::var(CRASH).ok().map(|text| text.parse().unwrap());
    let options = JournalOptions { secrets: Vec::new(), crash };
    let path = project.journal_file();
    let (journal, _) =
        autonoe_store::Journal::begin(&path, "run", SPEC, Timestamp::now(), options).await.unwrap();
    StatusStore::open(project, journal, Arc::new(FixedClock)).await.unwrap()
}

#[test]
#[ignore = "no test of its own: the process that other tests here start and kill"]
fn hold_the_lock() {
    let Some(project) = given_project() else { return };
    let _lock = ProjectLock::take(&project, &crate::lock::holder("run")).unwrap();
    println!("held");
    // Until killed, or until the parent is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[tokio::test]
#[ignore = "no test of its own: the process that other tests here start and kill"]
async fn pass_a_deliverable() {
    let Some(project) = given_project() else { return };
    let store = open_store(&project).await;
    set(&store, "A", Passed).await.unwrap();
    println!("passed");
}

#[tokio::test]
#[ignore = "no test of its own: the process that other tests here start and kill"]
async fn fill_the_disk() {
    let Some(project) = given_project() else { return };
    let store = open_store(&project).await;
    for number in 0..10_000 {
        let batch = vec![deliverable(&format!("{number}-{}", "x".repeat(1000)))];
        let change = move |status: &mut ProjectStatus, _| Ok(((), status.create(batch)?));
        match store.change(Box::new(change)).await {
            Ok(done) => {
                done.unwrap();
                println!("created {number}");
            }
            Err(fault) => {
                println!("fault {} lasting={}", fault.code, !fault.recoverable());
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_change_survives_a_kill_at_every_point_of_its_way() {
    for point in [JournalPoint::StatusIntended, JournalPoint::StatusWritten, JournalPoint::StatusApplied] {
        let bench = Bench::new();
        let store = bench.store().await;
        create(&store, &["A"]).await.unwrap();
        drop(store);
        let child = Command::new(std::env::current_exe().unwrap());
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
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap());
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
