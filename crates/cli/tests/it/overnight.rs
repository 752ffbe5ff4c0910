//! A night of a roadmap: tasks that other words, another vendor and another approach unstick, one that nothing helps, and a harness that is
//! killed again and again.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::Value;

use super::codex;
use super::support::{CliTestProject, RunOutput, assert_no_processes_left, builds, model, signal};

const ORDINARY: usize = 23;
const KILLS: u64 = 50;

/// 30 tasks. Nothing helps with `bad`, and two wait for it.
fn roadmap() -> String {
    let mut text = "# Roadmap: Night\n\n## Tasks\n".to_owned();
    for number in 1..=ORDINARY {
        let depends =
            if number > 5 { format!("t{}, t{}", number - 5, number - 3) } else { "none".to_owned() };
        text += &format!(
            "- [ ] **t{number}**: Make part {number}\n  - depends: {depends}\n  - check: `test -f t{number}.txt`\n"
        );
    }
    for (id, depends) in [("nudged", "t1"), ("mutated", "nudged"), ("escalated", "t2"), ("branched", "t3")] {
        text += &format!(
            "- [ ] **{id}**: Make the {id} thing\n  - depends: {depends}\n  - stuck_after: 1\n  - check: `test -f {id}.txt`\n"
        );
    }
    text + "- [ ] **bad**: Do what cannot be done\n  - max_retries: 1\n  - max_iterations: 1\n  - check: `test -f never.txt`\n\
            - [ ] **after**: Go on\n  - depends: bad\n- [ ] **last**: Go on further\n  - depends: after\n"
}

/// A killed session may have committed.
fn build(id: &str, phrases: &[&str]) -> String {
    builds(id, phrases)
        .replace("command = \"echo", &format!("command = \"git log --format=%s | grep -qx {id} || echo"))
        .replace("expect = \"marked as passed\"\n", "")
}

fn idle(id: &str) -> String {
    format!(
        "[[conversation]]\nname = 'idle {id}'\nwhen = 'the task `{id}`'\n[[conversation.turn]]\ntext = 'I looked around.'\n"
    )
}

/// What the native agent gets to read.
fn own_script() -> String {
    let words = "[[conversation]]\nname = 'words'\nwhen = ['you improve its description', 'the mutated thing']\n\
                 [[conversation.turn]]\ntext = '{\"task\": \"Make it with a hammer.\"}'\n\
                 [[conversation]]\nname = 'no words'\nwhen = 'you improve its description'\n\
                 [[conversation.turn]]\ntext = 'No.'\n[[conversation.turn]]\ntext = 'No.'\n";
    let mut script = words.to_owned();
    script += &(1..=ORDINARY).map(|number| build(&format!("t{number}"), &[])).collect::<String>();
    script += &build("nudged", &["Do not repeat what was tried"]);
    script += &build("mutated", &["Make it with a hammer."]);
    script + &["nudged", "mutated", "escalated", "branched", "bad"].map(idle).concat()
}

fn others_script() -> String {
    // The second approach is another vendor's.
    let tries = build("branched", &["Work from the top down"]) + &build("escalated", &[]);
    codex::with_own_tool_names(&tries) + &idle("branched")
}

fn counted<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    items.into_iter().fold(BTreeMap::new(), |mut counts, item| {
        *counts.entry(item).or_default() += 1;
        counts
    })
}

