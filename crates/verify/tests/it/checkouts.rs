//! Clean checkouts of all kinds of repositories contain exactly the commit, and name it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use autonoe_sandbox::RoomLimits;
use autonoe_verify::Reproduction;
use serde_json::json;

use super::fixture::{VerifyFixture, check};

/// A repository with a calculator, made by `git init` with these arguments.
fn committed(init: &[&str]) -> VerifyFixture {
    let fixture = VerifyFixture::without_repository("# Spec\n");
    fixture.git(&[&["init", "-q", "-b", "main"], init].concat());
    fixture.commit(&[("calc.sh", "echo $(($2 + $3))\n")]);
    fixture
}

async fn run_one_check(fixture: &VerifyFixture, root: &Path, command: &str) -> Reproduction {
    fixture.run_checks(root, RoomLimits::default(), &[check(command, json!({}))]).await
}

#[track_caller]
fn assert_passed(result: &Reproduction, shown: &str) {
    let (_, now) = &result.runs[0];
    assert!(now.passed(), "{}: {}", now.sentence(), now.output);
    assert!(result.shown.contains(shown), "{}", result.shown);
}

const ADDS: &str = "[ \"$(sh calc.sh add 10 20)\" = 30 ]";

#[tokio::test]
async fn uncommitted_files_are_not_checked_out() {
    let fixture = committed(&["."]);
    fixture.write("calc.sh", "echo 5\n");
    fixture.write("new.txt", "new\n");
    assert_passed(
        &run_one_check(&fixture, fixture.project.root(), &format!("{ADDS} && [ ! -e new.txt ]")).await,
        "commit ",
    );
}

#[tokio::test]
async fn without_a_repository_the_files_are_copied() {
    let fixture = VerifyFixture::without_repository("# Spec\n");
    fixture.write("calc.sh", "echo $(($2 + $3))\n");
    fixture.write(".gitignore", "built\n");
    fixture.write("built/x", "x\n");
    let result = run_one_check(
        &fixture,
        fixture.project.root(),
        &format!("{ADDS} && [ ! -e built ] && [ ! -e .autonoe ]"),
    )
    .await;
    assert_passed(&result, "a copy of the files (there is no git repository)");
}

#[tokio::test]
async fn before_the_first_commit_the_files_are_copied() {
    let fixture = VerifyFixture::without_repository("# Spec\n");
    fixture.git(&["init", "-q", "-b", "main", "."]);
    let result = run_one_check(&fixture, fixture.project.root(), "[ -f SPEC.md ]").await;
    assert_passed(&result, "(nothing is committed yet)");
}

#[tokio::test]
async fn a_project_can_be_a_subdirectory_of_its_repository() {
    let fixture = VerifyFixture::without_repository("# Spec\n");
    let above = fixture.project.root().parent().expect("above").to_owned();
    fixture.write("calc.sh", "echo $(($2 + $3))\n");
    fixture.git_in(&above, &["init", "-q", "-b", "main", "."]);
    fixture.git_in(&above, &["add", "project"]);
    fixture.git_in(&above, &["commit", "-qm", "calc"]);
    assert_passed(
        &run_one_check(&fixture, fixture.project.root(), &format!("{ADDS} && [ -d ../.git ]")).await,
        "commit ",
    );

    // The commit has a symlink in place of the project, which must not be followed.
    fixture.git_in(&above, &["rm", "-rq", "--cached", "project"]);
    fs::write(above.join("target"), "/usr").expect("written");
    let link = fixture.git_in(&above, &["hash-object", "-w", "target"]);
    fixture.git_in(&above, &["update-index", "--add", "--cacheinfo", &format!("120000,{link},project")]);
    fixture.git_in(&above, &["commit", "-qm", "link"]);
    let result = run_one_check(&fixture, fixture.project.root(), "[ -d bin ]").await;
    assert!(!result.runs[0].1.passed(), "{:?}", result.runs);
}

#[tokio::test]
async fn linked_worktrees_and_detached_heads_are_checked_out() {
    let fixture = committed(&["."]);
    let linked = fixture.home().join("linked");
    fixture.git(&["worktree", "add", "-q", linked.to_str().expect("text")]);
    fs::write(linked.join("calc.sh"), "echo 30\n").expect("written");
    fixture.git_in(&linked, &["commit", "-qam", "other"]);
    assert_passed(&run_one_check(&fixture, &linked, "[ \"$(sh calc.sh add 1 1)\" = 30 ]").await, "commit ");

    let commit = fixture.git(&["rev-parse", "HEAD"]);
    fixture.git(&["checkout", "-q", "--detach"]);
    assert_passed(&run_one_check(&fixture, fixture.project.root(), ADDS).await, &commit[..10]);
}

#[tokio::test]
async fn sha256_repositories_are_checked_out() {
    let fixture = committed(&["--object-format=sha256", "."]);
    let commit = fixture.git(&["rev-parse", "HEAD"]);
    assert_eq!(commit.len(), 64);
    assert_passed(&run_one_check(&fixture, fixture.project.root(), ADDS).await, &commit[..10]);
}

#[tokio::test]
async fn packed_objects_symlinks_submodules_and_unusual_names_are_checked_out() {
    let fixture = committed(&["."]);
    symlink("calc.sh", fixture.path("link")).expect("linked");
    fixture.write("tab\tand \"quote\".txt", "odd\n");
    let head = fixture.git(&["rev-parse", "HEAD"]);
    fixture.git(&["add", "."]);
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    fixture.git(&["commit", "-qm", "more"]);
    fixture.git(&["gc", "-q"]);
    let command = "[ -L link ] && [ -d sub ] && [ \"$(sh link add 1 2)\" = 3 ] && [ -f tab*quote*.txt ]";
    assert_passed(&run_one_check(&fixture, fixture.project.root(), command).await, "commit ");
}

#[tokio::test]
async fn files_that_git_converts_are_not_forgeries() {
    let fixture = committed(&["."]);
    fixture.write(".gitattributes", "*.bat text eol=crlf\n*.txt text\n*.id ident\n");
    fixture.write("run.bat", "one\ntwo\n");
    fixture.write("it.id", "$Id$\n");
    // A file that was committed with CRLF line endings before .gitattributes existed.
    fixture.write("old.raw", "one\r\ntwo\r\n");
    let old = fixture.git(&["hash-object", "-w", "--no-filters", "old.raw"]);
    fs::remove_file(fixture.path("old.raw")).expect("removed");
    fixture.git(&["add", "."]);
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{old},old.txt")]);
    fixture.git(&["commit", "-qm", "more"]);
    let command = "grep -q $'\\r' run.bat && grep -q $'\\r' old.txt && grep -q 'Id: ' it.id";
    assert_passed(&run_one_check(&fixture, fixture.project.root(), command).await, "commit ");
}
