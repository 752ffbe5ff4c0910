//! A room that ends gives its programs a moment to clean up.

use std::path::Path;

use autonoe_test_kit::{processes_with, until};

use crate::support::{LAYERS, Orchestrator, TestRoom};

/// A program that creates `ready-NAME`, and `cleaned-NAME` on SIGTERM. `mark` is unique to its command line.
fn cleans_up(name: &str, mark: &str) -> String {
    format!(
        "bash -c 'trap \"echo x > cleaned-{name}; exit\" TERM; echo x > ready-{name}; while :; do sleep 0.01; done # {mark}'"
    )
}

fn all_in(directory: &Path, kind: &str, names: &[&str]) -> bool {
    names.iter().all(|name| directory.join(format!("{kind}-{name}")).exists())
}

/// One program in the background, one in a session of its own, and one that the last command waits for.
const NAMES: [&str; 3] = ["left", "apart", "waited"];

fn script(mark: &str) -> String {
    let [left, apart, waited] = NAMES.map(|name| cleans_up(name, mark));
    format!("{left} & setsid {apart} & {waited}")
}

#[tokio::test]
async fn programs_clean_up_when_their_room_is_closed() {
    for layer in LAYERS {
        let Some(test_room) = TestRoom::with_layer(layer, |_| {}).await else { continue };
        let (project, mark) = (test_room.project(), format!("close-{}-{}", layer.name(), std::process::id()));
        let [left, apart, waited] = NAMES.map(|name| cleans_up(name, &mark));
        test_room.run(&format!("{left} > /dev/null 2>&1 & setsid {apart} > /dev/null 2>&1 &")).await;
        let child = test_room.script(&waited).spawn().unwrap();
        until("all are ready", || all_in(&project, "ready", &NAMES));
        test_room.room.close().await;
        for name in NAMES {
            assert!(project.join(format!("cleaned-{name}")).exists(), "{layer:?}: {name} did not clean up");
        }
        assert_eq!(processes_with(&[&mark]).len(), 0, "{layer:?}");
        drop(child);
    }
}

#[tokio::test]
async fn programs_clean_up_when_the_orchestrator_is_killed() {
    Orchestrator::run_if_requested().await;
    for layer in LAYERS {
        let dir = tempfile::tempdir().unwrap();
        let (project, mark) =
            (dir.path().join("project"), format!("kill-{}-{}", layer.name(), std::process::id()));
        let test = "shutdown::programs_clean_up_when_the_orchestrator_is_killed";
        let Some(orchestrator) = Orchestrator::start(test, layer, dir.path(), &script(&mark)) else {
            continue;
        };
        until("all are ready", || all_in(&project, "ready", &NAMES));
        orchestrator.kill();
        until("no program is running", || processes_with(&[&mark]).is_empty());
        for name in NAMES {
            assert!(project.join(format!("cleaned-{name}")).exists(), "{layer:?}: {name} did not clean up");
        }
        until("the placeholder is gone", || !project.join(".claude").exists());
    }
}

/// Git removes its lock files on SIGTERM, also when it runs in the background.
#[tokio::test]
async fn background_processes_receive_sigterm_too() {
    for layer in LAYERS {
        let Some(test_room) = TestRoom::with_layer(layer, |_| {}).await else { continue };
        let left = cleans_up("left", &format!("leave-{}-{}", layer.name(), std::process::id()));
        let text = format!("setsid {left} & while ! test -e ready-left; do sleep 0.01; done");
        test_room.script(&text).spawn().unwrap().wait().await.unwrap();
        assert!(test_room.project().join("cleaned-left").exists(), "{layer:?}");
    }
}
