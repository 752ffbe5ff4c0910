//! Pull requests: what is pushed, what is asked for, and what is held back.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use autonoe_test_kit::PATH;

use super::support::{CliTestProject, always, claims_after, model, runs_and_passes};
use super::workspaces::{BUILDS, project};

/// A remote repository, and a `gh` that writes down what it is asked for.
fn with_remote(project: &CliTestProject) -> String {
    let (remote, bin) = (project.home().join("remote.git"), project.home().join("bin"));
    project.git(&["init", "-q", "--bare", &remote.display().to_string()]);
    project.git(&["remote", "add", "origin", &remote.display().to_string()]);
    fs::create_dir(&bin).expect("made");
    let gh = "#!/bin/sh\n[ \"$1\" = --version ] && exit\nfor word; do echo \"<$word>\"; done > $HOME/asked\ncat > $HOME/body\n";
    fs::write(bin.join("gh"), gh).expect("written");
    fs::set_permissions(bin.join("gh"), fs::Permissions::from_mode(0o755)).expect("made executable");
    format!("{}:{PATH}", bin.display())
}

#[test]
fn a_run_can_end_with_a_pull_request() {
    let project = project();
    let (path, model) = (with_remote(&project), model(&always(BUILDS)));
    let before = project.git(&["rev-parse", "main"]);
    project.git(&["config", "push.followTags", "true"]);
    project.git(&["tag", "-a", "-m", "of the user", "v1", "main"]);
    let mut command = project.command(&model, &["run", "--pr"]);
    let output = command.env("PATH", &path).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("1 commit(s) from before the run are pushed too"), "{said}");
    let pushed = project.git(&["ls-remote", "origin"]);
    assert!(pushed.lines().all(|line| line.ends_with("refs/heads/autonoe/1")), "{pushed}");
    assert_eq!(project.git(&["rev-parse", "main"]), before, "nothing lands");
    let remote = project.home().join("remote.git");
    assert_eq!(project.git_in(&remote, &["log", "--format=%s", "autonoe/1"]), "Build a\nwork");
    let read = |name: &str| fs::read_to_string(project.home().join(name)).expect(name);
    assert!(
        read("asked").starts_with("<pr>\n<create>\n<--head>\n<autonoe/1>\n<--title>\n<Spec>\n"),
        "{}",
        read("asked")
    );
    assert!(read("body").contains("a.txt") && read("body").contains("thing A"), "{}", read("body"));
}

