//! Every way in which a child can end, and that none of its processes survives.

use std::process::{Command, Stdio};

use autonoe_sandbox::{Exit, SandboxLayer};
use rustix::process::{Pid, Signal, kill_process};

use autonoe_test_kit::{assert_gone, is_running, pid_in, processes_with, until};

use crate::support::{THREE_DESCENDANTS, TestRoom, three};

#[tokio::test]
async fn descendants_are_killed_when_the_program_exits() {
    let test_room = TestRoom::open().await;
    let exit =
        test_room.script(&format!("{THREE_DESCENDANTS} exit 3")).spawn().unwrap().wait().await.unwrap();
    assert_eq!(exit, Exit::Code(3));
    // They must be gone when the report arrives, so this does not wait.
    for pid in three(&test_room.project()) {
        assert!(!is_running(pid), "process {pid} outlived its supervisor");
    }
}

#[tokio::test]
async fn background_processes_are_killed_with_the_room() {
    let test_room = TestRoom::open().await;
    let launch = test_room.script(&format!("{THREE_DESCENDANTS} exit 3")).leaving_background();
    assert_eq!(launch.spawn().unwrap().wait().await.unwrap(), Exit::Code(3));
    let pids = three(&test_room.project());
    test_room.succeeds("true").await;
    assert!(pids.iter().all(|&pid| is_running(pid)), "they are still there for the next command");
    test_room.room.close().await;
    for pid in pids {
        assert!(!is_running(pid), "process {pid} outlived its room");
    }
}

#[tokio::test]
async fn stop_kills_everything() {
    let test_room = TestRoom::open().await;
    let text = format!("trap '' TERM; {THREE_DESCENDANTS} sleep 300");
    let mut child = test_room.script(&text).leaving_background().spawn().unwrap();
    let pids = three(&test_room.project());
    assert!(pids.iter().all(|&pid| is_running(pid)));
    assert_eq!(child.stop().await.unwrap(), Exit::Code(137), "it ignored SIGTERM");
    for pid in pids {
        assert!(!is_running(pid), "process {pid} outlived its supervisor");
    }
    test_room.succeeds("true").await;
}

#[tokio::test]
async fn a_program_can_clean_up_when_it_is_stopped() {
    let test_room = TestRoom::open().await;
    let text = "trap 'echo clean > cleaned; exit 9' TERM; echo $$ > a; while :; do sleep 0.01; done";
    let mut child = test_room.script(text).spawn().unwrap();
    pid_in(&test_room.project().join("a"));
    assert_eq!(child.stop().await.unwrap(), Exit::Code(9));
    assert!(test_room.project().join("cleaned").exists());
}

#[tokio::test]
async fn dropping_the_child_kills_everything() {
    let test_room = TestRoom::open().await;
    let child = test_room.script(&format!("{THREE_DESCENDANTS} sleep 300")).spawn().unwrap();
    let pids = three(&test_room.project());
    drop(child);
    assert_gone(&pids);
}

#[tokio::test]
async fn dropping_the_room_kills_everything() {
    let test_room = TestRoom::open().await;
    let child = test_room.script(&format!("{THREE_DESCENDANTS} sleep 300")).spawn().unwrap();
    let pids = three(&test_room.project());
    drop(test_room.room);
    assert_gone(&pids);
    drop(child);
}

/// A program that a check judges could otherwise choose the exit code of its judge.
#[tokio::test]
async fn no_stop_signal_from_the_room_decides_how_a_program_ends() {
    let test_room = TestRoom::open().await;
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        let text = format!("trap 'exit 0' TERM; kill -{signal} $PPID; sleep 0.2; exit 7");
        let exit = test_room.script(&text).spawn().unwrap().wait().await.unwrap();
        assert_eq!(exit, Exit::Code(7), "{signal}");
    }
}

