//! A process for tests to kill: `victim TASK DIRECTORY [CRASH POINT]`. It works on the project in the
//! directory and prints its progress to standard output.
#![allow(clippy::expect_used, clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::sync::Arc;

use autonoe_core::deliverable::{DeliverableStatus, NewDeliverable};
use autonoe_core::status::{ChangeError, ProjectStatus};
use autonoe_store::journal::JournalOptions;
use autonoe_store::{LockHolder, Project, ProjectLock, SqliteJournal, StatusStore};
use autonoe_test_kit::RealTimeClock;
use jiff::Timestamp;

/// Hash of the specification, as in the tests.
const SPEC: &str = "spec-1";

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let (task, directory) = (args.next().expect("a task"), args.next().expect("a directory"));
    let directory = Path::new(&directory);
    let project = Project::open(&directory.join("project"), &directory.join("state")).unwrap();
    let crash = args.next();
    match task.as_str() {
        "hold_the_lock" => hold_the_lock(&project),
        "pass_a_deliverable" => pass_a_deliverable(&open_store(&project, crash).await).await,
        "fill_the_disk" => fill_the_disk(&open_store(&project, crash).await).await,
        other => panic!("unknown task '{other}'"),
    }
}

async fn open_store(project: &Project, crash: Option<String>) -> StatusStore {
    let options =
        JournalOptions { crash: crash.map(|text| text.parse().unwrap()), ..JournalOptions::default() };
    let path = project.journal_file();
    let (journal, _) = SqliteJournal::begin(&path, "run", SPEC, Timestamp::now(), options).await.unwrap();
    StatusStore::open(project, journal, Arc::new(RealTimeClock)).await.unwrap()
}

fn hold_the_lock(project: &Project) {
    let holder = LockHolder {
        pid: std::process::id(),
        command: "run".to_owned(),
        since: "2026-01-02T12:00:00Z".parse().unwrap(),
        socket: Some("/run/autonoe.sock".into()),
    };
    let _lock = ProjectLock::take(project, &holder).unwrap();
    println!("held");
    // Until killed, or until the parent has ended.
    let _ = std::io::stdin().read_line(&mut String::new());
}

async fn pass_a_deliverable(store: &StatusStore) {
    let change =
        |status: &mut ProjectStatus, _| Ok(((), vec![status.set_status("A", DeliverableStatus::Passed)?]));
    store.change(Box::new(change)).await.unwrap();
    println!("passed");
}

async fn fill_the_disk(store: &StatusStore) {
    for number in 0..10_000 {
        let id = format!("{number}-{}", "x".repeat(1000));
        let batch = vec![NewDeliverable {
            description: format!("What {id} is"),
            acceptance_criteria: vec!["It works".to_owned()],
            id,
            order: Default::default(),
        }];
        let change = move |status: &mut ProjectStatus, _| Ok(((), status.create(batch)?));
        match store.change(Box::new(change)).await {
            Ok(_) => println!("created {number}"),
            Err(ChangeError::Refused(refusal)) => panic!("refused: {refusal}"),
            Err(ChangeError::Fault(fault)) => {
                println!("fault {} permanent={}", fault.code, !fault.recoverable());
                return;
            }
        }
    }
}
