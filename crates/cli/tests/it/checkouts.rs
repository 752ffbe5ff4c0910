//! Repositories of every shape: what is checked out is what is committed, and what it is of is said.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use autonoe_sandbox::Limits;
use autonoe_verify::Reproduction;
use serde_json::json;

use super::support::{Place, always, assert_followed, model};
use super::trials::{check, try_out};

/// A project with a committed calculator.
fn committed(place: &Place, init: &[&str]) {
    place.git_in(&place.project(), &[&["init", "-q", "-b", "main"], init].concat());
    place.write("calc.sh", "echo $(($2 + $3))\n");
    place.git_in(&place.project(), &["add", "."]);
    place.git_in(&place.project(), &["commit", "-qm", "calc"]);
}

fn see(place: &Place, root: &Path, command: &str) -> Reproduction {
    try_out(place, root, Limits::default(), &[check(command, json!({}))])
}

#[track_caller]
fn assert_seen(result: &Reproduction, shown: &str) {
    let (_, now) = &result.trials[0];
    assert!(now.passed(), "{}: {}", now.sentence(), now.output);
    assert!(result.shown.contains(shown), "{}", result.shown);
}

const ADDS: &str = "[ \"$(sh calc.sh add 10 20)\" = 30 ]";

#[test]
fn what_is_not_committed_is_not_there() {
    let place = Place::new();
    committed(&place, &["."]);
    place.write("calc.sh", "echo 5\n");
    place.write("new.txt", "new\n");
    assert_seen(&see(&place, &place.project(), &format!("{ADDS} && [ ! -e new.txt ]")), "commit ");
}

#[test]
fn without_a_repository_files_are_copied_and_that_is_said() {
    let place = Place::new();
    place.write("calc.sh", "echo $(($2 + $3))\n");
    place.write(".gitignore", "built\n");
    place.write("built/x", "x\n");
    let result = see(&place, &place.project(), &format!("{ADDS} && [ ! -e built ] && [ ! -e .autonoe ]"));
    assert_seen(&result, "a copy of the files (there is no git repository)");
}

#[test]
fn before_the_first_commit_nothing_is_verified() {
    let place = Place::with_status(&[("A", "pending")]);
    place.write("SPEC.md", "# Spec\n\n- Check: `test -f calc.sh` for A\n");
    place.git_in(&place.project(), &["init", "-q", "-b", "main", "."]);
    assert_seen(&see(&place, &place.project(), "[ -f SPEC.md ]"), "(nothing is committed yet)");
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
    place.run(&model, &["run", "-n", "1"]).assert_ended("max_iterations", 4);
    assert_followed(&model);
}

#[test]
fn a_project_may_be_a_part_of_its_repository() {
    let place = Place::new();
    let above = place.project().parent().expect("above").to_owned();
    place.write("calc.sh", "echo $(($2 + $3))\n");
    place.git_in(&above, &["init", "-q", "-b", "main", "."]);
    place.git_in(&above, &["add", "project"]);
    place.git_in(&above, &["commit", "-qm", "calc"]);
    assert_seen(&see(&place, &place.project(), &format!("{ADDS} && [ -d ../.git ]")), "commit ");

    // The commit has a link in its place: nobody follows it.
    place.git_in(&above, &["rm", "-rq", "--cached", "project"]);
    fs::write(above.join("target"), "/usr").expect("written");
    let link = place.git_in(&above, &["hash-object", "-w", "target"]);
    place.git_in(&above, &["update-index", "--add", "--cacheinfo", &format!("120000,{link},project")]);
    place.git_in(&above, &["commit", "-qm", "link"]);
    let result = see(&place, &place.project(), "[ -d bin ]");
    assert!(!result.trials[0].1.passed(), "{:?}", result.trials);
}

#[test]
fn linked_working_trees_and_detached_heads_are_looked_at() {
    let place = Place::new();
    committed(&place, &["."]);
    let linked = place.home().join("linked");
    place.git_in(&place.project(), &["worktree", "add", "-q", linked.to_str().expect("text")]);
    fs::write(linked.join("calc.sh"), "echo 30\n").expect("written");
    place.git_in(&linked, &["commit", "-qam", "other"]);
    assert_seen(&see(&place, &linked, "[ \"$(sh calc.sh add 1 1)\" = 30 ]"), "commit ");

    let commit = place.git_in(&place.project(), &["rev-parse", "HEAD"]);
    place.git_in(&place.project(), &["checkout", "-q", "--detach"]);
    assert_seen(&see(&place, &place.project(), ADDS), &commit[..10]);
}

#[test]
fn repositories_with_other_hashes_are_looked_at() {
    let place = Place::new();
    committed(&place, &["--object-format=sha256", "."]);
    let commit = place.git_in(&place.project(), &["rev-parse", "HEAD"]);
    assert_eq!(commit.len(), 64);
    assert_seen(&see(&place, &place.project(), ADDS), &commit[..10]);
}

#[test]
fn packed_objects_links_submodules_and_odd_names_are_looked_at() {
    let place = Place::new();
    committed(&place, &["."]);
    symlink("calc.sh", place.path("link")).expect("linked");
    place.write("tab\tand \"quote\".txt", "odd\n");
    let head = place.git_in(&place.project(), &["rev-parse", "HEAD"]);
    place.git_in(&place.project(), &["add", "."]);
    place.git_in(&place.project(), &["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    place.git_in(&place.project(), &["commit", "-qm", "more"]);
    place.git_in(&place.project(), &["gc", "-q"]);
    let command = "[ -L link ] && [ -d sub ] && [ \"$(sh link add 1 2)\" = 3 ] && [ -f tab*quote*.txt ]";
    assert_seen(&see(&place, &place.project(), command), "commit ");
}

#[test]
fn files_that_git_changes_on_the_way_are_no_forgeries() {
    let place = Place::new();
    committed(&place, &["."]);
    place.write(".gitattributes", "*.bat text eol=crlf\n*.txt text\n*.id ident\n");
    place.write("run.bat", "one\ntwo\n");
    place.write("it.id", "$Id$\n");
    // A file that was committed with the line ends of another system, before anybody said how they should be.
    place.write("old.raw", "one\r\ntwo\r\n");
    let old = place.git_in(&place.project(), &["hash-object", "-w", "--no-filters", "old.raw"]);
    fs::remove_file(place.path("old.raw")).expect("removed");
    place.git_in(&place.project(), &["add", "."]);
    place.git_in(
        &place.project(),
        &["update-index", "--add", "--cacheinfo", &format!("100644,{old},old.txt")],
    );
    place.git_in(&place.project(), &["commit", "-qm", "more"]);
    let command = "grep -q $'\\r' run.bat && grep -q $'\\r' old.txt && grep -q 'Id: ' it.id";
    assert_seen(&see(&place, &place.project(), command), "commit ");
}
