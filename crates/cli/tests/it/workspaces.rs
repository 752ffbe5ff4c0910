//! Agents in workspaces of their own, observed from the user's repository.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use autonoe_test_kit::PATH;

use super::support::{
    CliTestProject, RunOutput, always, assert_script_followed, claims_after, model, runs_and_passes, until,
    without_bubblewrap,
};

/// A project with a repository in which SPEC.md is committed, and a deliverable A.
pub(super) fn project() -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "the user's\n")]);
    project
}

fn allow_sh(project: &CliTestProject) {
    project.write(".autonoe/agent.json", r#"{ "allowCommands": { "base": ["sh"] } }"#);
    let trusted = project.autonoe(None).args(["trust", "--yes"]).output().expect("started");
    assert!(trusted.status.success(), "{trusted:?}");
}

/// A session that writes and commits `a.txt` and passes A.
pub(super) const BUILDS: &str = r#"
  [[conversation.turn]]
  call = [
    { tool = "Write", input = { file_path = "a.txt", content = "built\n" } },
    { tool = "Read", input = { file_path = "SPEC.md" } },
    { tool = "Bash", input = { command = "git add a.txt && git commit -q -m 'Build a' && git log --oneline" } },
  ]
  [[conversation.turn]]
  expect = ["Build a", "three things"]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;

pub(super) fn landings(run: &RunOutput) -> Vec<(&str, bool)> {
    let landings = run.of_type("landing");
    landings.map(|event| (event["branch"].as_str().unwrap(), event["why"].is_null())).collect()
}

#[test]
fn what_passed_lands_on_the_users_branch_on_both_layers() {
    for has_bubblewrap in [true, false] {
        let project = project();
        let model = model(&always(BUILDS));
        let mut command = project.command(&model, &["run"]);
        if !has_bubblewrap {
            command.env("PATH", without_bubblewrap(&project));
        }
        let run = RunOutput::from(command.output().expect("started"));
        run.assert_ended("all_passed", 0);
        assert_script_followed(&model);
        assert_eq!(landings(&run), [("main", true)]);
        assert_eq!(project.read("a.txt"), "built\n");
        assert_eq!(project.git(&["log", "--format=%s"]), "Build a\nwork");
        assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    }
}

#[test]
fn nothing_of_the_users_is_visible_or_writable_in_the_room() {
    for has_bubblewrap in [true, false] {
        let project = project();
        let root = project.root().display().to_string();
        let script = format!(
            "grep secret {root}/uncommitted.txt {root}/kept.txt {root}/.git/config; \
             touch {root}/x {root}/.git/x; ls uncommitted.txt; true"
        );
        let model = model(&always(&format!(
            "[[conversation.turn]]\ncall = [{{ tool = 'Bash', input = {{ command = \"sh probe.sh\" }} }}, \
             {{ tool = 'Read', input = {{ file_path = '{root}/uncommitted.txt' }} }}, \
             {{ tool = 'Write', input = {{ file_path = '{root}/y', content = '' }} }}]\n{BUILDS}"
        )));
        allow_sh(&project);
        project.commit(&[("probe.sh", &script)]);
        project.write("uncommitted.txt", "the user's secret");
        project.write("kept.txt", "the user's secret");
        project.git(&["config", "user.secret", "secret"]);
        let mut command = project.command(&model, &["run"]);
        if !has_bubblewrap {
            command.env("PATH", without_bubblewrap(&project));
        }
        let run = RunOutput::from(command.output().expect("started"));
        let results: String = run.of_type("tool_result").map(|event| event.to_string()).collect();
        assert!(!results.contains("secret"), "{results}");
        assert!(!project.path(".git/x").exists());
        assert_eq!(project.read("kept.txt"), "the user's secret");
        assert!(run.of_type("trouble").any(|event| event.to_string().contains("uncommitted.txt")));
        // At the project's own path, agents see their workspace, if the layer can show it there.
        assert_eq!(
            project.path("x").exists(),
            has_bubblewrap,
            "what was left uncommitted is committed and lands"
        );
        assert_eq!(project.path("y").exists(), has_bubblewrap);
    }
}

#[test]
fn uncommitted_work_is_saved_and_the_next_run_continues_it() {
    let project = project();
    let writes = r#"
      [[conversation.turn]]
      call = [{ tool = "Write", input = { file_path = "half.txt", content = "half" } },
              { tool = "Write", input = { file_path = ".autonoe-note.md", content = "go on" } }]
      [[conversation.turn]]
      text = "done"
    "#;
    let first = model(&always(writes));
    let run = project.run(&first, &["run", "--max-iterations", "1"]);
    run.assert_ended("max_iterations", 4);
    assert_eq!(landings(&run), [("autonoe/1", false)]);
    assert!(!project.path("half.txt").exists());
    assert_eq!(project.git(&["show", "autonoe/1:half.txt"]), "half");
    assert_eq!(project.read(".autonoe-note.md"), "go on");

    let second = model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Read", input = { file_path = "half.txt" } }]
          [[conversation.turn]]
          expect = ["half"]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    ));
    let run = project.run(&second, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&second);
    assert_eq!(landings(&run), [("main", true)]);
    assert_eq!(project.read("half.txt"), "half");
}

