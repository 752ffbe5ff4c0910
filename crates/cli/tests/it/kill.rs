//! The orchestrator is killed (SIGKILL) at every named journal point; the next run finishes with the same status, repeats no
//! finished session, and leaves no child and an intact journal.

use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use autonoe_scripted::ScriptedServer;
use autonoe_store::JournalPoint;
use rusqlite::Connection;
use rustix::process::Signal;

use super::declarative_agents::kill_agent_at;
use super::support::{
    CliTestProject, RunOutput, assert_no_processes_left, assert_script_followed, builder, coding, model,
    signal, until,
};
use super::{sync, workers};

/// An upper limit for the hits of one point in any of these runs.
const MAX_HITS: u32 = 200;

/// Kills a run of `args` at every hit of `point` in turn, each time in a fresh project, and lets the next run finish.
/// Returns the number of hits.
fn kill_at_every_hit(
    point: JournalPoint,
    args: &[&str],
    script: &str,
    check: impl Fn(&CliTestProject, &RunOutput),
) -> u32 {
    for hit in 1..MAX_HITS {
        // There are many kills, and a workspace takes time.
        let (project, model) = (CliTestProject::new(), model(script));
        if !killed(&project, &model, args, &format!("{}:{hit}", point.name())) {
            return hit - 1;
        }
        assert_no_processes_left(&project);
        let run = project.run(&model, args);
        check(&project, &run);
        assert_no_finished_session_twice(&project);
        assert_journal_intact(&project);
        assert_script_followed(&model);
    }
    panic!("{} has no end", point.name())
}

/// Runs until the crash point; false if the run ended first.
fn killed(project: &CliTestProject, model: &ScriptedServer, args: &[&str], crash: &str) -> bool {
    let output = project.command(model, args).env("AUTONOE_CRASH_AT", crash).output().expect("started");
    match output.status.signal() {
        Some(9) => true,
        Some(other) => panic!("signal {other} at {crash}"),
        None => {
            assert_eq!(output.status.code(), Some(0), "{crash}: {}", String::from_utf8_lossy(&output.stderr));
            false
        }
    }
}

/// A session that is recorded as completed is never run again: its deliverable occurs once.
fn assert_no_finished_session_twice(project: &CliTestProject) {
    let journal = Connection::open(project.journal()).expect("journal");
    let mut query = journal
        .prepare(
            "SELECT s.instruction || ' ' || (
                 SELECT group_concat(json_extract(e.body, '$.input')) FROM events e
                 WHERE e.run = s.run AND e.session = s.number AND json_extract(e.body, '$.type') = 'tool_call'
                   AND json_extract(e.body, '$.name') LIKE 'mcp__autonoe__%')
             FROM sessions s WHERE json_extract(s.outcome, '$.outcome') = 'completed'",
        )
        .expect("query");
    let finished = query.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    let mut sessions = HashSet::new();
    for session in finished.map(|row| row.expect("row")) {
        assert!(sessions.insert(session.clone()), "run twice: {session}");
    }
}

fn assert_journal_intact(project: &CliTestProject) {
    let journal = Connection::open(project.journal()).expect("journal");
    let check: String = journal.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("check");
    assert_eq!(check, "ok");
    let open: i64 = journal
        .query_row("SELECT COUNT(*) FROM runs WHERE ended_at IS NULL", [], |row| row.get(0))
        .expect("count");
    assert_eq!(open, 0, "every run has ended");
    let pending: i64 = journal
        .query_row("SELECT COUNT(*) FROM status_writes WHERE applied = 0", [], |row| row.get(0))
        .expect("count");
    assert_eq!(pending, 0, "every status change is applied");
}

fn kill_run_at(point: JournalPoint) {
    let hits = kill_at_every_hit(point, &["run"], &builder(), |project, run| {
        run.assert_ended("all_passed", 0);
        assert_eq!(
            project.statuses(),
            [("A".into(), "passed"), ("B".into(), "passed"), ("C".into(), "passed")]
        );
        if matches!(
            point,
            JournalPoint::StatusIntended | JournalPoint::StatusWritten | JournalPoint::StatusApplied
        ) {
            for id in ["A", "B", "C"] {
                assert_eq!(
                    project.read(&format!("work-{id}.txt")),
                    "built\n",
                    "no status change is lost, so {id} is built once"
                );
            }
        }
    });
    assert!(hits > 0, "{} was never met", point.name());
}

fn kill_sync_at(point: JournalPoint) {
    let hits = kill_at_every_hit(point, &["sync"], &sync::verifier(), |project, run| {
        run.assert_ended("all_verified", 0);
        assert_eq!(project.statuses(), [("A".into(), "passed"), ("B".into(), "pending")]);
    });
    assert!(hits > 0, "{} was never met", point.name());
}

/// Two workers, killed at the first and at the second commit that the queue takes: each is built and lands once.
fn kill_workers_at(point: JournalPoint) {
    for hit in [1, 2] {
        let project = workers::project(&[("A", "test -f A.txt"), ("B", "test -f B.txt && test -f A.txt")]);
        let mut status: serde_json::Value =
            serde_json::from_str(&project.read(".autonoe/status.json")).expect("JSON");
        // One after the other, so that each is taken by itself.
        status["deliverables"][1]["depends"] = serde_json::json!(["A"]);
        project.write(".autonoe/status.json", &status.to_string());
        let script = ["A", "B"].map(|id| workers::builds(id, &workers::commits(id), ""));
        let (args, model) = (["run", "--agents", "2"], model(&script.concat()));
        assert!(killed(&project, &model, &args, &format!("{}:{hit}", point.name())), "{}", point.name());
        assert_no_processes_left(&project);
        let run = project.run(&model, &args);
        run.assert_ended("all_passed", 0);
        workers::assert_all_verified(&project);
        assert_no_finished_session_twice(&project);
        assert_journal_intact(&project);
        let built = project.git(&["log", "--format=%s", "--no-merges", "main"]);
        assert_eq!(built, "Build B\nBuild A\nwork", "{} {hit}: {}", point.name(), run.stderr);
        assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    }
}

