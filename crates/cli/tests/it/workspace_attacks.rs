//! Attacks from inside a workspace, on every sandbox layer. Afterwards the user works with git as usual, and nothing of the agent's may run,
//! and nothing of the user's may have changed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use autonoe_test_kit::PATH;

use super::support::{CliTestProject, RunOutput, has_bubblewrap, model, runs_and_passes, without_bubblewrap};

/// Scripts that an agent runs in its workspace. `CANARY` is a program that shows that it was run outside of the room, `PROJECT` and `HOME_DIR`
/// are the user's.
const ATTACKS: [(&str, &str); 16] = [
    (
        "hooks",
        "for h in pre-commit post-checkout post-index-change reference-transaction; do echo CANARY > .git/hooks/$h; chmod +x .git/hooks/$h; done",
    ),
    (
        "settings",
        "git config core.fsmonitor CANARY; git config core.hooksPath $PWD/h; git config alias.status '!CANARY'; git config core.pager CANARY",
    ),
    (
        "the user's repository",
        "echo '[core]\n\tfsmonitor = CANARY' >> PROJECT/.git/config; echo CANARY > PROJECT/.git/hooks/pre-commit; chmod +x PROJECT/.git/hooks/pre-commit",
    ),
    (
        "the user's files",
        "echo x >> PROJECT/dirty.txt; chmod 000 HOME_DIR/victim; echo x >> HOME_DIR/victim; mv HOME_DIR/victim HOME_DIR/gone",
    ),
    (
        "filters",
        "echo '* filter=evil diff=evil merge=evil' > .gitattributes; git config filter.evil.clean CANARY; git config filter.evil.smudge CANARY",
    ),
    ("attributes in a directory", "mkdir -p deep; echo '* filter=evil' > deep/.gitattributes; touch deep/x"),
    ("a .git file", "rm -rf .git; echo 'gitdir: PROJECT/.git' > .git"),
    ("a link to the user's .git", "rm -rf .git; ln -s PROJECT/.git .git"),
    (
        "a link to the user's home",
        "ln -s HOME_DIR home; echo x > home/victim; ln -s ../../../../../../../../HOME_DIR/victim link",
    ),
    (
        "a bare repository",
        "mkdir -p docs/objects docs/refs/heads; echo 'ref: refs/heads/x' > docs/HEAD; touch docs/objects/k docs/refs/heads/k; printf '[core]\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = CANARY\\n' > docs/config",
    ),
    (
        "a submodule",
        "printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = ext::CANARY\\n' > .gitmodules; mkdir x; git -C x init -q; git -C x -c user.name=a -c user.email=a commit -q --allow-empty -m a",
    ),
    (
        "alternates",
        "echo PROJECT/.git/objects >> .git/objects/info/alternates; echo HOME_DIR > .git/objects/info/http-alternates",
    ),
    (
        "settings of editors",
        "mkdir -p .vscode .husky; echo '{}' > .vscode/tasks.json; echo CANARY > .husky/pre-commit; echo CANARY > .envrc; echo '{}' > .mcp.json",
    ),
    (
        "what the user's settings name",
        "mkdir -p ours; echo CANARY > ours/pre-commit; chmod +x ours/pre-commit",
    ),
    (
        "the user's objects",
        "for f in $(find -L .git/objects PROJECT/.git/objects -type f 2>/dev/null); do chmod u+w $f; echo x > $f; done; rm -rf PROJECT/.git/objects",
    ),
    (
        "moved branches",
        "git update-ref refs/heads/main HEAD~0; git checkout -q --detach; git branch -D autonoe/1; git replace HEAD HEAD~0",
    ),
];

/// What must not change: content and mode of files.
fn snapshot(paths: &[&Path]) -> Vec<(Vec<u8>, u32)> {
    let read = |path: &&Path| {
        let mode = path.metadata().map_or(0, |metadata| metadata.permissions().mode());
        (fs::read(path).unwrap_or_default(), mode)
    };
    paths.iter().map(read).collect()
}

fn attack(name: &str, script: &str, on_landlock: bool) {
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    let (victim, canary) = (project.home().join("victim"), project.home().join("canary"));
    fs::write(&victim, "the user's").expect("written");
    fs::write(&canary, format!("#!/bin/sh\ntouch {}\n", project.home().join("RAN").display()))
        .expect("written");
    fs::set_permissions(&canary, fs::Permissions::from_mode(0o755)).expect("made executable");
    let text = |path: &Path| path.display().to_string();
    let script = script
        .replace("CANARY", &text(&canary))
        .replace("PROJECT", &text(&project.root()))
        .replace("HOME_DIR", &text(&project.home()));
    project.git(&["init", "-q", "-b", "main", "."]);
    project.git(&["config", "core.hooksPath", "ours"]);
    let finish = "git -c user.name=a -c user.email=a add -A; git -c user.name=a -c user.email=a commit -qm attack; true";
    project.commit(&[("kept.txt", "the user's\n"), ("attack.sh", &format!("{script}\n{finish}\n"))]);
    project.write("dirty.txt", "not committed\n");

    let git = project.path(".git");
    let kept = project.path("kept.txt");
    let dirty = project.path("dirty.txt");
    let watched = [victim.as_path(), &kept, &dirty, &git.join("config")];
    let before = snapshot(&watched);
    let model = model(&runs_and_passes("bash attack.sh"));
    let mut command = project.command(&model, &["run", "-n", "1", "--max-duration", "100s"]);
    if on_landlock {
        command.env("PATH", without_bubblewrap(&project));
    }
    let run = RunOutput::from(command.output().expect("started"));
    assert!(run.of_type("tool_result").next().is_some(), "{name}: {}", run.stderr);
    assert_eq!(snapshot(&watched), before, "{name}: {}", run.stderr);

    for script in [
        "git status",
        "git diff HEAD",
        "git log -p --all",
        "git fsck --strict",
        "for d in */; do [ -L ${d%/} ] || [ ! -d $d ] || (cd $d && git status && git log -1) || exit; done",
        "echo more >> dirty.txt && git add dirty.txt && git -c user.name=u -c user.email=u commit -qm mine",
        "git checkout -q -b other && git checkout -q main",
    ] {
        let mut shell = Command::new("sh");
        shell.env_clear().env("PATH", PATH).env("HOME", project.home()).current_dir(project.root());
        let output = shell.args(["-c", script]).output().expect("started");
        assert!(!project.home().join("RAN").exists(), "{name}: `{script}` ran it");
        assert!(output.status.success(), "{name}: `{script}`: {output:?}");
    }
}

#[test]
fn nothing_runs_outside_and_nothing_of_the_users_changes() {
    for (name, script) in ATTACKS {
        if has_bubblewrap() {
            attack(name, script, false);
        }
    }
}

#[test]
fn nothing_runs_outside_and_nothing_of_the_users_changes_on_landlock() {
    for (name, script) in ATTACKS {
        attack(name, script, true);
    }
}
