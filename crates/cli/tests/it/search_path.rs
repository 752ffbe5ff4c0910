//! A search path that leads into the project, where agents could have written the programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use autonoe_test_kit::PATH;

use super::support::{CliTestProject, RunOutput, always, model};

/// Shows its search path, and passes.
const SHOWS_PATH: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "echo \"path: $PATH\"" } }]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;

/// Commits a program of the name of one that the user has, and passes.
const COMMITS_GIT: &str = r#"
  [[conversation.turn]]
  call = [
    { tool = "Write", input = { file_path = "tools/git", content = "exit 0\n" } },
    { tool = "Bash", input = { command = "git add tools/git && git commit -q -m 'Add a tool'" } },
    { tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } },
  ]
  [[conversation.turn]]
  text = "done"
"#;

fn project() -> CliTestProject {
    CliTestProject::with_status(&[("A", "pending")]).in_workspace().in_repository()
}

fn search_path(project: &CliTestProject) -> String {
    format!("tools:{}:{PATH}", project.path("tools").display())
}

#[test]
fn programs_of_the_project_are_run_only_in_rooms() {
    let project = project();
    let ran = project.home().join("RAN");
    for name in ["git", "bwrap", "bash", "sh", "notify-send", "gh"] {
        let program = format!("tools/{name}");
        project.write(&program, &format!("#!/bin/sh\necho {name} >> {}\n", ran.display()));
        fs::set_permissions(project.path(&program), fs::Permissions::from_mode(0o755)).expect("changed");
    }
    let model = model(&always(SHOWS_PATH));
    for arguments in [&["doctor"][..], &["status"], &["diff"], &["land"], &["report"]] {
        let mut command = project.autonoe(Some(&model));
        command.args(arguments).env("PATH", search_path(&project)).output().expect("started");
        assert!(!ran.exists(), "{arguments:?}: {:?}", fs::read_to_string(&ran));
    }
    let mut command = project.command(&model, &["run", "-n", "1"]);
    let run = RunOutput::from(command.env("PATH", search_path(&project)).output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert!(!ran.exists(), "{:?}", fs::read_to_string(&ran));
    let shown = run.of_type("tool_result").next().expect("a command").to_string();
    assert!(shown.contains(&project.path("tools").display().to_string()), "the agent's own: {shown}");
}

#[test]
fn a_program_that_comes_before_another_one_lands_only_with_the_users_word() {
    let project = project();
    let model = model(&always(COMMITS_GIT));
    let mut command = project.command(&model, &["run", "-n", "1"]);
    let run = RunOutput::from(command.env("PATH", search_path(&project)).output().expect("started"));
    assert!(!project.path("tools/git").exists(), "{}", run.stderr);
    let mut land = project.autonoe(None);
    let refused = land.arg("land").env("PATH", search_path(&project)).output().expect("started");
    let said = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(refused.status.code() == Some(7) && said.contains("tools/git"), "{said}");
}
