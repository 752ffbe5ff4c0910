//! Completed tasks, their boxes and reviews, and what the user has of them.

use std::os::unix::process::ExitStatusExt;

use super::harness::{project, tasks};
use super::support::{assert_no_processes_left, builds, builds_with, model};

/// B breaks A, and the repair of A breaks B.
#[test]
fn a_task_that_was_broken_is_not_marked_as_completed() {
    let task = |id: &str| {
        format!("- [ ] **{id}**: Make {id}\n  - max_retries: 2\n  - check: `grep -q {id} v.txt`\n")
    };
    let project = project(&format!("## Tasks\n{}{}", task("a"), task("b"))).in_workspace();
    let writes = |id: &str| {
        builds(id, &[]).replace(
            &format!("echo done > {id}.txt && git add {id}.txt"),
            &format!("echo {id} > v.txt && git add v.txt"),
        )
    };
    let model = model(&(writes("a") + &writes("b")));
    let run = project.run(&model, &["harness", "run", "-n", "3"]);
    run.assert_ended("max_iterations", 4);
    let log = project.git(&["log", "--format=%s"]);
    assert!(log.contains("Mark the task a as completed") && !log.contains("Mark the task b"), "{log}");
    assert_eq!(project.git(&["show", "HEAD:v.txt"]), "a");
    let boxes = project.git(&["show", "HEAD:ROADMAP.md"]);
    assert!(boxes.contains("- [x] **a**") && boxes.contains("- [ ] **b**"), "{boxes}");
}

#[test]
fn a_box_that_we_check_in_the_users_checkout_leaves_the_task_verified() {
    let project = project("## Tasks\n- [ ] **list**: List the books\n  - check: `test -f list.txt`\n");
    let model = model(&builds("list", &[]));
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.outcome()["deliverables_verified"], 1, "{}", run.stderr);
    assert!(project.read("ROADMAP.md").contains("- [x] **list**"));
}