#[tokio::test]
async fn a_program_that_suspends_its_supervisor_loses_its_room() {
    let test_room = TestRoom::open().await;
    let mut child = test_room.script("echo $$ > a; kill -STOP $PPID; sleep 300").spawn().unwrap();
    let pids = [pid_in(&test_room.project().join("a"))];
    child.stop().await.unwrap_err();
    assert!(!test_room.room.is_open());
    assert_gone(&pids);
}

/// The room notices that the supervisor was killed and kills the processes in its session.
#[tokio::test]
async fn a_program_that_kills_its_supervisor_is_killed_too() {
    let test_room = TestRoom::open().await;
    let text = "(sleep 300 & echo $! > b); setsid sleep 300 & echo $! > c; echo $$ > a; \
                kill -KILL $PPID; sleep 300";
    let mut child = test_room.script(text).spawn().unwrap();
    let pids = three(&test_room.project());
    let error = child.wait().await.unwrap_err().to_string();
    assert!(error.starts_with("its supervisor was killed"), "{error}");
    assert_eq!(test_room.room.why_lost().await, None);
    assert_gone(&pids);
    test_room.succeeds("true").await;
}

#[tokio::test]
async fn killing_the_room_kills_everything() {
    let test_room = TestRoom::open().await;
    let text = format!("{THREE_DESCENDANTS} kill -KILL $(ps -o ppid= -p $PPID); sleep 300");
    let mut child = test_room.script(&text).spawn().unwrap();
    let pids = three(&test_room.project());
    let error = child.wait().await.unwrap_err().to_string();
    assert!(error.starts_with("the room was killed by SIGKILL"), "{error}");
    assert_eq!(test_room.room.why_lost().await, Some(error));
    assert_gone(&pids);
    until("the room is known to be gone", || {
        std::thread::yield_now();
        !test_room.room.is_open() || test_room.script("true").spawn().is_err()
    });
}

/// The orchestrator is a separate process here, so that it can be killed: this test, started again with an environment
/// variable.
#[tokio::test]
async fn killing_the_orchestrator_kills_everything() {
    const LAYER: &str = "AUTONOE_TEST_ORCHESTRATOR";
    const NAME: &str = "termination::killing_the_orchestrator_kills_everything";
    if let Ok(layer) = std::env::var(LAYER) {
        let (layer, mark) = layer.split_once(' ').unwrap();
        let layer = if layer == "Bubblewrap" { SandboxLayer::Bubblewrap } else { SandboxLayer::None };
        let Some(test_room) = TestRoom::with_layer(layer, |_| {}).await else {
            println!("skipped");
            return;
        };
        let text = format!("(setsid sh -c 'exec sleep {mark}' &); sleep {mark}; sleep {mark}");
        let _child = test_room.script(&text).spawn().unwrap();
        std::future::pending::<()>().await;
    }
    for layer in ["None", "Bubblewrap"] {
        // No other process sleeps for this number of seconds.
        let mark = format!("3{:06}", std::process::id() * 2 + u32::from(layer == "None"));
        let mut orchestrator = Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture"])
            .env(LAYER, format!("{layer} {mark}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let sleeping = format!("sleep\0{mark}");
        until("both sleep", || {
            processes_with(&[&sleeping]).len() == 2
                || orchestrator.try_wait().is_ok_and(|ended| ended.is_some())
        });
        kill_process(Pid::from_child(&orchestrator), Signal::KILL).unwrap();
        orchestrator.wait().unwrap();
        until("no process sleeps", || processes_with(&[&sleeping]).is_empty());
    }
}

/// Processes that keep forking and exiting are caught, since their whole group is killed at once.
#[tokio::test]
async fn processes_that_keep_forking_are_killed() {
    let test_room = TestRoom::open().await;
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
    let mut child = test_room.script(text).spawn().unwrap();
    assert_eq!(child.wait().await.unwrap(), Exit::Code(0));
    let now = test_room.project().join("now");
    assert_gone(&[pid_in(&now)]);
    std::fs::remove_file(&now).unwrap();
    // A survivor would write the file again at once.
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(!now.exists(), "a process survived");
    }
}
