//! A run that is stuck unsticks itself: remedies between sessions, and a message within one.

use std::os::unix::process::ExitStatusExt;

use rusqlite::Connection;

use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, coding, model,
};

const REMEDIES: [&str; 6] = ["nudge", "rephrase", "decompose", "constrain", "examples", "negative"];

const IDLE: &str = "[[conversation.turn]]\ntext = 'I looked around.'\n";

/// Passes A when its prompt has this phrase.
fn unstuck_by(phrase: &str) -> String {
    let passes = coding("A", "passed").replace("\"one deliverable\",", &format!("\"{phrase}\","));
    assert!(passes.contains(phrase), "{passes}");
    passes
}

fn names(run: &RunOutput) -> Vec<&str> {
    run.of_type("remedy").map(|event| event["name"].as_str().expect("a name")).collect()
}

fn printed(project: &CliTestProject, args: &[&str]) -> String {
    let output = project.autonoe(None).args(args).output().expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn an_agent_that_does_nothing_is_unstuck_by_a_nudge() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&(unstuck_by("Do not repeat what was tried") + &always(IDLE)));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    // The first session says something new; three more do not.
    assert_eq!(run.sessions().len(), 5);
    assert_eq!(names(&run), ["nudge"]);
    let prompt =
        run.of_type("remedy").next().expect("a remedy")["prompt"].as_str().expect("a text").to_owned();
    assert!(prompt.contains("## What has been tried") && prompt.contains("I looked around."), "{prompt}");
    let scored: Vec<_> = run.of_type("progress").map(|event| event["verdict"].as_str()).collect();
    let (progressed, idle) = (Some("progressed"), Some("idle"));
    assert_eq!(scored, [progressed, idle, idle, idle, progressed]);
    assert!(
        run.stderr.contains("[STUCK] 3 sessions in a row made no progress; trying: nudge"),
        "{}",
        run.stderr
    );
    let listed = printed(&project, &["sessions", "list"]);
    assert!(listed.contains("Progress of run 1: ▃▁▁▁"), "{listed}");
    assert_script_followed(&model);
}

#[test]
fn an_agent_that_no_remedy_helps_ends_as_stuck_and_says_what_was_tried() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let run = project.run(&model(&always(IDLE)), &["run"]);
    run.assert_ended("stuck", 7);
    assert_eq!(names(&run), REMEDIES);
    assert_eq!(run.outcome()["tried"], serde_json::json!(REMEDIES));
    let tried = format!("made no progress. Tried: {}.", REMEDIES.join(", "));
    assert!(run.stderr.contains(&tried), "{}", run.stderr);
}

#[test]
fn a_limit_that_is_reached_with_the_last_remedy_is_the_outcome() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let run = project.run(&model(&always(IDLE)), &["run", "-n", "10"]);
    run.assert_ended("max_iterations", 4);
}

#[test]
fn an_agent_that_repeats_a_call_is_told_and_then_its_session_ends() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let again =
        "[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = 'cat missing.txt' } }]\n";
    // A result may be seen one turn later.
    let told = again.replace("call =", "expect = '5 times in a row'\ncall =");
    let turns = [again.repeat(9), told.repeat(11), IDLE.to_owned()].concat();
    let model = model(&always(&turns));
    let run = project.run(&model, &["run", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    let ends: Vec<_> = run.of_type("session_ended").collect();
    assert_eq!(ends[0]["outcome"], "stuck", "{}", ends[0]);
    assert!(ends[0]["reason"].as_str().expect("a reason").contains("15 times in a row"), "{}", ends[0]);
    assert_eq!(run.of_type("repetition_noticed").count(), 1);
    assert_eq!(run.of_type("tool_result").count(), 16);
    assert_eq!(run.of_type("user_message").count(), 0, "it is not the user's");
    assert_eq!(run.of_type("progress").map(|event| &event["verdict"]).collect::<Vec<_>>(), ["idle"]);
    for line in [
        "5 times in a row. The agent gets a message.",
        "15 times in a row, so the session was ended as stuck.",
    ] {
        assert!(run.stderr.contains(line), "{}", run.stderr);
    }
    assert!(printed(&project, &["sessions", "list"]).contains(" stuck "));
    assert!(printed(&project, &["sessions", "show", "1.1"]).contains("[STUCK]"));
    assert_no_processes_left(&project);
}

#[test]
fn a_call_whose_result_changes_may_be_repeated() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let poll = "[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = 'echo x >> log; wc -l < log' } }]\n";
    let model = model(&always(&(poll.repeat(20) + IDLE)));
    let run = project.run(&model, &["run", "-n", "1"]);
    assert_eq!(run.of_type("session_ended").next().expect("an end")["outcome"], "completed");
    assert_eq!(run.of_type("repetition_noticed").count(), 0);
    assert_script_followed(&model);
}

/// Killed at each save around the first remedy; the next process continues.
#[test]
fn a_killed_run_repeats_no_remedy() {
    for crash in ["plan-moved:4", "session-started:5", "session-ended:5", "plan-moved:5"] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let model = model(&(unstuck_by("The task in other words") + &always(IDLE)));
        let output =
            project.command(&model, &["run"]).env("AUTONOE_CRASH_AT", crash).output().expect("started");
        assert_eq!(output.status.signal(), Some(9), "{crash}: {}", String::from_utf8_lossy(&output.stderr));
        assert_no_processes_left(&project);
        let run = project.run(&model, &["run"]);
        run.assert_ended("all_passed", 0);
        let journal = Connection::open(project.journal()).expect("journal");
        let count = |query: &str| -> i64 { journal.query_row(query, [], |row| row.get(0)).expect("a count") };
        let completed =
            "SELECT COUNT(*) FROM sessions WHERE json_extract(outcome, '$.outcome') = 'completed'";
        assert_eq!(count(completed), 6, "{crash}: four idle sessions, the nudge and the other words");
        let nudges = "SELECT COUNT(*) FROM events WHERE json_extract(body, '$.type') = 'remedy'
                      AND json_extract(body, '$.name') = 'nudge'";
        assert!(count(nudges) <= 1, "{crash}");
        assert_script_followed(&model);
    }
}
