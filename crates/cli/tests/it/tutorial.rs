//! Runs every command of docs/tutorial.md, in order, as a user would.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::support::{CliTestProject, assert_script_followed, has_bubblewrap, model};

const MODEL: &str = r#"
[[conversation]]
name = "plan"
when = ["lay the foundation", "Only plan"]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__create", input = { deliverables = [
    { id = "SUM-001", description = "Add any number of numbers", acceptanceCriteria = ["sums many", "prints 0 for none"] },
  ] } }]
  [[conversation.turn]]
  text = "Planned."

[[conversation]]
name = "build"
when = ["one deliverable", "- `SUM-001`"]
  [[conversation.turn]]
  call = [
    { tool = "Write", input = { file_path = "sum.sh", content = "total=0\nfor number; do total=$((total + number)); done\necho $total\n" } },
    { tool = "Bash", input = { command = "sleep 2; sh test.sh && git add sum.sh && git commit -q -m 'Add any number of numbers'" } },
  ]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "SUM-001", status = "passed" } }]
  [[conversation.turn]]
  expect = "verified"
  text = "Done."
"#;

/// A `gh` that records a pull request and merges its branch in the remote repository.
const GH: &str = r#"#!/bin/sh
case "$1 $2" in
    "--version ") ;;
    "pr create") cat > "$HOME/body" ;;
    "pr merge") git clone -q "$REMOTE" "$HOME/merge" && cd "$HOME/merge" && git merge -q --no-edit "origin/$3" && git push -q ;;
esac
"#;

/// The shell blocks of a page, in order.
fn shell_blocks(page: &str) -> Vec<String> {
    let (mut blocks, mut open): (Vec<String>, Option<(&str, String)>) = Default::default();
    for line in page.lines() {
        match &mut open {
            None => {
                let fence = line
                    .strip_suffix("sh")
                    .filter(|fence| fence.len() >= 3 && fence.chars().all(|c| c == '`'));
                open = fence.map(|fence| (fence, String::new()));
            }
            Some((fence, text)) if line == *fence => {
                blocks.push(std::mem::take(text));
                open = None;
            }
            Some((_, text)) => text.push_str(&format!("{line}\n")),
        }
    }
    blocks
}

#[test]
fn the_walk_through_ends_with_a_merged_pull_request() {
    if !has_bubblewrap() {
        return eprintln!("SKIPPED: bubblewrap is not installed");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let blocks = shell_blocks(&fs::read_to_string(page).expect("the tutorial"));
    assert!(blocks.len() >= 7, "{blocks:#?}");
    let project = CliTestProject::empty();
    let (model, bin) = (model(MODEL), project.home().join("bin"));
    fs::create_dir_all(&bin).expect("directory");
    fs::write(bin.join("gh"), GH).expect("written");
    fs::set_permissions(bin.join("gh"), fs::Permissions::from_mode(0o755)).expect("made executable");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_autonoe"), bin.join("autonoe")).expect("linked");
    let remote = project.home().join("remote.git");
    let prepare = "git config --global user.name Ann && git config --global user.email ann@example.com && git init -q --bare -b main \"$REMOTE\"";
    let script = [prepare.to_owned(), blocks.join("\n")].join("\n");
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &script]).current_dir(project.root()).env_clear();
    shell.env("HOME", project.home()).env("REMOTE", &remote).env("TZ", "UTC");
    shell.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    shell.env("ANTHROPIC_API_KEY", "test-key-never-real").env("ANTHROPIC_BASE_URL", model.base_url());
    let output = shell.output().expect("started");
    let screen = String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned();
    assert!(output.status.success(), "{screen}\n{:?}", model.problems());
    assert_script_followed(&model);
    for line in [
        "Plan: 1 deliverable(s)",
        "[MESSAGE] keep it POSIX",
        "[PASS] Add any number of numbers (SUM-001): verified",
    ] {
        assert!(screen.contains(line), "no {line:?} in {screen}");
    }
    assert!(screen.ends_with("10\n"), "what was merged works: {screen}");
    let told =
        model.requests().iter().any(|request| request.request.to_string().contains("keep it POSIX, no bash"));
    assert!(told, "the model got the message");
    let body = fs::read_to_string(project.home().join("body")).expect("a pull request");
    assert!(body.contains("SUM-001"), "{body}");
}
