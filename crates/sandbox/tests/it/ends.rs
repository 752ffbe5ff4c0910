//! Every way a child can end, and that nothing of it remains.

use std::process::{Command, Stdio};

use autonoe_sandbox::{Exit, Layer};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{House, THREE_DESCENDANTS, assert_gone, is_running, pid_in, running_with, three, until};

#[tokio::test]
async fn what_the_program_left_behind_ends_with_it() {
    let house = House::open().await;
    let exit = house.script(&format!("{THREE_DESCENDANTS} exit 3")).spawn().unwrap().wait().await.unwrap();
    assert_eq!(exit, Exit::Code(3));
    // Already gone when the answer has come: no waiting here.
    for pid in three(&house.project()) {
        assert!(!is_running(pid), "process {pid} outlived its supervisor");
    }
}

#[tokio::test]
async fn what_may_stay_in_the_background_ends_with_the_room() {
    let house = House::open().await;
    let launch = house.script(&format!("{THREE_DESCENDANTS} exit 3")).leaving_background();
    assert_eq!(launch.spawn().unwrap().wait().await.unwrap(), Exit::Code(3));
    let pids = three(&house.project());
    house.done("true").await;
    assert!(pids.iter().all(|&pid| is_running(pid)), "the next command finds them");
    house.room.close().await;
    for pid in pids {
        assert!(!is_running(pid), "process {pid} outlived its room");
    }
}

#[tokio::test]
async fn stop_ends_everything() {
    let house = House::open().await;
    let text = format!("trap '' TERM; {THREE_DESCENDANTS} sleep 300");
    let mut child = house.script(&text).leaving_background().spawn().unwrap();
    let pids = three(&house.project());
    assert!(pids.iter().all(|&pid| is_running(pid)));
    assert_eq!(child.stop().await.unwrap(), Exit::Code(137), "it ignored SIGTERM");
    for pid in pids {
        assert!(!is_running(pid), "process {pid} outlived its supervisor");
    }
    house.done("true").await;
}

#[tokio::test]
async fn a_program_may_clean_up_when_told_to_stop() {
    let house = House::open().await;
    let text = "trap 'echo clean > cleaned; exit 9' TERM; echo $$ > a; while :; do sleep 0.01; done";
    let mut child = house.script(text).spawn().unwrap();
    pid_in(&house.project().join("a"));
    assert_eq!(child.stop().await.unwrap(), Exit::Code(9));
    assert!(house.project().join("cleaned").exists());
}

#[tokio::test]
async fn dropping_the_child_ends_everything() {
    let house = House::open().await;
    let child = house.script(&format!("{THREE_DESCENDANTS} sleep 300")).spawn().unwrap();
    let pids = three(&house.project());
    drop(child);
    assert_gone(&pids);
}

#[tokio::test]
async fn dropping_the_room_ends_everything() {
    let house = House::open().await;
    let child = house.script(&format!("{THREE_DESCENDANTS} sleep 300")).spawn().unwrap();
    let pids = three(&house.project());
    drop(house.room);
    assert_gone(&pids);
    drop(child);
}

#[tokio::test]
async fn each_ending_signal_to_the_supervisor_ends_everything() {
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        let house = House::open().await;
        let text = format!("{THREE_DESCENDANTS} kill -{signal} $PPID; sleep 300");
        let exit = house.script(&text).spawn().unwrap().wait().await.unwrap();
        assert_eq!(exit, Exit::Code(143), "{signal}");
        assert_gone(&three(&house.project()));
    }
}

#[tokio::test]
async fn a_charge_that_suspends_its_supervisor_loses_its_room() {
    let house = House::open().await;
    let mut child = house.script("echo $$ > a; kill -STOP $PPID; sleep 300").spawn().unwrap();
    let pids = [pid_in(&house.project().join("a"))];
    child.stop().await.unwrap_err();
    assert!(!house.room.is_open());
    assert_gone(&pids);
}

/// Not the supervisor's doing any more: the room sees its death and finds who was in its session.
#[tokio::test]
async fn killing_the_supervisor_does_not_help_its_charge() {
    let house = House::open().await;
    let text = "(sleep 300 & echo $! > b); setsid sleep 300 & echo $! > c; echo $$ > a; \
                kill -KILL $PPID; sleep 300";
    let mut child = house.script(text).spawn().unwrap();
    let pids = three(&house.project());
    let error = child.wait().await.unwrap_err().to_string();
    assert!(error.starts_with("something killed the process that watches it"), "{error}");
    assert_eq!(house.room.why_lost().await, None);
    assert_gone(&pids);
    house.done("true").await;
}

#[tokio::test]
async fn killing_the_room_ends_everything() {
    let house = House::open().await;
    let text = format!("{THREE_DESCENDANTS} kill -KILL $(ps -o ppid= -p $PPID); sleep 300");
    let mut child = house.script(&text).spawn().unwrap();
    let pids = three(&house.project());
    let error = child.wait().await.unwrap_err().to_string();
    assert!(error.starts_with("something killed the room with SIGKILL"), "{error}");
    assert_eq!(house.room.why_lost().await, Some(error));
    assert_gone(&pids);
    until("the room is known to be gone", || {
        std::thread::yield_now();
        !house.room.is_open() || house.script("true").spawn().is_err()
    });
}

/// The orchestrator is a process of its own here, so that it can be killed without notice: this very test, run by
/// itself with a variable that says so.
#[tokio::test]
async fn killing_the_orchestrator_ends_everything() {
    const LAYER: &str = "AUTONOE_TEST_ORCHESTRATOR";
    const NAME: &str = "ends::killing_the_orchestrator_ends_everything";
    if let Ok(layer) = std::env::var(LAYER) {
        let (layer, mark) = layer.split_once(' ').unwrap();
        let layer = if layer == "Bubblewrap" { Layer::Bubblewrap } else { Layer::None };
        let Some(house) = House::held_by(layer, |_| {}).await else {
            println!("skipped");
            return;
        };
        let text = format!("(setsid sh -c 'exec sleep {mark}' &); sleep {mark}; sleep {mark}");
        let _child = house.script(&text).spawn().unwrap();
        std::future::pending::<()>().await;
    }
    for layer in ["None", "Bubblewrap"] {
        // Nobody else sleeps for as long as this.
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
            running_with(&sleeping) == 2 || orchestrator.try_wait().is_ok_and(|ended| ended.is_some())
        });
        kill_process(Pid::from_child(&orchestrator), Signal::KILL).unwrap();
        orchestrator.wait().unwrap();
        until("nothing sleeps any more", || running_with(&sleeping) == 0);
    }
}

/// Members that fork and exit all the time are caught, since their group is ended at once.
#[tokio::test]
async fn a_family_that_keeps_moving_is_caught() {
    let house = House::open().await;
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
    let mut child = house.script(text).spawn().unwrap();
    assert_eq!(child.wait().await.unwrap(), Exit::Code(0));
    let now = house.project().join("now");
    assert_gone(&[pid_in(&now)]);
    std::fs::remove_file(&now).unwrap();
    // Had one survived, it would write the file again at once.
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(!now.exists(), "the family lives on");
    }
}
