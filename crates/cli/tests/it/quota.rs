//! Out of quota: ending, waiting, being interrupted, continuing after a restart.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use rustix::process::Signal;

use super::support::{CliTestProject, RunOutput, always, model, signal};

/// A model whose quota resets at the given Unix time.
pub fn out_of_quota(resets_at: i64) -> String {
    always(&format!(
        "[[conversation.turn]]\nfault = {{ kind = 'status', status = 429, message = 'usage limit', times = 99, headers = {{ \
         'anthropic-ratelimit-unified-status' = 'rejected', 'anthropic-ratelimit-unified-reset' = '{resets_at}' }} }}\n\
         [[conversation.turn]]\ntext = 'never'"
    ))
}

#[test]
fn waiting_is_shown_interruptible_and_continues_after_a_restart() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&out_of_quota(4_102_444_800));
    for expected_requests in [1, 1] {
        let mut command = project.command(&model, &["run", "--wait-for-quota"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let waiting = lines
            .by_ref()
            .map(|line| line.expect("read"))
            .find(|line| line.contains("\"waiting\""))
            .expect("it waits");
        assert!(waiting.contains("\"until\":\"2100-01-01T00:01:00Z\""), "{waiting}");
        assert!(waiting.contains("\"resets_at\":\"2100-01-01T00:00:00Z\""), "{waiting}");
        signal(&child, Signal::INT);
        let rest: Vec<String> = lines.map(|line| line.expect("read")).collect();
        assert_eq!(child.wait().expect("ended").code(), Some(130));
        assert!(rest.last().expect("outcome").contains("\"outcome\":\"interrupted\""), "{rest:?}");
        assert_eq!(model.requests().len(), expected_requests, "the second run waits without a model request");
    }
}

#[test]
fn waiting_is_printed_once_with_its_duration() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&out_of_quota(4_102_444_800));
    let mut command = project.autonoe(Some(&model));
    command.args([
        "run",
        "--backend",
        "native",
        "--wait-for-quota",
        "--max-duration",
        "2500ms",
        "--session-delay",
        "0s",
    ]);
    let output = command.output().expect("started");
    assert_eq!(output.status.code(), Some(4));
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(out.matches("Quota exceeded, waiting").count(), 1, "{out}");
    assert!(out.contains("Quota resets at: Fri 1 Jan 00:00 UTC (in "), "{out}");
}

#[test]
fn a_run_that_does_not_wait_prints_the_reset_time() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&out_of_quota(4_102_444_800));
    let run = project.run(&model, &["run"]);
    run.assert_ended("quota_exceeded", 5);
    assert!(run.stderr.contains("It resets Fri 1 Jan 00:00 UTC (in "), "{}", run.stderr);
    // Within an hour of midnight it is a whole number of days.
    assert!(run.stderr.contains(" d ") || run.stderr.contains(" d)"), "{}", run.stderr);
}

#[test]
fn a_reset_that_has_passed_waits_only_the_margin() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&out_of_quota(jiff::Timestamp::now().as_second() - 5));
    let mut child = project
        .command(&model, &["run", "--wait-for-quota"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let waiting = lines.find(|line| line.contains("\"waiting\"")).expect("it waits");
    signal(&child, Signal::TERM);
    child.wait().expect("ended");
    let event: serde_json::Value = serde_json::from_str(&waiting).expect("JSON");
    assert!(event["remaining_seconds"].as_f64().expect("number") <= 60.0, "{event}");
}

#[test]
fn the_vendors_quota_message_is_recognized() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(
        "[[conversation.turn]]\nfault = { kind = 'status', status = 429, message = \"You've hit your weekly limit · resets Jan 12, 10:59am (Asia/Tokyo)\" }\n\
         [[conversation.turn]]\ntext = 'never'",
    ));
    let run: RunOutput = project.run(&model, &["run"]);
    run.assert_ended("quota_exceeded", 5);
    assert!(run.stderr.contains("--wait-for-quota"), "{}", run.stderr);
}
