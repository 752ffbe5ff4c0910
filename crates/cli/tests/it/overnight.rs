//! A night of a roadmap: tasks that other words, another vendor and another approach unstick, one that nothing helps, and a harness that is
//! killed again and again.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use rusqlite::Connection;
use rusqlite::types::FromSql;
use rustix::process::Signal;
use serde_json::Value;

use super::codex;
use super::support::{CliTestProject, RunOutput, assert_no_processes_left, builds, model, signal, until};
use super::webhook_receiver::{Answer, WebhookReceiver};

const ORDINARY: usize = 23;
const KILLS: usize = 50;

/// Tasks that get stuck, what each depends on, and the remedy that helps.
const STUCK: [(&str, &str, &str); 4] = [
    ("nudged", "t1", "nudge"),
    ("mutated", "nudged", "rephrase"),
    ("escalated", "t2", "escalation"),
    ("branched", "t3", "exploration"),
];

/// 30 tasks. Those that get stuck come early, so that they are killed, too. Nothing helps with `bad`, and two wait for it.
fn roadmap() -> String {
    let ordinary = |number: usize| {
        let depends =
            if number > 5 { format!("t{}, t{}", number - 5, number - 3) } else { "none".to_owned() };
        format!(
            "- [ ] **t{number}**: Make part {number}\n  - depends: {depends}\n  - check: `test -f t{number}.txt`\n"
        )
    };
    let mut text = "# Roadmap: Night\n\n## Tasks\n".to_owned();
    text.extend((1..=3).map(ordinary));
    for (id, depends, _) in STUCK {
        text += &format!(
            "- [ ] **{id}**: Make the {id} thing\n  - depends: {depends}\n  - stuck_after: 1\n  - check: `test -f {id}.txt`\n"
        );
    }
    text.extend((4..=ORDINARY).map(ordinary));
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

/// Lets a process begin one to three sessions and kills it some events later, so that it dies within a session or soon after.
fn kill_at_work(mut harness: Command, random: &mut impl FnMut(u64) -> u64) {
    let mut child = harness.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let events = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let (mut sessions, mut further) = ([1, 1, 2, 2, 3][random(5) as usize], random(6));
    for event in events {
        let event: Value = serde_json::from_str(&event.expect("a line")).expect("JSON");
        assert_ne!(event["type"], "outcome", "the night is too short: {event}");
        match (sessions, further) {
            (0, 0) => break,
            (0, _) => further -= 1,
            _ => sessions -= u32::from(event["type"] == "session_started"),
        }
    }
    signal(&child, Signal::KILL);
    assert_eq!(child.wait().expect("ended").signal(), Some(9), "it was at work");
}

fn rows<T: FromSql>(journal: &Connection, query: &str) -> Vec<T> {
    let mut query = journal.prepare(query).expect("a query");
    query.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a row")).collect()
}

#[test]
fn a_night_with_fifty_kills_ends_with_the_right_roadmap() {
    let Some(codex) = codex::codex() else { return };
    let project = CliTestProject::empty().in_workspace();
    project.write("ROADMAP.md", &roadmap());
    let project = project.in_repository();
    let receiver = WebhookReceiver::start(&[Answer::Status(204)]);
    let directory = project.home().join(".config/autonoe");
    std::fs::create_dir_all(&directory).expect("directory");
    let events = "events = ['alert', 'progress', 'blocked']";
    let target = format!("[notify.targets.night]\nkind = 'webhook'\nurl = '{}'\n{events}\n", receiver.url);
    std::fs::write(directory.join("config.toml"), format!("[recovery]\nladder = ['codex/gpt-5']\n{target}"))
        .expect("written");
    let (own, others) = (model(&own_script()), model(&others_script()));
    let harness = || -> Command {
        let mut command = codex.command(&project, &own, &["harness", "run", "--backend", "native"]);
        command.env("OPENAI_BASE_URL", others.base_url());
        command
    };
    // Numbers that differ, and are the same each time.
    let mut state = 20_261_117_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..KILLS {
        kill_at_work(harness(), &mut random);
    }
    let run = RunOutput::from(harness().output().expect("started"));
    run.assert_ended("tasks_blocked", 3);
    assert_no_processes_left(&project);

    let all: Vec<String> = (1..=ORDINARY).map(|number| format!("t{number}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).chain(STUCK.map(|(id, ..)| id)).collect();
    assert_roadmap(&project, &run, &all);
    let journal = Connection::open(project.journal()).expect("journal");
    let remedies = assert_remedies(&journal);
    assert_sessions(&journal);
    let alerts = assert_alerts(&project, &journal, &remedies, all.len());
    let expected: usize = alerts.values().sum();
    until("all alerts are delivered", || delivered(&receiver).values().sum::<usize>() >= expected);
    assert_eq!(delivered(&receiver), alerts);
}

/// What was delivered about alerts. Who gets a message twice knows it by its id.
fn delivered(receiver: &WebhookReceiver) -> BTreeMap<(String, String), usize> {
    let messages: BTreeMap<String, (String, String)> = receiver
        .received()
        .iter()
        .filter(|message| ["alert", "progress"].contains(&message.event()))
        .map(|message| {
            let [id, title, text] =
                ["id", "title", "text"].map(|key| message.body[key].as_str().expect("a text"));
            let (_, title) = title.split_once(": ").expect("a project and a title");
            (id.to_owned(), (title.to_owned(), text.to_owned()))
        })
        .collect();
    counted(messages.into_values())
}

fn assert_roadmap(project: &CliTestProject, run: &RunOutput, all: &[&str]) {
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
    for id in all {
        assert_eq!((built.get(id), marked.get(id)), (Some(&1), Some(&1)), "{id}: {subjects}");
    }
    assert_eq!(project.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}

/// Each is tried once. Returns what was tried, by task.
fn assert_remedies(journal: &Connection) -> BTreeMap<String, usize> {
    let tried = rows::<String>(
        journal,
        "SELECT json_extract(body, '$.deliverable') || ' ' || json_extract(body, '$.name') FROM events
         WHERE json_extract(body, '$.type') = 'remedy'",
    );
    let tried = counted(tried);
    assert!(tried.values().all(|count| *count == 1), "none is tried twice: {tried:?}");
    let mutations = ["rephrase", "decompose", "constrain", "examples", "negative"];
    let mut expected: Vec<String> = Vec::new();
    let mut expect =
        |id: &str, names: &[&str]| expected.extend(names.iter().map(|name| format!("{id} {name}")));
    expect("nudged", &["nudge"]);
    expect("mutated", &["nudge", "rephrase"]);
    for (id, last) in [("escalated", &["escalation"][..]), ("branched", &["escalation", "exploration"])] {
        expect(id, &["nudge"]);
        expect(id, &mutations);
        expect(id, last);
    }
    expected.sort();
    assert_eq!(tried.keys().cloned().collect::<Vec<_>>(), expected);
    tried
}

/// Kills hit the tasks that get stuck, and no session that has ended is repeated.
fn assert_sessions(journal: &Connection) {
    let of = |operator: &str| {
        let is_killed = format!("json_extract(outcome, '$.outcome') {operator} 'interrupted'");
        counted(rows::<String>(journal, &format!("SELECT instruction FROM sessions WHERE {is_killed}")))
    };
    let (ended, killed) = (of("<>"), of("="));
    let count =
        |sessions: &BTreeMap<String, usize>, name: &str| sessions.get(name).copied().unwrap_or_default();
    assert!(killed.values().sum::<usize>() >= KILLS / 2, "kills interrupt work: {killed:?}");
    for (id, ..) in STUCK {
        assert!(count(&killed, &format!("coding {id}")) > 0, "{id}: {killed:?}");
    }
    let ordinary = (1..=ORDINARY).map(|number| (format!("t{number}"), 1));
    // The first session of each says something new, so that it is the second one that is stuck. Then one for each remedy, and in the
    // exploration those of two approaches.
    let stuck = [("nudged", 3), ("mutated", 4), ("escalated", 9), ("branched", 13), ("bad", 1)];
    for (id, expected) in ordinary.chain(stuck.map(|(id, expected)| (id.to_owned(), expected))) {
        let name = format!("coding {id}");
        // One that was killed after it had claimed the task need not be repeated.
        let settled = usize::from(count(&killed, &name) > 0);
        let ended = count(&ended, &name);
        assert!((expected - settled..=expected).contains(&ended), "{name}: {ended}, not {expected}");
    }
    // For the words of a remedy a model is asked once by each task that comes to it.
    for (remedy, expected) in
        [("rephrase", 3), ("decompose", 2), ("constrain", 2), ("examples", 2), ("negative", 2)]
    {
        assert_eq!(count(&ended, &format!("rewriting {remedy}")), expected, "{remedy}: {ended:?}");
    }
}

/// Each thing is said once. Returns what is delivered as alerts.
fn assert_alerts(
    project: &CliTestProject,
    journal: &Connection,
    remedies: &BTreeMap<String, usize>,
    completed: usize,
) -> BTreeMap<(String, String), usize> {
    let log = project.read(".harness/roadmap/alerts.log");
    let alerts: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ids = counted(alerts.iter().map(|alert| alert["id"].to_string()));
    assert!(ids.values().all(|count| *count == 1), "{ids:?}");
    let about = counted(alerts.iter().map(|alert| {
        let [kind, iteration, message] = ["type", "iteration", "message"].map(|key| alert[key].to_string());
        format!("{kind} {iteration} {} {message}", alert["context"]["task"])
    }));
    assert!(about.values().all(|count| *count == 1), "{about:?}");
    let of_kind = |kind: &'static str| alerts.iter().filter(move |alert| alert["type"] == kind);
    let tasks = |kind: &'static str| counted(of_kind(kind).map(|alert| alert["context"]["task"].to_string()));
    assert_eq!((tasks("task_completed").len(), of_kind("task_completed").count()), (completed, completed));
    assert_eq!(tasks("task_blocked"), BTreeMap::from([("\"bad\"".to_owned(), 1)]));
    let sessions: u32 = rows(journal, "SELECT max(number) FROM sessions")[0];
    let milestones: Vec<_> = of_kind("iteration_milestone").map(|alert| alert["iteration"].clone()).collect();
    assert_eq!(milestones, (1..=sessions / 10).map(|tens| Value::from(tens * 10)).collect::<Vec<_>>());
    let warned: Vec<String> = of_kind("stuck_recovery")
        .map(|alert| {
            let message = alert["message"].as_str().expect("a message").trim_end_matches('.');
            let (_, name) = message.split_once("trying: ").expect("a remedy");
            format!("{} {name}", alert["context"]["task"].as_str().expect("a task"))
        })
        .collect();
    assert_eq!(&counted(warned), remedies);
    let escalated = remedies.keys().filter(|remedy| remedy.ends_with(" escalation")).count();
    assert_eq!(of_kind("model_escalation").count(), escalated);
    // Two sessions in a row without progress, as the journal has them.
    let verdicts: Vec<String> = rows(
        journal,
        "SELECT json_extract(body, '$.verdict') FROM events WHERE json_extract(body, '$.type') = 'progress' ORDER BY id",
    );
    let mut idle = 0;
    let streaks = verdicts.iter().filter(|verdict| {
        idle = if *verdict == "idle" { idle + 1 } else { 0 };
        idle == 2
    });
    assert_eq!(of_kind("no_progress").count(), streaks.count());
    let ends = ["stuck_unrecoverable", "goal_complete", "fatal_error"].map(|kind| of_kind(kind).count());
    assert_eq!(ends, [1, 0, 0]);
    // The others have events of their own.
    let own = ["task_blocked", "stuck_unrecoverable"];
    let delivered = alerts.iter().filter(|alert| !own.iter().any(|kind| alert["type"] == *kind));
    counted(delivered.map(|alert| {
        let [kind, message] = ["type", "message"].map(|key| alert[key].as_str().expect("a text"));
        (kind.replace('_', " "), message.to_owned())
    }))
}
