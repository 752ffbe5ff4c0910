//! The project lock: one writer, and a dead one never stands in the way.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use autonoe_store::{Holder, ProjectLock};

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
