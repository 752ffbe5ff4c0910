//! The project lock: one writer, and a dead one never stands in the way.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use autonoe_store::{Held, Holder, Project, ProjectLock};

use crate::killed::Child;
use crate::support::Bench;

pub fn holder(command: &str) -> Holder {
    Holder {
        pid: std::process::id(),
        command: command.to_owned(),
        since: "2026-01-02T12:00:00Z".parse().unwrap(),
        socket: Some("/run/autonoe.sock".into()),
    }
}

#[test]
fn a_second_one_is_told_who_holds_it() {
    let bench = Bench::new();
    let _lock = ProjectLock::take(&bench.project, &holder("sync")).unwrap();
    let fault = ProjectLock::take(&bench.project, &holder("run")).expect_err("held");
    assert_eq!(fault.code, "project_locked");
    assert!(fault.message.contains("autonoe sync"), "{}", fault.message);
    assert!(fault.message.contains(&std::process::id().to_string()), "{}", fault.message);
    assert!(fault.message.contains("2026-01-02T12:00:00Z"), "{}", fault.message);
    assert_eq!(ProjectLock::holder(&bench.project), Some(holder("sync")), "the second one left no trace");
}

#[test]
fn a_free_project_has_no_holder_and_can_be_taken_again() {
    let bench = Bench::new();
    assert_eq!(ProjectLock::holder(&bench.project), None, "never taken");
    for command in ["run", "sync"] {
        let lock = ProjectLock::take(&bench.project, &holder(command)).unwrap();
        assert_eq!(ProjectLock::holder(&bench.project), Some(holder(command)));
        drop(lock);
        assert_eq!(ProjectLock::holder(&bench.project), None);
    }
}

#[test]
fn projects_do_not_share_a_lock() {
    let (one, other) = (Bench::new(), Bench::new());
    let _one = ProjectLock::take(&one.project, &holder("run")).unwrap();
    let _other = ProjectLock::take(&other.project, &holder("run")).unwrap();
}

#[test]
fn an_unreadable_holder_file_does_not_hide_that_it_is_held() {
    let bench = Bench::new();
    let _lock = ProjectLock::take(&bench.project, &holder("run")).unwrap();
    fs::write(bench.project.state_dir().join("holder.json"), "garbage").unwrap();
    let fault = ProjectLock::take(&bench.project, &holder("run")).expect_err("held");
    assert_eq!(fault.code, "project_locked");
    assert!(fault.message.contains("another autonoe process"), "{}", fault.message);
}

#[test]
fn a_killed_holder_never_blocks() {
    let bench = Bench::new();
    let child = Child::start(&bench, "hold_the_lock");
    child.await_line("held");
    let fault = ProjectLock::take(&bench.project, &holder("run")).expect_err("held by the child");
    assert!(fault.message.contains(&format!("process {}", child.id())), "{}", fault.message);
    child.kill();

    assert!(bench.project.state_dir().join("holder.json").exists(), "it had no time to tidy up");
    assert_eq!(ProjectLock::holder(&bench.project), None);
    let _lock = ProjectLock::take(&bench.project, &holder("run")).unwrap();
    assert_eq!(ProjectLock::holder(&bench.project), Some(holder("run")));
}