#[test]
fn a_pull_request_needs_the_users_word_and_says_what_is_missing() {
    let project = project();
    let pr = |args: &[&str], path: &str| {
        let output = project.autonoe(None).arg("pr").args(args).env("PATH", path).output().expect("started");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = pr(&[], PATH);
    assert!(code == Some(2) && said.contains("no remote 'origin'"), "{said}");
    let path = with_remote(&project);
    let (code, said) = pr(&["--branch", "nowhere"], &path);
    assert!(code == Some(2) && said.contains("There is no branch 'nowhere'"), "{said}");
    let (code, said) = pr(&[], PATH);
    assert!(code == Some(2) && said.contains("gh was not found"), "{said}");
    let model = model(&always(BUILDS));
    project.run(&model, &["run", "--branch", "topic"]).assert_ended("all_passed", 0);
    assert!(!project.path("a.txt").exists());
    let (code, said) = pr(&["--branch", "topic"], &path);
    assert!(code == Some(2) && said.contains("you did not agree"), "{said}");
    assert_eq!(project.git(&["ls-remote", "origin"]), "");
    let (code, said) = pr(&["--branch", "topic", "--yes", "--draft", "--title", "T"], &path);
    assert_eq!(code, Some(0), "{said}");
    assert!(project.git(&["ls-remote", "origin"]).contains("refs/heads/topic"));
}

/// What has landed is pushed under the name of its run, not onto the branch that the pull request is for; or the branch that was named.
#[test]
fn what_has_landed_is_not_pushed_to_the_branch_that_it_is_for() {
    for (options, branch) in [(&["run"][..], "autonoe/1"), (&["run", "--branch", "topic"], "topic")] {
        let project = project();
        let path = with_remote(&project);
        project.git(&["push", "-q", "origin", "main"]);
        let before = project.git(&["ls-remote", "origin", "refs/heads/main"]);
        project.run(&model(&always(BUILDS)), options).assert_ended("all_passed", 0);
        let pr = project.autonoe(None).args(["pr", "--yes"]).env("PATH", &path).output().expect("started");
        assert_eq!(pr.status.code(), Some(0), "{pr:?}");
        assert_eq!(project.git(&["ls-remote", "origin", "refs/heads/main"]), before);
        assert!(project.git(&["ls-remote", "origin"]).contains(&format!("refs/heads/{branch}")));
        let asked = fs::read_to_string(project.home().join("asked")).expect("asked");
        assert!(asked.contains(&format!("<--head>\n<{branch}>")), "{asked}");
    }
}

#[test]
fn changes_of_what_ci_runs_are_pushed_only_with_the_users_word() {
    let project = project();
    let path = with_remote(&project);
    project.git(&["push", "-q", "origin", "main"]);
    let command = "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/x.yml; echo x > .envrc; git add -A; git commit -qm ci";
    let model = model(&runs_and_passes(command));
    let output = project.command(&model, &["run", "--pr"]).env("PATH", &path).output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("these files change what your CI runs: .github/workflows/x.yml"), "{said}");
    assert!(!project.git(&["ls-remote", "origin"]).contains("autonoe/1"));
    let mut pr = project.autonoe(None);
    let output = pr.args(["pr", "--yes", "--accept-ci"]).env("PATH", &path).output().expect("started");
    assert!(output.status.success(), "{output:?}");
    assert!(project.git(&["ls-remote", "origin"]).contains("autonoe/1"));
    let body = fs::read_to_string(project.home().join("body")).expect("read");
    assert!(body.contains("by themselves, so look at them first: `.envrc`"), "{body}");
}

#[test]
fn what_no_check_has_seen_or_how_it_is_judged_is_not_pushed_by_itself() {
    let unchecked = "[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = 'echo later > later.txt' } }]\n[[conversation.turn]]\ntext = 'done'";
    let forges = "git update-index --cacheinfo 100644,$(echo true | git hash-object -w --stdin),tests/a.sh; git commit -qm forged; git update-index --skip-worktree tests/a.sh; ";
    for (first, end, said) in [
        ("", unchecked, "no check has seen the last 1 commit(s)"),
        (forges, "[[conversation.turn]]\ntext = 'done'", "change how the work is judged: tests/a.sh"),
    ] {
        let project = project();
        let path = with_remote(&project);
        project.write("SPEC.md", "# Spec\n\n```check A protect=tests/**\n$ sh tests/a.sh\n```\n");
        project.commit(&[("tests/a.sh", "test -f a.txt\n")]);
        project.git(&["push", "-q", "origin", "main"]);
        let command = format!("{first}echo built > a.txt; git add a.txt; git commit -qm a");
        let model = model(&claims_after(&command, end));
        let output = project.command(&model, &["run", "--pr"]).env("PATH", &path).output().expect("started");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains("Nothing was pushed") && errors.contains(said), "{errors}");
        assert!(!project.git(&["ls-remote", "origin"]).contains("autonoe/1"));
    }
}

#[test]
fn a_changed_script_that_ci_runs_is_pushed_only_with_the_users_word() {
    let project = project();
    let path = with_remote(&project);
    let workflow = "on: push\njobs:\n  t:\n    steps:\n    - run: ./ci/test.sh\n";
    project.commit(&[(".github/workflows/x.yml", workflow), ("ci/test.sh", "true\n")]);
    project.git(&["push", "-q", "origin", "main"]);
    let model = model(&runs_and_passes("echo curl > ci/test.sh; git commit -qam ci"));
    let output = project.command(&model, &["run", "--pr"]).env("PATH", &path).output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("these files change what your CI runs: ci/test.sh"), "{said}");
    assert!(!said.contains("from before the run"), "{said}");
    assert!(!project.git(&["ls-remote", "origin"]).contains("autonoe/1"));
}