#[test]
fn a_destroyed_workspace_costs_one_session_and_nothing_of_the_users() {
    let project = project();
    allow_sh(&project);
    project.commit(&[("destroy.sh", "rm -rf .git *\n")]);
    let model = model(&format!(
        "[[conversation]]\nname = 'first'\nwhen = 'one deliverable'\nplays = 1\n[[conversation.turn]]\n\
         call = [{{ tool = 'Bash', input = {{ command = 'sh destroy.sh' }} }}]\n[[conversation.turn]]\ntext = 'done'\n{}",
        always(BUILDS)
    ));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(project.read("kept.txt"), "the user's\n");
    assert_eq!(project.read("a.txt"), "built\n");
    assert!(run.of_type("trouble").any(|event| event.to_string().contains("cannot be used")));
}

#[test]
fn checks_run_on_what_the_workspace_committed() {
    let project = CliTestProject::empty();
    project.write("SPEC.md", "# The three things\n\n```check A\n$ cat a.txt\nbuilt\n```\n");
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[]);
    let create = r#"{ tool = "mcp__autonoe__create", input = { deliverables = [{ id = "A", description = "a", acceptanceCriteria = ["it is built"] }] } }"#;
    let script = format!(
        "[[conversation]]\nname = 'plan'\nwhen = 'lay the foundation'\n[[conversation.turn]]\ncall = [{create}]\n\
         [[conversation.turn]]\ntext = 'planned'\n{}",
        always(BUILDS)
    );
    let model = model(&script);
    let run = project.run(&model, &["run", "--strict"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.outcome()["deliverables_verified"], 1, "{}", run.outcome());
    assert_eq!(project.read("a.txt"), "built\n");
    assert!(fs::read_dir(project.path(".autonoe/evidence")).is_ok());
}

#[test]
fn a_project_without_commits_gets_its_first_one() {
    for has_repository in [false, true] {
        let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
        project.write("src/existing.txt", "the user's\n");
        project.write(".gitignore", "/secret.txt\n");
        project.write("secret.txt", "x");
        if has_repository {
            project.git(&["init", "-q", "-b", "main", "."]);
        }
        let script = BUILDS.replace("SPEC.md", "src/existing.txt").replace("three things", "the user's");
        let model = model(&always(&script));
        let run = project.run(&model, &["run"]);
        run.assert_ended("all_passed", 0);
        assert_script_followed(&model);
        assert!(run.of_type("notice").any(|event| event.to_string().contains("first commit")));
        assert_eq!(project.git(&["log", "--format=%s"]), "Build a\nBegin with what there is");
        assert_eq!(project.git(&["ls-files"]), ".gitignore\nSPEC.md\na.txt\nsrc/existing.txt");
        assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    }
}

