//! Clean checkouts of all kinds of repositories contain exactly the commit, and name it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use autonoe_sandbox::RoomLimits;
use autonoe_verify::Reproduction;
use serde_json::json;

use super::check_runner::{check, run_checks};
use super::support::{CliTestProject, always, assert_script_followed, model};

fn committed(project: &CliTestProject, init: &[&str]) {
    project.git_in(&project.root(), &[&["init", "-q", "-b", "main"], init].concat());
    project.write("calc.sh", "echo $(($2 + $3))\n");
    project.git_in(&project.root(), &["add", "."]);
    project.git_in(&project.root(), &["commit", "-qm", "calc"]);
}

fn run_one_check(project: &CliTestProject, root: &Path, command: &str) -> Reproduction {
    run_checks(project, root, RoomLimits::default(), &[check(command, json!({}))])
}

#[track_caller]
fn assert_passed(result: &Reproduction, shown: &str) {
    let (_, now) = &result.runs[0];
    assert!(now.passed(), "{}: {}", now.sentence(), now.output);
    assert!(result.shown.contains(shown), "{}", result.shown);
}

const ADDS: &str = "[ \"$(sh calc.sh add 10 20)\" = 30 ]";

#[test]
fn uncommitted_files_are_not_checked_out() {
    let project = CliTestProject::new();
    committed(&project, &["."]);
    project.write("calc.sh", "echo 5\n");
    project.write("new.txt", "new\n");
    assert_passed(
        &run_one_check(&project, &project.root(), &format!("{ADDS} && [ ! -e new.txt ]")),
        "commit ",
    );
}

#[test]
fn without_a_repository_the_files_are_copied() {
    let project = CliTestProject::new();
    project.write("calc.sh", "echo $(($2 + $3))\n");
    project.write(".gitignore", "built\n");
    project.write("built/x", "x\n");
    let result =
        run_one_check(&project, &project.root(), &format!("{ADDS} && [ ! -e built ] && [ ! -e .autonoe ]"));
    assert_passed(&result, "a copy of the files (there is no git repository)");
}

#[test]
fn before_the_first_commit_nothing_is_verified() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("SPEC.md", "# Spec\n\n- Check: `test -f calc.sh` for A\n");
    project.git_in(&project.root(), &["init", "-q", "-b", "main", "."]);
    assert_passed(&run_one_check(&project, &project.root(), "[ -f SPEC.md ]"), "(nothing is committed yet)");
    let turns = r#"
        [[conversation.turn]]
        call = [
          { tool = "Write", input = { file_path = "calc.sh", content = "echo\n" } },
          { tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } },
        ]
        [[conversation.turn]]
        expect = ["CHECKS_FAILED", "Nothing is committed yet"]
        text = "done""#;
    let model = model(&always(turns));
    project.run(&model, &["run", "-n", "1"]).assert_ended("max_iterations", 4);
    assert_script_followed(&model);
}

#[test]
fn a_project_can_be_a_subdirectory_of_its_repository() {
    let project = CliTestProject::new();
    let above = project.root().parent().expect("above").to_owned();
    project.write("calc.sh", "echo $(($2 + $3))\n");
    project.git_in(&above, &["init", "-q", "-b", "main", "."]);
    project.git_in(&above, &["add", "project"]);
    project.git_in(&above, &["commit", "-qm", "calc"]);
    assert_passed(&run_one_check(&project, &project.root(), &format!("{ADDS} && [ -d ../.git ]")), "commit ");

    // The commit has a symlink in place of the project, which must not be followed.
    project.git_in(&above, &["rm", "-rq", "--cached", "project"]);
    fs::write(above.join("target"), "/usr").expect("written");
    let link = project.git_in(&above, &["hash-object", "-w", "target"]);
    project.git_in(&above, &["update-index", "--add", "--cacheinfo", &format!("120000,{link},project")]);
    project.git_in(&above, &["commit", "-qm", "link"]);
    let result = run_one_check(&project, &project.root(), "[ -d bin ]");
    assert!(!result.runs[0].1.passed(), "{:?}", result.runs);
}

#[test]
fn linked_worktrees_and_detached_heads_are_checked_out() {
    let project = CliTestProject::new();
    committed(&project, &["."]);
    let linked = project.home().join("linked");
    project.git_in(&project.root(), &["worktree", "add", "-q", linked.to_str().expect("text")]);
    fs::write(linked.join("calc.sh"), "echo 30\n").expect("written");
    project.git_in(&linked, &["commit", "-qam", "other"]);
    assert_passed(&run_one_check(&project, &linked, "[ \"$(sh calc.sh add 1 1)\" = 30 ]"), "commit ");

    let commit = project.git_in(&project.root(), &["rev-parse", "HEAD"]);
    project.git_in(&project.root(), &["checkout", "-q", "--detach"]);
    assert_passed(&run_one_check(&project, &project.root(), ADDS), &commit[..10]);
}

#[test]
fn sha256_repositories_are_checked_out() {
    let project = CliTestProject::new();
    committed(&project, &["--object-format=sha256", "."]);
    let commit = project.git_in(&project.root(), &["rev-parse", "HEAD"]);
    assert_eq!(commit.len(), 64);
    assert_passed(&run_one_check(&project, &project.root(), ADDS), &commit[..10]);
}

#[test]
fn packed_objects_symlinks_submodules_and_unusual_names_are_checked_out() {
    let project = CliTestProject::new();
    committed(&project, &["."]);
    symlink("calc.sh", project.path("link")).expect("linked");
    project.write("tab\tand \"quote\".txt", "odd\n");
    let head = project.git_in(&project.root(), &["rev-parse", "HEAD"]);
    project.git_in(&project.root(), &["add", "."]);
    project.git_in(&project.root(), &["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    project.git_in(&project.root(), &["commit", "-qm", "more"]);
    project.git_in(&project.root(), &["gc", "-q"]);
    let command = "[ -L link ] && [ -d sub ] && [ \"$(sh link add 1 2)\" = 3 ] && [ -f tab*quote*.txt ]";
    assert_passed(&run_one_check(&project, &project.root(), command), "commit ");
}

#[test]
fn files_that_git_converts_are_not_forgeries() {
    let project = CliTestProject::new();
    committed(&project, &["."]);
    project.write(".gitattributes", "*.bat text eol=crlf\n*.txt text\n*.id ident\n");
    project.write("run.bat", "one\ntwo\n");
    project.write("it.id", "$Id$\n");
    // A file that was committed with CRLF line endings before .gitattributes existed.
    project.write("old.raw", "one\r\ntwo\r\n");
    let old = project.git_in(&project.root(), &["hash-object", "-w", "--no-filters", "old.raw"]);
    fs::remove_file(project.path("old.raw")).expect("removed");
    project.git_in(&project.root(), &["add", "."]);
    project
        .git_in(&project.root(), &["update-index", "--add", "--cacheinfo", &format!("100644,{old},old.txt")]);
    project.git_in(&project.root(), &["commit", "-qm", "more"]);
    let command = "grep -q $'\\r' run.bat && grep -q $'\\r' old.txt && grep -q 'Id: ' it.id";
    assert_passed(&run_one_check(&project, &project.root(), command), "commit ");
}
