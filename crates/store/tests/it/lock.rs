//! The project lock: one writer at a time, and a dead holder never blocks.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use autonoe_core::fault::Fault;
use autonoe_store::{
    AgentLock, AgentRecord, LockHolder, LockStatus, Others, Project, ProjectLock, ProjectUse,
};

use crate::killed::VictimProcess;
use crate::support::StoreFixture;

pub fn holder(command: &str) -> LockHolder {
    LockHolder {
        pid: std::process::id(),
        command: command.to_owned(),
        since: "2026-01-02T12:00:00Z".parse().unwrap(),
        socket: Some("/run/autonoe.sock".into()),
    }
}

#[test]
fn a_second_process_learns_who_holds_the_lock() {
    let fixture = StoreFixture::new();
    let _lock = ProjectLock::take(&fixture.project, &holder("sync")).unwrap();
    let fault = ProjectLock::take(&fixture.project, &holder("run")).expect_err("held");
    assert_eq!(fault.code, "project_locked");
    assert!(fault.message.contains("autonoe sync"), "{}", fault.message);
    assert!(fault.message.contains(&std::process::id().to_string()), "{}", fault.message);
    assert!(fault.message.contains("2026-01-02T12:00:00Z"), "{}", fault.message);
    assert_eq!(
        ProjectLock::holder(&fixture.project),
        Some(holder("sync")),
        "the second process left no trace"
    );
}

#[test]
fn a_free_project_has_no_holder_and_can_be_taken_again() {
    let fixture = StoreFixture::new();
    assert_eq!(ProjectLock::holder(&fixture.project), None, "never taken");
    for command in ["run", "sync"] {
        let lock = ProjectLock::take(&fixture.project, &holder(command)).unwrap();
        assert_eq!(ProjectLock::holder(&fixture.project), Some(holder(command)));
        drop(lock);
        assert_eq!(ProjectLock::holder(&fixture.project), None);
    }
}

#[test]
fn projects_do_not_share_a_lock() {
    let (one, other) = (StoreFixture::new(), StoreFixture::new());
    let _one = ProjectLock::take(&one.project, &holder("run")).unwrap();
    let _other = ProjectLock::take(&other.project, &holder("run")).unwrap();
}

#[test]
fn an_unreadable_holder_file_does_not_hide_that_the_project_is_locked() {
    let fixture = StoreFixture::new();
    let _lock = ProjectLock::take(&fixture.project, &holder("run")).unwrap();
    fs::write(fixture.project.state_dir().join("holder.json"), "garbage").unwrap();
    let fault = ProjectLock::take(&fixture.project, &holder("run")).expect_err("held");
    assert_eq!(fault.code, "project_locked");
    assert!(fault.message.contains("another autonoe process"), "{}", fault.message);
}

#[test]
fn a_killed_holder_never_blocks() {
    let fixture = StoreFixture::new();
    let child = VictimProcess::start(&fixture, "hold_the_lock");
    child.await_line("held");
    let fault = ProjectLock::take(&fixture.project, &holder("run")).expect_err("held by the child");
    assert!(fault.message.contains(&format!("process {}", child.id())), "{}", fault.message);
    child.kill();

    assert!(fixture.project.state_dir().join("holder.json").exists(), "it had no time to clean up");
    assert_eq!(ProjectLock::holder(&fixture.project), None);
    let _lock = ProjectLock::take(&fixture.project, &holder("run")).unwrap();
    assert_eq!(ProjectLock::holder(&fixture.project), Some(holder("run")));
}

