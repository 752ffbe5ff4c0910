//! Every outcome of a run, with its exit code and JSON.

use std::process::Stdio;

use rustix::process::Signal;

use super::support::{CliTestProject, always, assert_script_followed, builder, coding, model, signal, until};

const IDLE: &str = "[[conversation.turn]]\ntext = 'Nothing to do.'";
const SILENT: &str = "[[conversation.turn]]\nfault = { kind = 'silence' }\n[[conversation.turn]]\ntext = 'x'";

fn fails_with(status: u16, message: &str) -> String {
    always(&format!(
        "[[conversation.turn]]\nfault = {{ kind = 'status', status = {status}, message = '{message}', times = 9999 }}\n\
         [[conversation.turn]]\ntext = 'never'"
    ))
}

#[test]
fn all_passed_exits_0() {
    let (project, model) = (CliTestProject::new(), model(&builder()));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["initializer", "coding", "coding", "coding"]);
    assert_eq!(project.statuses(), [("A".into(), "passed"), ("B".into(), "passed"), ("C".into(), "passed")]);
    let outcome = run.outcome();
    assert_eq!((&outcome["iterations"], &outcome["deliverables_passed"]), (&4.into(), &3.into()));
    assert!(outcome["cost_usd"].as_f64().expect("known price") > 0.0);
    assert_eq!(run.of_type("status_changed").count(), 3);
    assert_script_followed(&model);
}

#[test]
fn all_passed_with_a_blocked_one_exits_0() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = model(&(coding("A", "blocked") + &coding("B", "passed")));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.outcome()["deliverables_blocked"], 1);
    assert_script_followed(&model);
}

#[test]
fn seed_002_9_1_exists_all_passed_exits_at_once_without_a_session_or_a_key() {
    let project = CliTestProject::with_status(&[("A", "passed"), ("B", "blocked")]);
    let output =
        project.autonoe(None).args(["run", "--backend", "native", "--json"]).output().expect("started");
    let run = super::support::RunOutput::from(output);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), Vec::<&str>::new());
}

#[test]
fn all_blocked_exits_3() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "blocked")]);
    let model = model(&coding("A", "blocked"));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_blocked", 3);
    assert!(run.stderr.contains("All deliverables are blocked"), "{}", run.stderr);
    for reason in ["  A: no key; Ann has it\n", "  B: no reason was given; see .autonoe-note.md\n"] {
        assert!(run.stderr.contains(reason), "no {reason:?} in {}", run.stderr);
    }
    assert_script_followed(&model);
}

#[test]
fn max_iterations_exits_4() {
    let (project, model) = (CliTestProject::new(), model(&builder()));
    let run = project.run(&model, &["run", "-n", "2"]);
    run.assert_ended("max_iterations", 4);
    assert_eq!(run.sessions(), ["initializer", "coding"]);
    assert_eq!(project.statuses()[0].1, "passed", "finished work is kept");
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding", "coding"], "the next run continues");
    assert_script_followed(&model);
}

#[test]
fn budget_exceeded_exits_4_and_ends_the_session_that_caused_it() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(
        "[[conversation.turn]]\ntext = 'costly'\nusage = { input = 1000000, output = 10 }\n\
         call = [{ tool = 'Write', input = { file_path = 'late.txt', content = 'x' } }]\n\
         [[conversation.turn]]\ntext = 'never sent'",
    ));
    let run = project.run(&model, &["run", "--max-cost", "1.50", "--model", "claude-sonnet-5"]);
    run.assert_ended("budget_exceeded", 4);
    assert!(!project.path("late.txt").exists(), "nothing is done once the budget is spent");
    assert_eq!(model.requests().len(), 1);
    assert_eq!(run.outcome()["limit_usd"], 1.5);
}

#[test]
fn max_cost_with_an_unknown_price_exits_2() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let run =
        project.run(&model(&always(IDLE)), &["run", "--max-cost", "5", "--model", "model-without-a-price"]);
    run.assert_ended("failed", 2);
    assert_eq!(run.outcome()["fault"]["code"], "unknown_price");
}

#[test]
fn duration_exceeded_exits_4_and_ends_a_silent_session() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let run = project.run(&model(&always(SILENT)), &["run", "--max-duration", "1s"]);
    run.assert_ended("duration_exceeded", 4);
}

