//! A room that ends gives everybody in it a moment to put things away.

use std::path::Path;

use crate::support::{House, LAYERS, Orchestrator, running_with, until};

/// A program that says `ready-NAME`, and `cleaned-NAME` when it was asked to end. Nobody else sleeps for as long as `mark`.
fn tidy(name: &str, mark: &str) -> String {
    format!(
        "bash -c 'trap \"echo x > cleaned-{name}; exit\" TERM; echo x > ready-{name}; while :; do sleep 0.01; done # {mark}'"
    )
}

fn all_in(directory: &Path, kind: &str, names: &[&str]) -> bool {
    names.iter().all(|name| directory.join(format!("{kind}-{name}")).exists())
}

/// One in the background of an earlier command, in a session of its own too, and one that the last command waits for.
const NAMES: [&str; 3] = ["left", "apart", "waited"];

fn script(mark: &str) -> String {
    let [left, apart, waited] = NAMES.map(|name| tidy(name, mark));
    format!("{left} & setsid {apart} & {waited}")
}

#[tokio::test]
async fn programs_put_things_away_when_their_room_is_closed() {
    for layer in LAYERS {
        let Some(house) = House::held_by(layer, |_| {}).await else { continue };
        let (project, mark) = (house.project(), format!("close-{}-{}", layer.name(), std::process::id()));
        let [left, apart, waited] = NAMES.map(|name| tidy(name, &mark));
        house.run(&format!("{left} > /dev/null 2>&1 & setsid {apart} > /dev/null 2>&1 &")).await;
        let child = house.script(&waited).spawn().unwrap();
        until("all are ready", || all_in(&project, "ready", &NAMES));
        house.room.close().await;
        for name in NAMES {
            assert!(project.join(format!("cleaned-{name}")).exists(), "{layer:?}: {name} was not let end");
        }
        assert_eq!(running_with(&mark), 0, "{layer:?}");
        drop(child);
    }
}

#[tokio::test]
async fn programs_put_things_away_when_the_orchestrator_is_killed() {
    Orchestrator::play().await;
    for layer in LAYERS {
        let dir = tempfile::tempdir().unwrap();
        let (project, mark) =
            (dir.path().join("project"), format!("kill-{}-{}", layer.name(), std::process::id()));
        let test = "shutdown::programs_put_things_away_when_the_orchestrator_is_killed";
        let Some(orchestrator) = Orchestrator::start(test, layer, dir.path(), &script(&mark)) else {
            continue;
        };
        until("all are ready", || all_in(&project, "ready", &NAMES));
        orchestrator.kill();
        until("nothing runs any more", || running_with(&mark) == 0);
        for name in NAMES {
            assert!(project.join(format!("cleaned-{name}")).exists(), "{layer:?}: {name} was not let end");
        }
        until("what stood in is gone", || !project.join(".claude").exists());
    }
}

/// Git removes its lock files when it is asked to end, wherever it is.
#[tokio::test]
async fn what_a_program_leaves_behind_is_asked_first_too() {
    for layer in LAYERS {
        let Some(house) = House::held_by(layer, |_| {}).await else { continue };
        let left = tidy("left", &format!("leave-{}-{}", layer.name(), std::process::id()));
        let text = format!("setsid {left} & while ! test -e ready-left; do sleep 0.01; done");
        house.script(&text).spawn().unwrap().wait().await.unwrap();
        assert!(house.project().join("cleaned-left").exists(), "{layer:?}");
    }
}
