//! Programs that are not agents and print for ever: a few lines are shown, then the session fails.

use super::support::{CliTestProject, RunOutput, always, assert_no_processes_left, model};

#[test]
fn endless_junk_is_shown_in_part_and_fails_the_session() {
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    for (command, words) in [
        ("acp:yes", "The last one: y"),
        ("acp:yes '{}'", "The agent 'acp' printed 10001 lines"),
        ("acp:yes 'some long line of a log'", "some long line of a log"),
    ] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let mut run = project.command(&model, &["run", "--max-retries", "0", "--backend", command]);
        let run = RunOutput::from(run.output().expect("started"));
        run.assert_ended("max_retries_exceeded", 6);
        let message = run.outcome()["fault"]["message"].as_str().expect("a message");
        assert!(message.contains(words) && message.contains("10001 lines"), "{message}");
        let shown = run.of_type("trouble").count();
        assert!(shown <= 6, "{shown} lines were shown");
        assert!(run.stderr.lines().count() < 40, "{}", run.stderr);
        assert_no_processes_left(&project);
    }
}
