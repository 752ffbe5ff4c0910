//! What an agent claims comes home, or does not pass.

use super::support::{assert_script_followed, claims_after, model};
use super::workspaces::{landings, project};

#[test]
fn what_is_claimed_without_checks_is_kept_although_the_repository_is_damaged_afterwards() {
    let project = project();
    let damage = r#"
      [[conversation.turn]]
      expect = "marked as passed"
      call = [{ tool = "Bash", input = { command = "rm -rf .git/objects" } }]
      [[conversation.turn]]
      text = "done"
    "#;
    let model = model(&claims_after("echo kept > kept-work.txt", damage));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_eq!(landings(&run), [("main", true)]);
    assert_eq!(project.read("kept-work.txt"), "kept\n");
}

#[test]
fn what_cannot_be_saved_does_not_pass_without_checks() {
    let project = project();
    let refused = "[[conversation.turn]]\nexpect = 'changes cannot be committed'\ntext = 'done'";
    let model = model(&claims_after("echo lost > lost.txt; mkdir .git/index.lock", refused));
    let run = project.run(&model, &["run", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    assert_script_followed(&model);
    assert_eq!(project.statuses(), [("A".to_owned(), "pending")]);
    // Afterwards nothing of the agent runs, so the lock is removed.
    assert_eq!(project.git(&["show", "autonoe/1:lost.txt"]), "lost");
}

#[test]
fn files_that_git_would_not_commit_by_itself_pass_only_if_they_come_home() {
    let project = project();
    let passed = "[[conversation.turn]]\nexpect = 'marked as passed'\ntext = 'done'";
    let sparse = "git sparse-checkout set --no-cone /SPEC.md; echo kept > work.txt";
    let run = project.run(&model(&claims_after(sparse, passed)), &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(project.read("work.txt"), "kept\n");

    let project = super::workspaces::project();
    let refused = "[[conversation.turn]]\nexpect = 'changes cannot be committed: odd'\ntext = 'done'";
    let filtered = "git config filter.x.clean false; git config filter.x.required true; echo odd filter=x > .git/info/attributes; echo x > odd";
    let model = model(&claims_after(filtered, refused));
    project.run(&model, &["run", "-n", "1"]).assert_ended("max_iterations", 4);
    assert_script_followed(&model);
    assert_eq!(project.statuses(), [("A".to_owned(), "pending")]);
}

#[test]
fn nothing_passes_that_cannot_come_home() {
    let project = project();
    let repaired = r#"
      [[conversation.turn]]
      expect = "cannot be used"
      call = [{ tool = "Bash", input = { command = "mv gone .git; touch b.txt; git add b.txt; git commit -qm b" } }]
      [[conversation.turn]]
      call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
      [[conversation.turn]]
      expect = "marked as passed"
      call = [{ tool = "Bash", input = { command = "rm -rf .git" } }]
      [[conversation.turn]]
      text = "done"
    "#;
    let model = model(&claims_after("mv .git gone", repaired));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_eq!(landings(&run), [("main", true)], "{}", run.stderr);
    assert!(project.path("b.txt").exists(), "what passed was fetched before");
}

#[test]
fn what_cannot_be_committed_is_named_and_the_rest_lands() {
    let project = project();
    let command = "mkdir nest .GIT; git -C nest init -q; touch nest/lost .GIT/lost; echo x > ok.txt; git add ok.txt; git commit -qm ok; touch left.txt";
    let model =
        model(&claims_after(command, "[[conversation.turn]]\nexpect = 'marked as passed'\ntext = 'done'"));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_eq!(landings(&run), [("main", true)]);
    assert!(project.path("ok.txt").exists() && project.path("left.txt").exists());
    assert!(run.of_type("trouble").any(|event| event.to_string().contains("nest/")), "{}", run.stderr);
    // Nothing of it prevents the next run.
    project.run(&model, &["run"]).assert_ended("all_passed", 0);
}
