//! Every way a child can end, and that nothing of it remains.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use autonoe_sandbox::KEEP_ARG;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::tempdir;

use crate::support::{KEEPER, THREE_DESCENDANTS, assert_gone, is_running, pid_in, script, three, until};

fn pid(raw: u32) -> Pid {
    Pid::from_raw(i32::try_from(raw).unwrap()).unwrap()
}

#[tokio::test]
async fn what_the_program_left_behind_ends_with_it() {
    let dir = tempdir().unwrap();
    let text = format!("{THREE_DESCENDANTS} exit 3");
    let status = script(dir.path(), &text).spawn().unwrap().wait().await.unwrap();
    assert_eq!(status.code(), Some(3));
    // Already gone when the keeper has exited: no waiting here.
    for pid in three(dir.path()) {
        assert!(!is_running(pid), "process {pid} outlived its keeper");
    }
}

#[tokio::test]
async fn stop_ends_everything() {
    let dir = tempdir().unwrap();
    let text = format!("trap '' TERM; {THREE_DESCENDANTS} sleep 300");
    let mut child = script(dir.path(), &text).spawn().unwrap();
    let pids = three(dir.path());
    assert!(pids.iter().all(|&pid| is_running(pid)));
    let status = child.stop().await.unwrap();
    assert_eq!(status.code(), Some(137), "it ignored SIGTERM");
    for pid in pids {
        assert!(!is_running(pid), "process {pid} outlived its keeper");
    }
}

#[tokio::test]
async fn a_program_may_clean_up_when_told_to_stop() {
    let dir = tempdir().unwrap();
    let text = "trap 'echo clean > cleaned; exit 9' TERM; echo $$ > a; while :; do sleep 0.01; done";
    let mut child = script(dir.path(), text).spawn().unwrap();
    pid_in(&dir.path().join("a"));
    assert_eq!(child.stop().await.unwrap().code(), Some(9));
    assert!(dir.path().join("cleaned").exists());
}

#[tokio::test]
async fn dropping_the_child_ends_everything() {
    let dir = tempdir().unwrap();
    let child = script(dir.path(), &format!("{THREE_DESCENDANTS} sleep 300")).spawn().unwrap();
    let pids = three(dir.path());
    drop(child);
    assert_gone(&pids);
}

#[tokio::test]
async fn each_ending_signal_ends_everything() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let dir = tempdir().unwrap();
        let text = format!("{THREE_DESCENDANTS} sleep 300");
        let mut child = script(dir.path(), &text).spawn().unwrap();
        let pids = three(dir.path());
        kill_process(pid(child.id().unwrap()), signal).unwrap();
        let status = child.wait().await.unwrap();
        assert_eq!(status.code(), Some(143), "{signal:?}");
        assert_eq!(status.signal(), None);
        assert_gone(&pids);
    }
}

#[tokio::test]
async fn a_keeper_suspended_by_its_charge_still_stops() {
    let dir = tempdir().unwrap();
    let text = "echo $$ > a; kill -STOP $PPID; sleep 300";
    let mut child = script(dir.path(), text).spawn().unwrap();
    let pids = [pid_in(&dir.path().join("a"))];
    child.stop().await.unwrap();
    assert_gone(&pids);
}

/// Not the keeper's doing any more: the orchestrator sees its death and finds who was in its session.
#[tokio::test]
async fn killing_the_keeper_does_not_help_its_charge() {
    let text = "(sleep 300 & echo $! > b); setsid sleep 300 & echo $! > c; echo $$ > a; \
                kill -KILL $PPID; sleep 300";
    for waited_for in [true, false] {
        let dir = tempdir().unwrap();
        let mut child = script(dir.path(), text).spawn().unwrap();
        let pids = three(dir.path());
        if waited_for {
            assert_eq!(child.wait().await.unwrap().signal(), Some(9));
        } else {
            let keeper = i32::try_from(child.id().unwrap()).unwrap();
            until("the keeper is killed", || !is_running(keeper));
            drop(child);
        }
        assert_gone(&pids);
    }
}

/// A shell plays the orchestrator, so that it can be killed without notice.
#[test]
fn killing_the_orchestrator_ends_everything() {
    let dir = tempdir().unwrap();
    let mut orchestrator = Command::new("sh")
        .args(["-c", r#""$0" "$1" --parent $$ -- sh -c "$2" & echo $! > keeper; wait"#])
        .args([KEEPER, KEEP_ARG, &format!("{THREE_DESCENDANTS} sleep 300")])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut pids = three(dir.path());
    pids.push(pid_in(&dir.path().join("keeper")));
    assert!(pids.iter().all(|&pid| is_running(pid)));
    kill_process(pid(orchestrator.id()), Signal::KILL).unwrap();
    orchestrator.wait().unwrap();
    assert_gone(&pids);
}

/// A keeper under a keeper: the inner one is told by the outer one, and everything ends.
#[tokio::test]
async fn keepers_nest() {
    let dir = tempdir().unwrap();
    let inner =
        format!("{KEEPER} {KEEP_ARG} --parent $$ -- sh -c '{}' & wait", "echo $$ > a; exec sleep 300");
    let mut child = script(dir.path(), &inner).spawn().unwrap();
    let pids = [pid_in(&dir.path().join("a"))];
    child.stop().await.unwrap();
    assert_gone(&pids);
}

/// Members that fork and exit all the time are caught, since their group is ended at once.
#[tokio::test]
async fn a_family_that_keeps_moving_is_caught() {
    let dir = tempdir().unwrap();
    let text = r#"
        cat > hop <<'END'
echo $$ > now.$$; mv now.$$ now
sh ./hop & exit
END
        setsid sh ./hop &
        while ! test -e now; do sleep 0.01; done
        echo $$ > a
        exit 0
    "#;
    let mut child = script(dir.path(), text).spawn().unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    let last = pid_in(&dir.path().join("now"));
    assert_gone(&[last]);
    std::fs::remove_file(dir.path().join("now")).unwrap();
    // Had one survived, it would write the file again at once.
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(!dir.path().join("now").exists(), "the family lives on");
    }
}