#[test]
fn a_night_with_fifty_kills_ends_with_the_right_roadmap() {
    let Some(codex) = codex::codex() else { return };
    let project = CliTestProject::empty().in_workspace();
    project.write("ROADMAP.md", &roadmap());
    let project = project.in_repository();
    let directory = project.home().join(".config/autonoe");
    std::fs::create_dir_all(&directory).expect("directory");
    std::fs::write(directory.join("config.toml"), "[recovery]\nladder = ['codex/gpt-5']\n").expect("written");
    let (own, others) = (model(&own_script()), model(&others_script()));
    let harness = || -> Command {
        let mut command = codex.command(&project, &own, &["harness", "run", "--backend", "native"]);
        command.env("OPENAI_BASE_URL", others.base_url());
        command
    };
    // Times that differ, and are the same each time.
    let mut random = 20_261_117_u64;
    for _ in 0..KILLS {
        let mut child = harness().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(100 + (random >> 33) % 900));
        signal(&child, Signal::KILL);
        child.wait().expect("ended");
    }
    let run = RunOutput::from(harness().output().expect("started"));
    run.assert_ended("tasks_blocked", 3);
    assert_no_processes_left(&project);

    let all: Vec<String> = (1..=ORDINARY).map(|number| format!("t{number}")).collect();
    let all: Vec<&str> =
        all.iter().map(String::as_str).chain(["nudged", "mutated", "escalated", "branched"]).collect();
    let boxes = all
        .iter()
        .fold(roadmap(), |text, id| text.replace(&format!("[ ] **{id}**"), &format!("[x] **{id}**")));
    assert_eq!(project.read("ROADMAP.md"), boxes);
    let chains = run.outcome()["chains"].to_string();
    for chain in ["bad failed in its only attempt", "after waits for bad", "last waits for after"] {
        assert!(chains.contains(chain), "{chains}");
    }
    let subjects = project.git(&["log", "--format=%s"]);
    let marked: Vec<&str> = subjects
        .lines()
        .filter_map(|line| line.strip_prefix("Mark the task")?.strip_suffix(" as completed"))
        .flat_map(|names| names.split([' ', ',']))
        .collect();
    let (built, marked) = (counted(subjects.lines()), counted(marked));
    for id in &all {
        assert_eq!((built.get(id), marked.get(id)), (Some(&1), Some(&1)), "{id}: {subjects}");
    }
    assert_eq!(project.git(&["status", "--porcelain", "--untracked-files=no"]), "");

    let alerts: Vec<Value> = project
        .read(".harness/roadmap/alerts.log")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let ids = counted(alerts.iter().map(|alert| alert["id"].to_string()));
    assert!(ids.values().all(|count| *count == 1), "{ids:?}");
    let of_kind = |kind: &'static str| alerts.iter().filter(move |alert| alert["type"] == kind);
    let completed = counted(of_kind("task_completed").map(|alert| alert["context"]["task"].to_string()));
    assert_eq!((completed.len(), completed.values().max()), (all.len(), Some(&1)), "{completed:?}");
    assert_eq!((of_kind("task_blocked").count(), of_kind("goal_complete").count()), (1, 0));

    let journal = Connection::open(project.journal()).expect("journal");
    let mut query = journal
        .prepare(
            // Words of a model are there after a session of its own.
            "SELECT (SELECT s.instruction FROM sessions s WHERE s.run = e.run AND s.instruction LIKE 'coding %'
                     AND s.number <= json_extract(e.body, '$.number') ORDER BY s.number DESC LIMIT 1)
             || ' ' || json_extract(e.body, '$.name')
             FROM events e WHERE json_extract(e.body, '$.type') = 'remedy'",
        )
        .expect("a query");
    let remedies = query.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    let tried = counted(remedies.map(|remedy| remedy.expect("a remedy")));
    assert!(tried.values().all(|count| *count == 1), "none is tried twice: {tried:?}");
    assert_eq!(of_kind("stuck_recovery").count(), tried.len(), "an alert for each");
    for (id, helped) in [
        ("nudged", "nudge"),
        ("mutated", "rephrase"),
        ("escalated", "escalation"),
        ("branched", "exploration"),
    ] {
        assert!(tried.contains_key(&format!("coding {id} {helped}")), "{tried:?}");
    }
    assert!(
        !tried.contains_key("coding nudged rephrase") && !tried.contains_key("coding mutated decompose"),
        "{tried:?}"
    );
    let mut query = journal
        .prepare("SELECT instruction FROM sessions WHERE json_extract(outcome, '$.outcome') = 'completed'")
        .expect("a query");
    let sessions: Vec<String> =
        query.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a name")).collect();
    let sessions = counted(sessions);
    for id in &all[..ORDINARY] {
        assert!(sessions.get(&format!("coding {id}")).is_none_or(|count| *count == 1), "{id}: {sessions:?}");
    }
}