#[test]
fn run_started() {
    kill_run_at(JournalPoint::RunStarted);
}

#[test]
fn session_started() {
    kill_run_at(JournalPoint::SessionStarted);
}

#[test]
fn event_written() {
    kill_run_at(JournalPoint::EventWritten);
}

#[test]
fn cost_booked() {
    kill_run_at(JournalPoint::CostBooked);
}

#[test]
fn status_intended() {
    kill_run_at(JournalPoint::StatusIntended);
}

#[test]
fn status_written() {
    kill_run_at(JournalPoint::StatusWritten);
}

#[test]
fn status_applied() {
    kill_run_at(JournalPoint::StatusApplied);
}

#[test]
fn session_ending() {
    kill_run_at(JournalPoint::SessionEnding);
}

#[test]
fn session_ended() {
    kill_run_at(JournalPoint::SessionEnded);
}

#[test]
fn run_ending() {
    kill_run_at(JournalPoint::RunEnding);
}

#[test]
fn run_ended() {
    kill_run_at(JournalPoint::RunEnded);
}

#[test]
fn verified() {
    kill_sync_at(JournalPoint::Verified);
}

#[test]
fn plan_moving() {
    kill_agent_at(JournalPoint::PlanMoving);
}

#[test]
fn plan_moved() {
    kill_agent_at(JournalPoint::PlanMoved);
}

#[test]
fn merge_accepting() {
    kill_workers_at(JournalPoint::MergeAccepting);
}

#[test]
fn merge_recorded() {
    kill_workers_at(JournalPoint::MergeRecorded);
}

#[test]
fn merge_accepted() {
    kill_workers_at(JournalPoint::MergeAccepted);
}

#[test]
fn session_ended_in_sync() {
    kill_sync_at(JournalPoint::SessionEnded);
}

/// The quota point is only reached by a run that is out of quota; after a kill there, the next run waits for the same moment.
#[test]
fn quota_wait() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&super::quota::out_of_quota(4_102_444_800));
    let output =
        project.command(&model, &["run"]).env("AUTONOE_CRASH_AT", "quota-wait:1").output().expect("started");
    assert_eq!(output.status.signal(), Some(9));
    let until: String = Connection::open(project.journal())
        .and_then(|journal| journal.query_row("SELECT until FROM quota_waits", [], |row| row.get(0)))
        .expect("the wake-up time is in the journal");
    assert_eq!(until, "2100-01-01T00:01:00Z", "the reset and the margin");
}

/// The next process continues the same outage, and resumes the run once the service is back.
#[test]
fn outage() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let fault = "[[conversation.turn]]\nfault = { kind = 'status', status = 529, message = 'Overloaded', times = 4 }\n";
    let script = coding("A", "passed").replacen(
        "[[conversation.turn]]\n",
        &format!("{fault}[[conversation.turn]]\n"),
        1,
    );
    let model = model(&script);
    for hit in ["outage:1", "outage:1", "never"] {
        let mut command = project.command(&model, &["run"]);
        if hit != "never" {
            command.env("AUTONOE_CRASH_AT", hit);
        }
        let output = command.output().expect("started");
        if hit == "never" {
            assert_eq!(output.status.code(), Some(0));
        } else {
            assert_eq!(output.status.signal(), Some(9), "an outage");
        }
    }
    let outages: Vec<(u32, bool)> = Connection::open(project.journal())
        .and_then(|journal| {
            let mut query = journal.prepare("SELECT tries, ended_at IS NOT NULL FROM outages")?;
            query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
        .expect("readable");
    assert_eq!(outages, [(1, true)], "one outage, which is over");
    assert_eq!(project.statuses(), [("A".into(), "passed")]);
}

#[test]
fn every_journal_point_has_a_test() {
    let tests = include_str!("kill.rs");
    for point in JournalPoint::ALL {
        let name = format!("fn {}()", point.name().replace('-', "_"));
        assert!(tests.contains(&name), "no test for {}", point.name());
    }
}

/// A run that was killed after its end was recorded is not run again; whatever locks the project next removes its socket.
#[test]
fn the_socket_of_a_killed_run_is_removed() {
    let (project, model) = (CliTestProject::new(), model(&builder()));
    assert!(killed(&project, &model, &["run"], "run-ended:1"));
    let socket = project.journal().with_file_name("calls.sock");
    assert!(socket.exists());
    project.autonoe(None).args(["checks", "reject", "nothing"]).output().expect("started");
    assert!(!socket.exists());
}

#[test]
fn a_kill_during_a_command_leaves_no_process() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(
        "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = \
         'sleep 300 & (sleep 300 &) ; echo ready > ready.txt; sleep 300' } }]\n[[conversation.turn]]\ntext = 'x'",
    );
    let mut child = project
        .command(&model, &["run"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    until("the command runs", || project.agents_path("ready.txt").exists());
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    assert_no_processes_left(&project);
}