#[test]
fn a_task_that_was_settled_begins_anew_where_it_is_other_work() {
    let roadmap = "## Tasks\n- [ ] **a**: Do it\n  - max_iterations: 1\n  - max_retries: 1\n  - check: `test -f never`\n";
    let project = project(roadmap);
    let model = model(&super::support::always("[[conversation.turn]]\ntext = 'I looked around.'\n"));
    let run = |args: &[&str]| project.run(&model, &[&["harness", "run"], args].concat());
    run(&[]).assert_ended("tasks_blocked", 3);
    assert!(tasks(&run(&[])).is_empty(), "it is blocked");
    assert_eq!(tasks(&run(&["--fresh"])), ["a"]);
    assert!(tasks(&run(&[])).is_empty(), "it is blocked again");
    project.write("ROADMAP.md", &roadmap.replace("Do it", "Do it well"));
    assert_eq!(tasks(&run(&[])), ["a"]);
    // Another roadmap has a task of the same id.
    let status = project.read(".autonoe/status.json").replace(r#""blocked": true"#, r#""blocked": false"#);
    project.write(".autonoe/status.json", &status.replace(r#""passed": false"#, r#""passed": true"#));
    assert_eq!(project.statuses(), [("a".to_owned(), "passed")]);
    project.write("OTHER.md", &roadmap.replace("Do it", "Do something else"));
    let other = run(&["OTHER.md"]);
    assert_eq!(tasks(&other), ["a"]);
    assert!(!project.read("OTHER.md").contains("[x]"), "{}", other.stderr);
}

/// The review of a task by another session, which holds.
const REVIEW: &str = r#"
    [[conversation]]
    when = ["an independent review", "1. the text is good"]
      [[conversation.turn]]
      call = [{ tool = "mcp__autonoe__review", input = { deliverableId = "good", holds = true, reason = "I read it." } }]
      [[conversation.turn]]
      text = "Reviewed."
"#;

/// Nobody has looked at it before, so it is on no branch of the user's.
#[test]
fn a_reviewed_task_lands_after_its_review_and_its_box_with_it() {
    let project =
        project("## Tasks\n- [ ] **good**: Write a text\n  - success: the text is good\n").in_workspace();
    let model = model(&[builds("good", &[]), REVIEW.to_owned()].concat());
    let first = project.run(&model, &["harness", "run", "-n", "1"]);
    assert_eq!(tasks(&first), ["good"]);
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "work", "{}", first.stderr);
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(project.git(&["log", "-2", "--format=%s"]), "Mark the task good as completed\ngood");
    assert_eq!(project.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}

#[test]
fn a_box_is_committed_with_commits_that_land_in_a_later_run() {
    let task = "## Tasks\n- [ ] **a**: Make a\n  - max_retries: 1\n  - check: `test -f a.txt`\n";
    let project = project(task).in_workspace();
    let model = model(&builds("a", &[]));
    project.run(&model, &["harness", "run", "--land", "never"]).assert_ended("all_passed", 0);
    project.write("mine.txt", "");
    project.git(&["add", "mine.txt"]);
    project.git(&["commit", "-qm", "mine"]);
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert!(run.stderr.contains("[LANDED]") && !run.stderr.contains("left out"), "{}", run.stderr);
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "Mark the task a as completed");
    assert_eq!(project.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}

/// What says that it is done, its box and an earlier run, is not what is on the user's branch.
#[test]
fn a_completed_task_whose_work_is_gone_is_done_again() {
    let project = project("## Tasks\n- [ ] **a**: Make a\n  - check: `test -f a.txt`\n").in_workspace();
    let model = model(&builds("a", &[]));
    let run = |args: &[&str]| {
        let run = project.run(&model, &[&["harness", "run"], args].concat());
        run.assert_ended("all_passed", 0);
        assert!(project.read("ROADMAP.md").contains("[x] **a**"), "{}", run.stderr);
        run
    };
    run(&["--land", "never"]);
    let discarded = project.autonoe(None).args(["land", "--discard"]).output().expect("started");
    assert!(discarded.status.success());
    let again = run(&[]);
    assert_eq!(tasks(&again), ["a"], "{}", again.stderr);
    let open = "The task a is open again: it had passed, but it was made pending again.";
    assert!(again.stderr.contains(open) && !again.stderr.contains("left out"), "{}", again.stderr);
    assert_eq!(project.git(&["log", "-2", "--format=%s"]), "Mark the task a as completed\na");
    project.git(&["rm", "-q", "a.txt"]);
    project.git(&["commit", "-qm", "mine"]);
    assert_eq!(tasks(&run(&[])), ["a"], "its check fails");
    assert!(project.path("a.txt").exists());
    assert!(tasks(&run(&[])).is_empty());
    assert_eq!(project.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}

/// Neither is anything built on what is gone, nor is its box committed.
#[test]
fn a_killed_roadmap_is_looked_at_first_if_the_user_has_reset_the_branch() {
    let tasks_of_two = "## Tasks\n- [ ] **a**: Make a\n  - check: `test -f a.txt`\n- [ ] **b**: Make b\n  - depends: a\n  - check: `test -f b.txt`\n";
    let project = project(tasks_of_two).in_workspace();
    let model = model(&[builds("a", &[]), builds("b", &[])].concat());
    let start = project.git(&["rev-parse", "HEAD"]);
    let killed =
        project.command(&model, &["harness", "run"]).env("AUTONOE_CRASH_AT", "session-started:2").output();
    assert_eq!(killed.expect("started").status.signal(), Some(9));
    assert_eq!(project.git(&["log", "-2", "--format=%s"]), "Mark the task a as completed\na");
    project.git(&["reset", "-q", "--hard", &start]);
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(tasks(&run), ["a", "b"], "{}", run.stderr);
    let commits = project.git(&["log", "-4", "--reverse", "--format=%s"]);
    assert_eq!(commits, "a\nMark the task a as completed\nb\nMark the task b as completed", "{}", run.stderr);
    let failed = "The task a is open again: it had passed, but its checks failed when they were run again.";
    assert!(run.stderr.contains(failed) && !run.stderr.contains("was unchecked"), "{}", run.stderr);
}

/// What a run looks at before its first session is no last look.
#[test]
fn work_of_a_continued_run_is_looked_at_once_more() {
    let project = project("## Tasks\n- [ ] **a**: Make a\n  - check: `test -f a.txt`\n- [ ] **d**: Make d\n  - check: `test -f d.txt`\n").in_workspace();
    let first = model(&[builds("a", &[]), builds_with("d", "git rm -q a.txt; ", "")].concat());
    project.run(&first, &["harness", "run", "-n", "2"]).assert_ended("max_iterations", 4);
    let then = model(&[builds_with("a", "git rm -q d.txt; ", ""), builds("d", &[])].concat());
    let run = project.run(&then, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(tasks(&run), ["a", "d"], "{}", run.stderr);
    assert_eq!(project.git(&["ls-tree", "--name-only", "HEAD", "a.txt", "d.txt"]), "a.txt\nd.txt");
}

/// A run may have finished the roadmap before.
#[test]
fn nothing_is_built_on_a_task_that_is_gone_from_the_branch() {
    for go_back in [["reset", "-q", "--hard", "old"], ["checkout", "-q", "-Bfeature", "old"]] {
        let roadmap = "## Tasks\n- [ ] **a**: Make a\n  - check: `test -f a.txt`\n";
        let project = project(roadmap).in_workspace();
        project.git(&["branch", "old"]);
        project.run(&model(&builds("a", &[])), &["harness", "run"]).assert_ended("all_passed", 0);
        project.git(&go_back);
        project.write(
            "ROADMAP.md",
            &format!("{roadmap}- [ ] **b**: Make b\n  - depends: a\n  - check: `test -f b.txt`\n"),
        );
        project.git(&["commit", "-qam", "mine"]);
        let run = project.run(&model(&[builds("a", &[]), builds("b", &[])].concat()), &["harness", "run"]);
        run.assert_ended("all_passed", 0);
        assert_eq!(tasks(&run), ["a", "b"], "{go_back:?}: {}", run.stderr);
        let commits = project.git(&["log", "-5", "--reverse", "--format=%s"]);
        assert_eq!(
            commits, "mine\na\nMark the task a as completed\nb\nMark the task b as completed",
            "{}",
            run.stderr
        );
    }
}

/// What a check says is the user's word, also about what is completed.
#[test]
fn edited_checks_of_completed_tasks_decide_anew() {
    let roadmap = "## Tasks\n- [ ] **a**: Make a\n  - max_retries: 1\n  - check: `test -f a.txt`\n";
    let project = project(roadmap).in_workspace();
    let model = model(&builds("a", &[]));
    let run = || project.run(&model, &["harness", "run"]);
    let edit = |from: &str, to: &str| {
        let text = project.read("ROADMAP.md");
        assert!(text.contains(from), "{text}");
        project.write("ROADMAP.md", &text.replace(from, to));
        project.git(&["commit", "-qam", "mine"]);
    };
    run().assert_ended("all_passed", 0);
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "Mark the task a as completed");

    edit("`test -f a.txt`", "`test -s a.txt`");
    let looser = run();
    looser.assert_ended("all_passed", 0);
    assert!(looser.stderr.contains("The checks of a were edited, so they decide anew."), "{}", looser.stderr);
    assert!(
        tasks(&looser).is_empty() && looser.stderr.contains("0 verified, 1 claimed"),
        "{}",
        looser.stderr
    );

    edit("`test -s a.txt`", "`test -f other.txt`");
    let failing = run();
    failing.assert_ended("tasks_blocked", 3);
    assert!(project.read("ROADMAP.md").contains("[ ] **a**"), "{}", failing.stderr);
    assert_eq!(project.git(&["log", "--format=%s", "--grep=Mark the task"]), "Mark the task a as completed");
}

/// No check finds that out.
#[test]
fn a_reviewed_task_whose_commits_the_user_has_removed_is_done_again() {
    let project =
        project("## Tasks\n- [ ] **good**: Write a text\n  - success: the text is good\n").in_workspace();
    let model = model(&[builds("good", &[]), REVIEW.to_owned()].concat());
    project.run(&model, &["harness", "run"]).assert_ended("all_passed", 0);
    project.git(&["reset", "-q", "--hard", "HEAD~2"]);
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(tasks(&run), ["good", "good"], "its work and its review: {}", run.stderr);
    assert!(project.path("good.txt").exists());
}

#[test]
fn a_reviewed_task_lands_before_the_next_one_although_its_run_was_killed() {
    let roadmap = "## Tasks\n- [ ] **good**: Write a text\n  - success: the text is good\n- [ ] **bad**: Write another\n  - success: it is bad\n  - max_retries: 1\n  - max_iterations: 1\n";
    let project = project(roadmap).in_workspace();
    let review = |id: &str, criterion: &str, holds: bool| {
        format!(
            "[[conversation]]\nwhen = ['an independent review', '1. {criterion}']\n[[conversation.turn]]\n\
             call = [{{ tool = 'mcp__autonoe__review', input = {{ deliverableId = '{id}', holds = {holds}, reason = 'I read it.' }} }}]\n\
             [[conversation.turn]]\ntext = 'Reviewed.'\n"
        )
    };
    let reviews = [review("good", "the text is good", true), review("bad", "it is bad", false)];
    let model = model(&[builds("good", &[]), builds("bad", &[]), reviews.concat()].concat());
    let killed =
        project.command(&model, &["harness", "run"]).env("AUTONOE_CRASH_AT", "session-ended:2").output();
    assert_eq!(killed.expect("started").status.signal(), Some(9));
    assert_no_processes_left(&project);
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("tasks_blocked", 3);
    assert!(project.path("good.txt").exists() && !project.path("bad.txt").exists(), "{}", run.stderr);
}