#[test]
fn quota_exceeded_exits_5() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(
        "[[conversation.turn]]\nfault = { kind = 'status', status = 429, message = 'usage limit', headers = { \
         'anthropic-ratelimit-unified-status' = 'rejected', 'anthropic-ratelimit-unified-reset' = '4102444800' } }\n\
         [[conversation.turn]]\ntext = 'never'",
    ));
    let run = project.run(&model, &["run"]);
    run.assert_ended("quota_exceeded", 5);
    assert_eq!(run.outcome()["resets_at"], "2100-01-01T00:00:00Z");
    assert_eq!(run.outcome()["iterations"], 0, "a session that the quota ended does not count");
}

#[test]
fn max_retries_exceeded_exits_6() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let run = project.run(&model(&fails_with(400, "no such thing")), &["run", "--max-retries", "2"]);
    run.assert_ended("max_retries_exceeded", 6);
    assert_eq!(run.sessions().len(), 3, "one try and two retries");
    assert_eq!(run.of_type("retrying").count(), 2);
    assert!(run.stderr.contains("no such thing"), "{}", run.stderr);
}

#[test]
fn max_retries_0_means_none() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let run = project.run(&model(&fails_with(400, "no such thing")), &["run", "--max-retries", "0"]);
    run.assert_ended("max_retries_exceeded", 6);
    assert_eq!(run.sessions().len(), 1);
}

#[test]
fn stuck_exits_7() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let run = project.run(&model(&always(IDLE)), &["run"]);
    run.assert_ended("stuck", 7);
    let (asked, worked): (Vec<_>, Vec<_>) = run.sessions().into_iter().partition(|name| *name == "rewriting");
    assert_eq!((worked.len(), asked.len()), (10, 5));
}

#[test]
fn interrupted_exits_130() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(SILENT));
    let mut command = project.command(&model, &["run"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the model was asked", || !model.requests().is_empty());
    signal(&child, Signal::INT);
    let run = super::support::RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("interrupted", 130);
}

#[test]
fn a_bad_key_ends_the_run_at_once_with_a_hint() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&fails_with(401, "invalid x-api-key"));
    let run = project.run(&model, &["run"]);
    run.assert_ended("failed", 2);
    assert_eq!(model.requests().len(), 1, "no retry fixes a bad key");
    assert!(run.stderr.contains("ANTHROPIC_API_KEY"), "{}", run.stderr);
}

#[test]
fn an_unknown_model_ends_the_run_at_once_with_a_hint() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&fails_with(404, "model: nonsense"));
    let run = project.run(&model, &["run", "--model", "nonsense"]);
    run.assert_ended("failed", 2);
    assert_eq!(model.requests().len(), 1);
    assert!(run.stderr.contains("--model"), "{}", run.stderr);
}

#[test]
fn an_initializer_that_creates_nothing_is_a_fault() {
    let project = CliTestProject::new();
    let run = project.run(&model(&always(IDLE)), &["run", "--max-retries", "1"]);
    run.assert_ended("max_retries_exceeded", 6);
    assert_eq!(run.sessions(), ["initializer", "initializer"]);
    assert_eq!(run.outcome()["fault"]["code"], "no_deliverables");
}

#[test]
fn a_status_file_without_active_deliverables_is_a_fault() {
    let project = CliTestProject::with_status(&[]);
    let run = project.run(&model(&always(IDLE)), &["run"]);
    run.assert_ended("failed", 2);
    assert_eq!(run.outcome()["fault"]["code"], "no_active_deliverables");
    assert_eq!(run.sessions(), Vec::<&str>::new());
}

#[test]
fn model_service_faults_are_retried() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let mut script = String::from("[[conversation]]\n");
    for fault in ["{ kind = 'status', status = 529 }", "{ kind = 'cut' }", "{ kind = 'malformed' }"] {
        script.push_str(&format!("[[conversation.turn]]\nfault = {fault}\n"));
    }
    script.push_str(
        "[[conversation.turn]]\ncall = [{ tool = 'mcp__autonoe__set_status', input = { deliverableId = 'A', status = 'passed' } }]\n\
         [[conversation.turn]]\nfault = { kind = 'status', status = 429, retry_after = 1 }\n[[conversation.turn]]\ntext = 'done'",
    );
    let model = model(&script);
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("trouble").count(), 4, "each failure was reported");
    assert_script_followed(&model);
}