/// `autonoe status` and `autonoe mcp` query the lock while others start.
#[test]
fn queries_never_make_a_free_project_look_locked() {
    let fixture = StoreFixture::new();
    drop(ProjectLock::take(&fixture.project, &holder("run")).unwrap());
    let (queries, done) = (AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if ProjectLock::holder(&fixture.project).is_none() {
                        queries.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let (mut taken, mut refused) = (0, 0);
        while taken + refused < 20 || queries.load(Ordering::Relaxed) < 100 {
            match ProjectLock::take(&fixture.project, &holder("run")) {
                Ok(_) => taken += 1,
                Err(_) => refused += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(refused, 0, "of {taken}");
    });
}

/// The same directory, opened by a user with another state directory.
fn with_other_state(fixture: &StoreFixture, directory: &Path) -> Project {
    Project::open(directory, &fixture.dir.path().join("other-state")).unwrap()
}

#[test]
fn another_state_directory_does_not_give_a_second_lock() {
    let fixture = StoreFixture::new();
    let other = with_other_state(&fixture, fixture.project.root());
    let lock = ProjectLock::take(&fixture.project, &holder("run")).unwrap();
    let fault = ProjectLock::take(&other, &holder("run")).expect_err("held from the first state directory");
    assert_eq!(fault.code, "project_locked");
    if Path::new("/proc/locks").exists() {
        let us = format!("process {}", std::process::id());
        assert!(fault.message.contains(&us), "it names the holder: {}", fault.message);
    }
    assert_eq!(ProjectLock::status(&fixture.project), LockStatus::By(holder("run")));
    assert!(
        matches!(ProjectLock::status(&other), LockStatus::Unknown { .. }),
        "{:?}",
        ProjectLock::status(&other)
    );
    drop(lock);
    assert_eq!(ProjectLock::status(&other), LockStatus::Free);
    let _lock = ProjectLock::take(&other, &holder("run")).unwrap();
    ProjectLock::take(&fixture.project, &holder("run")).expect_err("held from the second state directory");
}

#[test]
fn a_link_to_the_project_leads_to_the_same_lock() {
    let fixture = StoreFixture::new();
    let link = fixture.dir.path().join("link");
    symlink(fixture.project.root(), &link).unwrap();
    let _lock = ProjectLock::take(&fixture.project, &holder("run")).unwrap();
    ProjectLock::take(&with_other_state(&fixture, &link), &holder("run")).expect_err("held");
}

#[test]
fn a_project_inside_another_is_locked_with_it() {
    let fixture = StoreFixture::new();
    let inside = |name: &str| {
        let directory = fixture.project.root().join(name);
        fs::create_dir_all(&directory).unwrap();
        with_other_state(&fixture, &directory)
    };
    let (one, other) = (inside("packages/one"), inside("packages/other"));
    fs::write(fixture.project.root().join("SPEC.md"), "# Spec\n").unwrap();

    let around = ProjectLock::take(&fixture.project, &holder("run")).unwrap();
    let fault = ProjectLock::take(&one, &holder("run")).expect_err("the project around it is held");
    assert!(fault.message.contains(&fixture.project.root().display().to_string()), "{}", fault.message);
    drop(around);

    let _one = ProjectLock::take(&one, &holder("run")).unwrap();
    let _other = ProjectLock::take(&other, &holder("run")).expect("sibling projects do not block each other");
    let fault = ProjectLock::take(&fixture.project, &holder("run")).expect_err("projects in it are held");
    assert_eq!(fault.code, "project_locked");
    assert!(matches!(ProjectLock::status(&fixture.project), LockStatus::Unknown { .. }));
}

#[test]
fn a_locked_parent_directory_that_is_not_a_project_is_ignored() {
    let fixture = StoreFixture::new();
    let around = File::open(fixture.dir.path()).unwrap();
    around.lock().unwrap();
    let _lock = ProjectLock::take(&fixture.project, &holder("run")).unwrap();
}

/// Read access to the directory is enough to lock it.
#[test]
fn a_read_only_directory_can_be_locked() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = StoreFixture::new();
    fs::set_permissions(fixture.project.root(), fs::Permissions::from_mode(0o555)).unwrap();
    let other = with_other_state(&fixture, fixture.project.root());
    let _lock = ProjectLock::take(&fixture.project, &holder("run")).unwrap();
    ProjectLock::take(&other, &holder("run")).expect_err("held");
    fs::set_permissions(fixture.project.root(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_child_does_not_keep_the_lock() {
    let fixture = StoreFixture::new();
    let lock = ProjectLock::take(&fixture.project, &holder("run")).unwrap();
    let mut child = Command::new("sleep").arg("300").spawn().unwrap();
    drop(lock);
    let taken = ProjectLock::take(&with_other_state(&fixture, fixture.project.root()), &holder("run"));
    child.kill().unwrap();
    child.wait().unwrap();
    taken.expect("the child has not inherited it");
}

/// `flock DIRECTORY autonoe run` passes us the lock that it took.
#[test]
fn a_process_started_with_the_lock_may_work() {
    let fixture = StoreFixture::new();
    let mut flock = Command::new("flock");
    flock.arg("--nonblock").arg(fixture.project.root());
    let Some(child) = VictimProcess::start_by(flock, &fixture, "hold_the_lock") else {
        eprintln!("skipped: flock is not installed");
        return;
    };
    child.await_line("held");
}

fn agent(fixture: &StoreFixture, name: &str, resumed: Option<i64>) -> Result<AgentLock, Fault> {
    AgentLock::take(&fixture.project, name, resumed, holder(&format!("agent run {name}")))
}

#[test]
fn agents_work_beside_each_other_and_beside_one_run() {
    let fixture = StoreFixture::new();
    fs::create_dir_all(fixture.project.autonoe_dir()).unwrap();
    let one = agent(&fixture, "one", None).unwrap();
    let again = agent(&fixture, "one", None).unwrap();
    let two = agent(&fixture, "two", None).unwrap();
    assert_eq!([one.slot(), again.slot(), two.slot()], ["agent-one-1", "agent-one-2", "agent-two-1"]);
    let run = ProjectLock::take_for(&fixture.project, &holder("run"), ProjectUse::Deliverables).unwrap();
    let fault = ProjectLock::take_for(&fixture.project, &holder("run"), ProjectUse::Deliverables);
    assert!(fault.expect_err("held").message.contains("in use by `autonoe run`"));
    let elsewhere = with_other_state(&fixture, fixture.project.root());
    ProjectLock::take_for(&elsewhere, &holder("run"), ProjectUse::Deliverables)
        .expect_err("one run at a time, also with another state directory");
    drop(run);

    let fault = ProjectLock::take(&fixture.project, &holder("run")).expect_err("agents are at work");
    assert!(fault.message.contains("in use by `autonoe agent run"), "{fault}");
    ProjectLock::take(&elsewhere, &holder("run")).expect_err("also with another state directory");
    assert!(matches!(ProjectLock::status(&fixture.project), LockStatus::By(_)));
    drop((one, again, two));
    let _alone = ProjectLock::take(&fixture.project, &holder("run")).unwrap();
    let fault = agent(&fixture, "one", None).expect_err("someone works on the user's files");
    assert!(fault.message.contains("in use by `autonoe run`"), "{fault}");
}

#[test]
fn an_agent_is_resumed_in_its_own_workspace() {
    let fixture = StoreFixture::new();
    let first = agent(&fixture, "one", None).unwrap();
    let mut second = agent(&fixture, "one", None).unwrap();
    second.record_run(&fixture.project, 7).unwrap();
    let others = first.with_others(&fixture.project, Others::clone).unwrap();
    assert_eq!(others.agents, [AgentRecord { holder: holder("agent run one"), run: Some(7) }]);
    assert!(!others.is_empty() && !others.has_project_lock);
    let fault = agent(&fixture, "one", Some(7)).expect_err("it is at work");
    assert!(fault.message.contains("still in progress"), "{fault}");
    drop((first, second));
    assert_eq!(agent(&fixture, "one", Some(7)).unwrap().slot(), "agent-one-2");
    assert_eq!(agent(&fixture, "one", None).unwrap().slot(), "agent-one-1");
}