/// `autonoe status` and `autonoe mcp` look while others start.
#[test]
fn being_looked_at_never_makes_a_free_project_look_held() {
    let bench = Bench::new();
    drop(ProjectLock::take(&bench.project, &holder("run")).unwrap());
    let (looks, done) = (AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if ProjectLock::holder(&bench.project).is_none() {
                        looks.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let (mut taken, mut refused) = (0, 0);
        while taken + refused < 20 || looks.load(Ordering::Relaxed) < 100 {
            match ProjectLock::take(&bench.project, &holder("run")) {
                Ok(_) => taken += 1,
                Err(_) => refused += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(refused, 0, "of {taken}");
    });
}

/// The same directory, as a user with another state directory opens it.
fn seen_from_elsewhere(bench: &Bench, directory: &Path) -> Project {
    Project::open(directory, &bench.dir.path().join("other-state")).unwrap()
}

#[test]
fn another_state_directory_does_not_give_a_second_lock() {
    let bench = Bench::new();
    let other = seen_from_elsewhere(&bench, bench.project.root());
    let lock = ProjectLock::take(&bench.project, &holder("run")).unwrap();
    let fault = ProjectLock::take(&other, &holder("run")).expect_err("held from the first state directory");
    assert_eq!(fault.code, "project_locked");
    if Path::new("/proc/locks").exists() {
        let us = format!("process {}", std::process::id());
        assert!(fault.message.contains(&us), "it names the holder: {}", fault.message);
    }
    assert_eq!(ProjectLock::held(&bench.project), Held::By(holder("run")));
    assert!(matches!(ProjectLock::held(&other), Held::Unknown { .. }), "{:?}", ProjectLock::held(&other));
    drop(lock);
    assert_eq!(ProjectLock::held(&other), Held::Free);
    let _lock = ProjectLock::take(&other, &holder("run")).unwrap();
    ProjectLock::take(&bench.project, &holder("run")).expect_err("held from the second state directory");
}

#[test]
fn a_link_to_the_project_leads_to_the_same_lock() {
    let bench = Bench::new();
    let link = bench.dir.path().join("link");
    symlink(bench.project.root(), &link).unwrap();
    let _lock = ProjectLock::take(&bench.project, &holder("run")).unwrap();
    ProjectLock::take(&seen_from_elsewhere(&bench, &link), &holder("run")).expect_err("held");
}

#[test]
fn a_project_inside_another_is_locked_with_it() {
    let bench = Bench::new();
    let inside = |name: &str| {
        let directory = bench.project.root().join(name);
        fs::create_dir_all(&directory).unwrap();
        seen_from_elsewhere(&bench, &directory)
    };
    let (one, other) = (inside("packages/one"), inside("packages/other"));
    fs::write(bench.project.root().join("SPEC.md"), "# Spec\n").unwrap();

    let around = ProjectLock::take(&bench.project, &holder("run")).unwrap();
    let fault = ProjectLock::take(&one, &holder("run")).expect_err("the project around it is held");
    assert!(fault.message.contains(&bench.project.root().display().to_string()), "{}", fault.message);
    drop(around);

    let _one = ProjectLock::take(&one, &holder("run")).unwrap();
    let _other = ProjectLock::take(&other, &holder("run")).expect("neighbours do not disturb each other");
    let fault = ProjectLock::take(&bench.project, &holder("run")).expect_err("projects in it are held");
    assert_eq!(fault.code, "project_locked");
    assert!(matches!(ProjectLock::held(&bench.project), Held::Unknown { .. }));
}

#[test]
fn a_directory_around_that_is_no_project_is_nobodys_business() {
    let bench = Bench::new();
    let around = File::open(bench.dir.path()).unwrap();
    around.lock().unwrap();
    let _lock = ProjectLock::take(&bench.project, &holder("run")).unwrap();
}

/// Anyone who may read the directory can ask for its lock, whether they may write it or not.
#[test]
fn a_directory_that_cannot_be_written_is_locked_all_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    fs::set_permissions(bench.project.root(), fs::Permissions::from_mode(0o555)).unwrap();
    let other = seen_from_elsewhere(&bench, bench.project.root());
    let _lock = ProjectLock::take(&bench.project, &holder("run")).unwrap();
    ProjectLock::take(&other, &holder("run")).expect_err("held");
    fs::set_permissions(bench.project.root(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_child_does_not_keep_the_lock() {
    let bench = Bench::new();
    let lock = ProjectLock::take(&bench.project, &holder("run")).unwrap();
    let mut child = Command::new("sleep").arg("300").spawn().unwrap();
    drop(lock);
    let taken = ProjectLock::take(&seen_from_elsewhere(&bench, bench.project.root()), &holder("run"));
    child.kill().unwrap();
    child.wait().unwrap();
    taken.expect("the child has not inherited it");
}

/// `flock DIRECTORY autonoe run` hands us the lock that it took.
#[test]
fn who_was_started_with_the_lock_in_hand_may_work() {
    let bench = Bench::new();
    let mut flock = Command::new("flock");
    flock.arg("--nonblock").arg(bench.project.root());
    let Some(child) = Child::start_by(flock, &bench, "hold_the_lock") else {
        eprintln!("skipped: flock is not installed");
        return;
    };
    child.await_line("held");
}