#[test]
fn uncommitted_changes_can_be_included_and_ignored_files_brought_along() {
    let project = project();
    project.commit(&[(".gitignore", "/.env\n/other.env\n"), (".worktreeinclude", "/.env\n")]);
    for (name, content) in
        [(".env", "KEY=1"), ("other.env", "KEY=2"), ("kept.txt", "changed\n"), ("new.txt", "new\n")]
    {
        project.write(name, content);
    }
    let reads = r#"
      [[conversation.turn]]
      call = [{ tool = "Bash", input = { command = "cat .env kept.txt new.txt; ls -a" } }]
      [[conversation.turn]]
      expect = ["KEY=1", "changed", "new"]
      call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
      [[conversation.turn]]
      text = "done"
    "#;
    let model = model(&always(reads));
    let run = project.run(&model, &["run", "--include-uncommitted"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    let listed = run.of_type("tool_result").next().expect("a result").to_string();
    assert!(!listed.contains("other.env"), "{listed}");
    // The same changes are in the checkout already, where they are committed now.
    assert_eq!(landings(&run), [("main", true)]);
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    assert_eq!((project.read("kept.txt"), project.read(".env")), ("changed\n".into(), "KEY=1".into()));
    assert_eq!(project.git(&["show", "main:new.txt"]), "new");
}

#[test]
fn sync_sees_uncommitted_changes_and_leaves_nothing_behind() {
    let project = CliTestProject::with_status(&[("A", "passed")]).in_repository();
    project.write("uncommitted.txt", "visible");
    let model = model(
        r#"
          [[conversation]]
          when = "SPEC.md"
            [[conversation.turn]]
            call = [
              { tool = "Bash", input = { command = "cat uncommitted.txt" } },
              { tool = "Write", input = { file_path = ".autonoe-note.md", content = "seen" } },
              { tool = "mcp__autonoe__verify", input = { deliverableId = "A" } },
            ]
            [[conversation.turn]]
            text = "done"
        "#,
    );
    let before = project.git(&["status", "--porcelain"]);
    let run = project.run(&model, &["sync", "--max-iterations", "3"]);
    let results: String = run.of_type("tool_result").map(|event| event.to_string()).collect();
    assert!(results.contains("visible"), "{results}");
    assert_eq!(project.git(&["status", "--porcelain"]), format!("?? .autonoe-note.md\n{before}"));
    assert_eq!(project.read(".autonoe-note.md"), "seen");
    assert_eq!(landings(&run), []);
    assert_eq!(project.git(&["branch", "--format=%(refname:short)"]), "main");
}

/// Standard output and the exit code.
pub(super) fn command(project: &CliTestProject, args: &[&str]) -> (String, Option<i32>) {
    let output = project.autonoe(None).args(args).output().expect("started");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (String::from_utf8_lossy(&output.stdout).into_owned() + &errors, output.status.code())
}

#[test]
fn what_was_in_the_way_of_landing_can_be_removed_and_the_commits_landed_later() {
    let project = project();
    project.write("a.txt", "the user's");
    let model = model(&always(BUILDS));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(landings(&run), [("autonoe/1", false)]);
    assert_eq!(project.read("a.txt"), "the user's");

    let (shown, code) = command(&project, &["diff"]);
    assert!(code == Some(0) && shown.contains("Build a") && shown.contains("+built"), "{shown}");
    let (refused, code) = command(&project, &["land"]);
    assert!(code == Some(7) && refused.contains("a.txt"), "{refused}");
    fs::remove_file(project.path("a.txt")).expect("removed");
    let (landed, code) = command(&project, &["land"]);
    assert!(code == Some(0) && landed.contains("[LANDED]"), "{landed}");
    assert_eq!(project.read("a.txt"), "built\n");
    for command_name in ["land", "diff"] {
        assert_eq!(command(&project, &[command_name]), ("Nothing is waiting to land.\n".to_owned(), Some(0)));
    }
}

#[test]
fn files_that_act_by_themselves_land_only_with_the_users_word() {
    let project = project();
    let model = model(&always(&BUILDS.replace("a.txt", ".envrc")));
    let run = project.run(&model, &["run"]);
    assert_eq!(landings(&run), [("autonoe/1", false)]);
    assert!(!project.path(".envrc").exists());
    let (refused, code) = command(&project, &["land"]);
    assert!(code == Some(7) && refused.contains("by themselves: .envrc"), "{refused}");
    let (landed, code) = command(&project, &["land", "--accept-self-acting"]);
    assert!(code == Some(0) && landed.contains("[LANDED]"), "{landed}");
    assert_eq!(project.read(".envrc"), "built\n");
}

#[test]
fn land_and_diff_without_a_run_or_a_repository() {
    let project = project();
    assert_eq!(command(&project, &["land"]), ("Nothing is waiting to land.\n".to_owned(), Some(0)));
    let project = CliTestProject::new();
    let (text, code) = command(&project, &["diff"]);
    assert!(code == Some(2) && text.contains("not in a git repository"), "{text}");
}

/// Checks see what the commit reaches, and nothing else that the agent has made.
#[test]
fn checks_see_what_the_commit_reaches_and_nothing_else() {
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    project.write(
        "SPEC.md",
        "# Spec\n\n```check A name=a\n$ git describe --tags | cut -c 1-3 && git log --format=%s | tail -n 1 && sh answer.sh\nv1-\nwork\n5\n```\n",
    );
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    project.git(&["tag", "v1"]);
    // The hash is that of a file with the content 5.
    let hides = "echo 5 | git hash-object -w --stdin && echo 'git cat-file -p 7ed6ff82de6bcc2a78243fc9c54d3ef5ac14da69' > answer.sh && \
                 git add answer.sh && git commit -qm hidden";
    let refused = r#"
      [[conversation.turn]]
      expect = "do not pass"
      call = [{ tool = "Bash", input = { command = "echo 'echo 5' > answer.sh; git commit -qam honest" } }]
      [[conversation.turn]]
      call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
      [[conversation.turn]]
      expect = "verified"
      text = "done"
    "#;
    let model = model(&claims_after(hides, refused));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_eq!(run.outcome()["deliverables_verified"], 1);
}

#[test]
fn files_that_only_the_users_git_ignores_do_not_land() {
    let project = project();
    project.write(".worktreeinclude", ".env\n");
    project.write(".env", "SECRET=1\n");
    project.write(".git/info/exclude", ".env\n");
    project.commit(&[]);
    let model = model(&runs_and_passes("cat .env; touch left.txt"));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert!(run.of_type("tool_result").any(|event| event.to_string().contains("SECRET=1")));
    assert_eq!(project.git(&["show", "--format=", "--name-only", "HEAD"]), "left.txt");
    assert_eq!(project.read(".env"), "SECRET=1\n");
}

#[test]
fn a_pipe_in_the_workspace_costs_one_session() {
    for name in [".git/HEAD", ".git/index", ".git/packed-refs", "sub/.gitignore"] {
        let project = project();
        let makes = format!("mkdir -p sub; rm -f {name}; mkfifo {name}");
        let model = model(&format!(
            "[[conversation]]\nname = 'first'\nwhen = 'one deliverable'\nplays = 1\n[[conversation.turn]]\n\
             call = [{{ tool = 'Bash', input = {{ command = '{makes}' }} }}]\n[[conversation.turn]]\ntext = 'done'\n{}",
            always(BUILDS)
        ));
        let run = project.run(&model, &["run", "--max-duration", "100s"]);
        run.assert_ended("all_passed", 0);
        assert_eq!(project.read("a.txt"), "built\n", "{name}");
        assert!(
            run.of_type("trouble").any(|event| event.to_string().contains("it is a named pipe")),
            "{name}"
        );
    }
}

#[test]
fn what_an_agent_wrote_does_not_act_on_the_terminal() {
    let project = project();
    let command =
        "touch $(printf '.vscode\\033[31mx'); git add -A; git commit -qm \"$(printf 'a\\033]0;b\\007')\"";
    let command = command.replace('\\', "\\\\").replace('"', "\\\"");
    let model = model(&runs_and_passes(&command));
    project.run(&model, &["run", "--land", "never"]).assert_ended("all_passed", 0);
    let diff = project.autonoe(None).arg("diff").output().expect("started").stdout;
    assert!(String::from_utf8_lossy(&diff).contains("[U+001B]") && !diff.contains(&0x1b));
}

#[test]
fn a_specification_that_is_a_link_shows_agents_nothing_else() {
    let project = project();
    project.write("../home/secret", "the secret");
    fs::remove_file(project.path("SPEC.md")).expect("removed");
    symlink("../home/secret", project.path("SPEC.md")).expect("linked");
    let model = model(&always(BUILDS));
    let run = project.run(&model, &["run"]);
    run.assert_ended("failed", 2);
    assert!(run.stderr.contains("is a link to a file that agents do not see"), "{}", run.stderr);
    assert!(model.requests().is_empty());
}

#[test]
fn nothing_of_a_sync_lands_with_the_next_run() {
    let project = project();
    project.write("kept.txt", "uncommitted\n");
    project.write("untracked.txt", "the user's\n");
    let writes = model(&always(
        "[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = 'cat kept.txt; touch by-sync.txt' } }]\n\
         [[conversation.turn]]\ntext = 'done'",
    ));
    let run = project.run(&writes, &["sync", "-n", "1"]);
    assert!(run.of_type("tool_result").any(|event| event.to_string().contains("uncommitted")));
    let builds = model(&always(BUILDS));
    project.run(&builds, &["run"]).assert_ended("all_passed", 0);
    assert_eq!(project.git(&["show", "--format=", "--name-only", "HEAD"]), "a.txt");
    assert_eq!(project.git(&["log", "--format=%s"]), "Build a\nwork");
    assert_eq!(project.read("kept.txt"), "uncommitted\n");
}

#[test]
fn included_changes_land_even_if_the_agent_goes_on_from_them() {
    let project = project();
    project.write("kept.txt", "the user's\nuncommitted\n");
    let model = model(&claims_after(
        "cat kept.txt; echo more >> kept.txt; git commit -qam more",
        "[[conversation.turn]]\ntext = 'done'",
    ));
    let run = project.run(&model, &["run", "--include-uncommitted"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(landings(&run), [("main", true)], "{}", run.stderr);
    assert_eq!(project.read("kept.txt"), "the user's\nuncommitted\nmore\n");
}

#[test]
fn files_that_a_hook_runs_are_named_when_they_land_and_in_the_report() {
    let project = project();
    project.write(".git/hooks/pre-commit", "#!/bin/sh\nmake lint\n");
    let model = model(&always(&BUILDS.replace("a.txt", "Makefile")));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(landings(&run), [("main", true)]);
    let landing = run.of_type("landing").next().expect("a landing");
    assert_eq!(landing["hook_files"], serde_json::json!([{ "hook": "pre-commit", "path": "Makefile" }]));
    let warning = "[HOOK] Your pre-commit hook runs: Makefile (changed). Look at it before you commit.";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    let (report, _) = command(&project, &["report"]);
    assert!(report.contains("Your pre-commit hook runs: Makefile (changed)."), "{report}");
}

#[test]
fn a_sync_does_not_hide_what_is_waiting_to_land() {
    let project = project();
    let builds = model(&always(BUILDS));
    project.run(&builds, &["run", "--land", "never"]).assert_ended("all_passed", 0);
    let reads = model(&always("[[conversation.turn]]\ntext = 'done'"));
    project.run(&reads, &["sync", "-n", "1"]);
    let (landed, code) = command(&project, &["land"]);
    assert!(code == Some(0) && landed.contains("[LANDED]"), "{landed}");
    assert_eq!(project.read("a.txt"), "built\n");
}

#[test]
fn committed_files_with_names_of_credentials_are_files_like_others() {
    let files = [
        (".npmrc", "save-exact=true\n"),
        (".azure/pipeline.yml", "steps: []\n"),
        (".docker/php.ini", "x=1\n"),
        (".aws/config", "[default]\n"),
    ];
    for has_bubblewrap in [true, false] {
        let project = project();
        project.commit(&files);
        let leaves = BUILDS.replace(
            "git add a.txt && git commit -q -m 'Build a' && git log --oneline",
            "echo save-exact=false > .npmrc; echo Build a",
        );
        let model = model(&always(&leaves));
        let mut command = project.command(&model, &["run"]);
        if !has_bubblewrap {
            command.env("PATH", without_bubblewrap(&project));
        }
        let run = RunOutput::from(command.output().expect("started"));
        assert_eq!(landings(&run), [("main", true)], "{}", run.stderr);
        assert!(
            !run.stderr.contains("left out") && !run.stderr.contains("cannot be committed"),
            "{}",
            run.stderr
        );
        assert_eq!(project.git(&["diff", "--name-status", "HEAD~1", "HEAD"]), "M\t.npmrc\nA\ta.txt");
        assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    }
}

#[test]
fn what_was_verified_before_a_kill_lands_with_the_next_run() {
    let project = project();
    let check =
        r#"{ "checks": [{ "name": "a", "deliverable": "A", "run": "cat a.txt", "output": ["built"] }] }"#;
    project.write(".autonoe/checks.json", check);
    let silent = BUILDS.replace("text = \"done\"", "fault = { kind = 'silence', times = 99 }");
    let silent = model(&always(&silent));
    let mut command = project.command(&silent, &["run"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    until("A has passed", || project.read(".autonoe/status.json").contains("\"passed\": true"));
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert!(!project.path("a.txt").exists());
    let run = project.run(&model(&always(BUILDS)), &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(landings(&run), [("main", true)], "{}", run.stderr);
    assert_eq!(project.read("a.txt"), "built\n");
}

#[test]
fn land_finishes_a_landing_that_was_killed() {
    let project = project();
    let model = model(&always(BUILDS));
    let old = project.git(&["rev-parse", "main"]);
    let run = project.run(&model, &["run", "--land", "never"]);
    assert_eq!(landings(&run), [("autonoe/1", false)]);
    let (status, _) = command(&project, &["status"]);
    assert!(status.contains("Branch autonoe/1 has commits that have not landed"), "{status}");
    let commit = project.git(&["rev-parse", "autonoe/1"]);
    // As a killed process leaves it: on record, and with a file that git has only begun to write.
    let hub = project.journal().with_file_name("hub");
    let record = serde_json::json!({ "branch": "main", "commit": commit, "old": old });
    fs::write(hub.join("landing.json"), record.to_string()).expect("written");
    project.write("a.txt", "bu");
    let (landed, code) = command(&project, &["land"]);
    assert!(code == Some(0) && landed.contains("[LANDED]") && landed.contains("interrupted"), "{landed}");
    assert_eq!(project.read("a.txt"), "built\n");
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    assert_eq!(command(&project, &["land"]), ("Nothing is waiting to land.\n".to_owned(), Some(0)));
}

#[test]
fn what_the_user_has_removed_after_it_landed_is_not_taken_up_again() {
    let project = project();
    let first = model(&always(BUILDS));
    project.run(&first, &["run"]).assert_ended("all_passed", 0);
    project.git(&["reset", "-q", "--hard", "HEAD~1"]);
    project.write(".autonoe/status.json", &project.read(".autonoe/status.json").replace("true", "false"));
    let looks = BUILDS.replace("git add a.txt", "git log --format=%s > seen.txt; git add a.txt seen.txt");
    let run = project.run(&model(&always(&looks)), &["run"]);
    assert_eq!(landings(&run), [("main", true)], "{}", run.stderr);
    assert_eq!(project.read("seen.txt"), "work\n", "it began at the user's commit");
}

/// The agents' home is kept between runs.
#[test]
fn settings_that_an_agent_left_for_git_do_not_stop_the_next_run() {
    for makes in ["mkfifo ~/.config/git/config", "echo [[[ > ~/.config/git/config"] {
        let project = project();
        let left = format!("mkdir -p ~/.config/git; {makes}");
        let first = project.run(&model(&always(&calls_once(&left))), &["run", "-n", "1"]);
        assert!(first.stderr.contains("0/1 deliverables passed"), "{}", first.stderr);
        let repairs = calls_once("rm ~/.config/git/config; echo three things > a.txt");
        let run = project.run(&model(&always(&repairs)), &["run", "-n", "1"]);
        assert_eq!(run.sessions().len(), 1, "{makes}: {}", run.stderr);
    }
}

fn calls_once(command: &str) -> String {
    format!(
        "[[conversation.turn]]\ncall = [{{ tool = 'Bash', input = {{ command = '{command}' }} }}]\n\
         [[conversation.turn]]\ntext = 'done'\n"
    )
}

#[test]
fn agents_commit_under_the_name_of_the_repository() {
    let project = project();
    project.git(&["config", "user.name", "Ann Work"]);
    project.git(&["config", "user.email", "ann@work.example"]);
    let run = project.run(&model(&always(BUILDS)), &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(project.git(&["log", "-1", "--format=%an %ae"]), "Ann Work ann@work.example");
}

#[test]
fn what_settings_named_by_a_variable_run_does_not_land_by_itself() {
    let project = project();
    let settings = project.home().join("other.gitconfig");
    fs::write(&settings, "[core]\n\tfsmonitor = ./scripts/watch.sh\n").expect("written");
    let model = model(&always(&BUILDS.replace("a.txt", "scripts/watch.sh")));
    let mut command = project.command(&model, &["run"]);
    let run = RunOutput::from(command.env("GIT_CONFIG_GLOBAL", &settings).output().expect("started"));
    assert_eq!(landings(&run), [("autonoe/1", false)], "{}", run.stderr);
    assert!(run.stderr.contains("scripts/watch.sh"), "{}", run.stderr);
}

#[test]
fn a_file_that_the_user_ignores_does_not_land_by_force() {
    let project = project();
    project.commit(&[(".gitignore", ".env\n")]);
    let command = "echo x > .env; echo x > ok.txt; git add -f .env ok.txt; git commit -qm both";
    let model = model(&runs_and_passes(command));
    let run = project.run(&model, &["run"]);
    assert_eq!(landings(&run), [("autonoe/1", false)]);
    assert!(run.of_type("landing").any(|event| event.to_string().contains(".env (ignored by git)")));
    assert!(!project.path(".env").exists());
    let (landed, code) = self::command(&project, &["land", "--accept-self-acting"]);
    assert!(code == Some(0) && landed.contains("[LANDED]"), "{landed}");
    assert_eq!(project.read(".env"), "x\n");
}

#[test]
fn a_removal_that_is_included_lands() {
    let project = project();
    project.commit(&[("old.txt", "old\n")]);
    fs::remove_file(project.path("old.txt")).expect("removed");
    let run = project.run(&model(&always(BUILDS)), &["run", "--include-uncommitted"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(landings(&run), [("main", true)]);
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    assert!(!project.git(&["ls-files"]).contains("old.txt"));
}

/// Commits `.envrc`, which acts by itself, and passes A.
fn with_envrc() -> String {
    let command = "echo x > .envrc; git add -f .envrc; git commit -qm envrc";
    runs_and_passes(command)
}

#[test]
fn every_reason_names_files_that_act_by_themselves() {
    for args in [&["run", "--land", "never"][..], &["run", "--branch", "topic"]] {
        let project = project();
        let run = project.run(&model(&with_envrc()), args);
        let [(_, false)] = landings(&run)[..] else { panic!("{:?}", landings(&run)) };
        assert!(run.of_type("landing").any(|event| event["why"].to_string().contains(".envrc")), "{args:?}");
    }
}

#[test]
fn what_was_refused_sessions_ago_is_said_again_at_the_end() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]).in_workspace();
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "the user's\n")]);
    let first = with_envrc();
    let second = claims_after(
        "echo b > b.txt; git add b.txt; git commit -qm b",
        "[[conversation.turn]]\ntext = 'done'",
    );
    let open = |id: &str, script: String| {
        let script = script.replace("\"A\"", &format!("\"{id}\""));
        let when = format!("[[conversation]]\nwhen = \"Open, in order of priority:\\n- `{id}`\"");
        script.replace("[[conversation]]", &when)
    };
    let both = open("A", first) + &open("B", second);
    let run = project.run(&model(&both), &["run"]);
    run.assert_ended("all_passed", 0);
    let why: Vec<_> = run.of_type("landing").map(|event| event["why"].to_string()).collect();
    assert!(why.len() == 2 && why.iter().all(|why| why.contains(".envrc")), "{why:?}");
    let last = run.of_type("landing").last().and_then(|event| event["commit"].as_str());
    assert_eq!(Some(project.git(&["rev-parse", "autonoe/1"]).as_str()), last);
}

#[test]
fn what_the_user_ignores_everywhere_does_not_land_by_force() {
    let project = project();
    project.write("../home/.config/git/ignore", ".env\n");
    let command = "echo x > .env; git add -f .env; git commit -qm env";
    let run = project.run(&model(&runs_and_passes(command)), &["run"]);
    assert_eq!(landings(&run), [("autonoe/1", false)]);
}

#[test]
fn the_users_own_settings_do_not_land_through_a_link() {
    let project = project();
    project.commit(&[("dot/autonoe/config.toml", "")]);
    fs::create_dir_all(project.home().join(".config")).expect("made");
    symlink(project.path("dot/autonoe"), project.home().join(".config/autonoe")).expect("linked");
    let command = "printf '[sandbox]\\nenabled = false\\n' > dot/autonoe/config.toml; git commit -qam config";
    let run = project.run(&model(&runs_and_passes(command)), &["run"]);
    assert_eq!(landings(&run), [("autonoe/1", false)], "{}", run.stderr);
}

/// Passes everything on to git, but ends the one that has updated the user's files as if it was killed, once.
const KILLS_CHECKOUT: &str = r#"#!/bin/bash
case "$*" in *--no-overwrite-ignore*) ;; *) exec /usr/bin/git "$@" ;; esac
[ ! -e .git/killed ] || exec /usr/bin/git "$@"
: > .git/killed
/usr/bin/git "$@"
: > "$GIT_INDEX_FILE.lock"
exit 137
"#;

/// Passes everything on to git, but kills the one that is about to move the user's branch, once.
const KILLS_UPDATE_REF: &str = r#"#!/bin/bash
case "$*" in *"autonoe: land"*) ;; *) exec /usr/bin/git "$@" ;; esac
[ ! -e .git/killed ] || exec /usr/bin/git "$@"
coproc /usr/bin/git "$@"
git=$COPROC_PID
exec 3<&"${COPROC[0]}"
cat <&3 &
while read -r line; do
    [ "$line" != commit ] || { : > .git/killed; kill -9 "$git"; exit 137; }
    echo "$line" >&"${COPROC[1]}"
done
"#;

#[test]
fn a_landing_is_repeated_if_git_is_killed_and_the_run_goes_on() {
    for git in [KILLS_CHECKOUT, KILLS_UPDATE_REF] {
        repeats_landing_with(git);
    }
}

fn repeats_landing_with(git: &str) {
    let project = project();
    let bin = project.home().join("bin");
    fs::create_dir_all(&bin).expect("made");
    fs::write(bin.join("git"), git).expect("written");
    fs::set_permissions(bin.join("git"), Permissions::from_mode(0o755)).expect("executable");
    let model = model(&always(BUILDS));
    let mut command = project.command(&model, &["run"]);
    let path = format!("{}:{PATH}", bin.display());
    let run = RunOutput::from(command.env("PATH", path).output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert!(project.path(".git/killed").exists(), "git was not killed");
    assert_eq!(landings(&run).last(), Some(&("main", true)), "{}", run.stderr);
    assert_eq!(project.read("a.txt"), "built\n");
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    for lock in [".git/HEAD.lock", ".git/refs/heads/main.lock", ".git/index.lock"] {
        assert!(!project.path(lock).exists(), "{lock}");
    }
}
