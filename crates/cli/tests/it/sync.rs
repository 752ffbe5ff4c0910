//! `autonoe sync`: first the deliverables, until that succeeds; then verification, which survives a restart.

use super::support::{CliTestProject, assert_script_followed, model};

/// A model that creates A and B in the sync phase and then verifies one deliverable per session: A passes, B does not.
pub fn verifier() -> String {
    let mut script = String::from(
        r#"
        [[conversation]]
        name = "sync"
        when = "in line with the specification"
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__create", input = { deliverables = [
            { id = "A", description = "thing A", acceptanceCriteria = ["a works"] },
            { id = "B", description = "thing B", acceptanceCriteria = ["b works"] },
          ] } }]
          [[conversation.turn]]
          text = "In line."
        "#,
    );
    for (id, status) in [("A", "passed"), ("B", "pending")] {
        script.push_str(&verify(id, status));
    }
    script
}

/// A verify conversation for when `id` is the first unverified deliverable.
fn verify(id: &str, status: &str) -> String {
    format!(
        r#"
        [[conversation]]
        name = "verify {id}"
        when = ["what is really true", "Not verified yet, in order of priority:\n- `{id}`"]
          [[conversation.turn]]
          call = [
            {{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "{status}" }} }},
            {{ tool = "mcp__autonoe__verify", input = {{ deliverableId = "{id}" }} }},
          ]
          [[conversation.turn]]
          expect = "{id} marked as verified"
          text = "Looked at {id}."
        "#
    )
}

#[test]
fn seed_002_9_5_not_exists_creates_all_then_verifies() {
    let (project, model) = (CliTestProject::new(), model(&verifier()));
    let run = project.run(&model, &["sync"]);
    run.assert_ended("all_verified", 0);
    assert_eq!(run.sessions(), ["sync", "verify", "verify"]);
    assert_eq!(project.statuses(), [("A".into(), "passed"), ("B".into(), "pending")]);
    assert_eq!((&run.outcome()["verified"], &run.outcome()["verified_total"]), (&2.into(), &2.into()));
    assert!(run.stderr.contains("Every deliverable was reviewed against the code."), "{}", run.stderr);
    assert_script_followed(&model);
}

#[test]
fn seed_002_9_5_new_added_removed_deprecated_existing_verified() {
    let project = CliTestProject::with_status(&[("OLD", "passed"), ("A", "passed")]);
    let check = r#"{ "checks": [{ "name": "old", "deliverable": "OLD", "run": "test -f old" }] }"#;
    project.write(".autonoe/checks.json", check);
    let model = model(&format!(
        r#"
        [[conversation]]
        when = "in line with the specification"
          [[conversation.turn]]
          call = [{{ tool = "mcp__autonoe__list", input = {{ limit = 50 }} }}]
          [[conversation.turn]]
          expect = ["OLD", '"total":2']
          call = [
            {{ tool = "mcp__autonoe__deprecate", input = {{ deliverableId = "OLD" }} }},
            {{ tool = "mcp__autonoe__create", input = {{ deliverables = [
              {{ id = "B", description = "thing B", acceptanceCriteria = ["b works"] }} ] }} }},
          ]
          [[conversation.turn]]
          expect = "'old' is for OLD, which is deprecated"
          text = "In line."
        {}{}"#,
        verify("A", "pending"),
        verify("B", "passed"),
    ));
    let run = project.run(&model, &["sync"]);
    run.assert_ended("all_verified", 0);
    let status = project.read(".autonoe/status.json");
    assert!(status.contains("\"deprecatedAt\""), "the removed deliverable is marked and kept: {status}");
    assert_eq!(
        project.statuses(),
        [("OLD".into(), "passed"), ("A".into(), "pending"), ("B".into(), "passed")],
        "a passed deliverable that no longer works is reset"
    );
    assert_eq!(run.outcome()["deliverables_total"], 2, "deprecated deliverables do not count");
    // Their checks are not forgotten, whatever becomes of them.
    let clause = "Your check 'old' is for OLD, which is deprecated";
    assert!(run.stderr.contains(&format!("{clause}; `autonoe verify` runs it")), "{}", run.stderr);
    for command in ["status", "report"] {
        let output = project.autonoe(None).arg(command).output().expect("started");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(clause), "{command}: {said}");
    }
    assert_script_followed(&model);
}

#[test]
fn the_sync_instruction_is_repeated_until_it_succeeds() {
    let project = CliTestProject::new();
    let script = format!(
        "[[conversation]]\nwhen = 'in line with the specification'\nplays = 1\n[[conversation.turn]]\n\
         fault = {{ kind = 'status', status = 400, message = 'broken' }}\n{}",
        verifier()
    );
    let model = model(&script);
    let run = project.run(&model, &["sync"]);
    run.assert_ended("all_verified", 0);
    assert_eq!(run.sessions(), ["sync", "sync", "verify", "verify"]);
}

#[test]
fn verification_survives_a_restart_and_starts_over_with_a_changed_spec() {
    let (project, model) = (CliTestProject::new(), model(&verifier()));
    let run = project.run(&model, &["sync", "-n", "2"]);
    run.assert_ended("max_iterations", 4);
    let run = project.run(&model, &["sync", "-n", "2"]);
    run.assert_ended("all_verified", 0);
    assert_eq!(run.sessions(), ["verify"], "A was verified before");
    assert_script_followed(&model);

    project.write("SPEC.md", "# Another specification\n");
    let model = super::support::model(&verifier());
    let run = project.run(&model, &["sync", "-n", "1"]);
    assert_eq!(run.sessions(), ["sync"], "everything is verified again");
}

#[test]
fn seed_002_9_7_sync_writes_the_note_and_nothing_else() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(
        r#"
        [[conversation]]
        when = "in line with the specification"
          [[conversation.turn]]
          call = [
            { tool = "Write", input = { file_path = "src.txt", content = "x" } },
            { tool = "Write", input = { file_path = ".autonoe/status.json", content = "{}" } },
            { tool = "Edit", input = { file_path = "SPEC.md", old_string = "A", new_string = "B" } },
            { tool = "Write", input = { file_path = ".autonoe-note.md", content = "seen" } },
            { tool = "Read", input = { file_path = "SPEC.md" } },
            { tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } },
          ]
          [[conversation.turn]]
          expect = ["may write only .autonoe-note.md", "Build three things", "There is no tool"]
          text = "done"
        "#,
    );
    let run = project.run(&model, &["sync", "-n", "1"]);
    assert_eq!(run.sessions(), ["sync"]);
    assert!(!project.path("src.txt").exists());
    assert_eq!(project.read(".autonoe-note.md"), "seen");
    assert!(project.read("SPEC.md").contains("A, B and C"));
    assert_eq!(project.statuses(), [("A".into(), "pending")]);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"] == "paths").count();
    assert_eq!(denied, 3);
    assert_script_followed(&model);
}
