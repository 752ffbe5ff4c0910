//! Only what a commit reaches comes into the hub, and every object of it is checked.

use std::fs;
use std::process::Command;

use autonoe_test_kit::SmallDisk;

use crate::fixture::HubFixture;

#[tokio::test]
async fn commits_are_fetched_again_and_again() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    let fetched = fixture.hub.fetch(&workspace).await.unwrap();
    assert_eq!(Some(fetched), revision.commit, "nothing was committed");
    for number in 0..3 {
        let commit = fixture.work(&workspace, &[("count.txt", &number.to_string())]);
        for _ in 0..2 {
            let fetched = fixture.hub.fetch_new(&workspace).await.unwrap();
            assert_eq!(fetched, commit);
        }
        assert_eq!(fixture.hub_git(&["show", "autonoe/1:count.txt"]), number.to_string());
    }
    fixture.hub_git(&["fsck", "--full", "--strict"]);
}

#[tokio::test]
async fn objects_that_the_commit_does_not_reach_stay_behind() {
    let fixture = HubFixture::new().await;
    let (workspace, _) = fixture.workspace().await;
    let tree = workspace.tree();
    fs::write(tree.join("secret"), "payload").unwrap();
    let blob = fixture.git_in(&tree, &["hash-object", "-w", "secret"]);
    fs::remove_file(tree.join("secret")).unwrap();
    fixture.work(&workspace, &[("a.txt", "stashed")]);
    fixture.git_in(&tree, &["branch", "hidden"]);
    fixture.git_in(&tree, &["reset", "-q", "--hard", "HEAD~1"]);
    fixture.work(&workspace, &[("b.txt", "real")]);
    fixture.hub.fetch(&workspace).await.unwrap();
    let objects = fixture.hub_git(&["cat-file", "--batch-all-objects", "--batch-check"]);
    assert!(!objects.contains(&blob), "a dangling blob");
    assert_eq!(
        fixture.hub_git(&["for-each-ref", "--format=%(refname)"]),
        "refs/autonoe/base\nrefs/autonoe/current\nrefs/heads/autonoe/1"
    );
    assert!(!objects.contains(&fixture.git_in(&tree, &["rev-parse", "hidden"])), "another branch");
}

#[tokio::test]
async fn a_forged_object_is_refused() {
    let fixture = HubFixture::new().await;
    let (workspace, _) = fixture.workspace().await;
    let tree = workspace.tree();
    fixture.work(&workspace, &[("real.txt", "what the hash says"), ("other.txt", "something else")]);
    let [real, other] = ["real.txt", "other.txt"].map(|name| {
        let hash = fixture.git_in(&tree, &["rev-parse", &format!("HEAD:{name}")]);
        tree.join(".git/objects").join(&hash[..2]).join(&hash[2..])
    });
    fs::remove_file(&real).unwrap();
    fs::copy(&other, &real).unwrap();
    let fault = fixture.hub.fetch(&workspace).await.unwrap_err();
    assert!(fault.message.contains("cannot be used"), "{}", fault.message);
    assert_eq!(fixture.hub_git(&["for-each-ref", "refs/heads"]), "", "nothing was taken");
}

#[tokio::test]
async fn settings_and_hooks_of_a_workspace_do_not_run_outside_its_room() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    let tree = workspace.tree();
    let canary = fixture.home().join("canary");
    let evil = format!("touch {}", canary.display());
    fixture.work(&workspace, &[("a.txt", "x"), (".gitattributes", "* filter=evil diff=evil merge=evil\n")]);
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "filter.evil.clean",
        "filter.evil.smudge",
    ] {
        fixture.git_in(&tree, &["config", key, &evil]);
    }
    fixture.git_in(&tree, &["config", "core.hooksPath", "hooks"]);
    for hook in ["post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change"] {
        let path = tree.join("hooks").join(hook);
        crate::fixture::write(&path, &format!("#!/bin/sh\n{evil}\n"));
        Command::new("chmod").arg("+x").arg(path).status().unwrap();
    }
    fixture.land(&workspace, &revision).await;
    fixture.hub.workspace("1", "autonoe/2", &revision).await.unwrap();
    for args in [
        ["status", "--short"].as_slice(),
        &["diff"],
        &["log", "-p"],
        &["commit", "-q", "--allow-empty", "-m", "x"],
    ] {
        fixture.git(args);
    }
    assert!(!canary.exists());
    assert!(!fixture.path(".git/config").metadata().unwrap().len().eq(&0));
}

#[tokio::test]
async fn a_workspace_without_a_usable_repository_is_a_fault_and_takes_nothing() {
    for damage in
        ["rm -rf .git", "rm .git/HEAD", "git checkout -q --orphan empty", "rm -rf .git && mkfifo .git"]
    {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        let kept = fixture.work(&workspace, &[("kept.txt", "x")]);
        fixture.hub.fetch(&workspace).await.unwrap();
        let status = Command::new("sh").args(["-c", damage]).current_dir(workspace.tree()).status();
        assert!(status.unwrap().success());
        let fault = fixture.hub.fetch(&workspace).await.unwrap_err();
        assert!(fault.message.contains("cannot be used"), "{damage}: {}", fault.message);
        assert_eq!(fixture.hub_git(&["rev-parse", "autonoe/1"]), kept);
        assert_eq!(fixture.git(&["rev-parse", "HEAD"]), revision.commit.unwrap());
    }
}

/// A few trees, each of which contains the one below it many times, stand for millions of files.
#[tokio::test]
async fn a_commit_with_too_many_files_cannot_be_used() {
    const BOMB: &str = r#"blob=$(echo x | git hash-object -w --stdin)
entry="100644 blob $blob"
for level in 1 2 3 4 5 6 7 8; do
    tree=$(for n in 1 2 3 4 5 6 7 8; do printf '%s\tsomething-with-a-long-name-%s\n' "$entry" $n; done | git mktree)
    entry="040000 tree $tree"
done
git update-ref HEAD "$(git commit-tree -p HEAD -m bomb "$tree")""#;
    const REMOVE: &str = r#"git update-ref HEAD "$(git commit-tree -p HEAD -m gone HEAD~1^{tree})""#;
    let fixture = HubFixture::new().await;
    let (workspace, _) = fixture.workspace().await;
    for script in [BOMB, REMOVE] {
        let mut shell = Command::new("sh");
        shell.envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a")]);
        shell.envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a")]);
        let made = shell.current_dir(workspace.tree()).args(["-ec", script]).status();
        assert!(made.unwrap().success());
        let fault = fixture.hub.fetch(&workspace).await.unwrap_err();
        assert!(fault.message.contains("a commit has more files than"), "{}", fault.message);
    }
}

#[tokio::test]
async fn work_for_which_there_is_no_space_is_refused_with_that_reason() {
    let fixture = HubFixture::new().await;
    let hub = fixture.home().join("state/hub");
    fs::create_dir_all(&hub).unwrap();
    let Some(_disk) = SmallDisk::at(hub.clone(), "16m") else { return };
    let (workspace, _) = fixture.workspace().await;
    let shell = |script: &str| {
        let ended = Command::new("sh").args(["-c", script]).current_dir(&hub).status();
        assert!(ended.unwrap().success(), "{script}");
    };
    shell(&format!("head -c 3000000 /dev/urandom > {}/big", workspace.tree().display()));
    let commit = fixture.work(&workspace, &[]);
    shell("cat /dev/zero > fill 2> /dev/null; truncate -s -1500000 fill");
    let fault = fixture.hub.fetch(&workspace).await.unwrap_err();
    assert!(fault.message.starts_with("There is no room to fetch the work of the agent in "), "{fault:?}");
    // Otherwise the workspace would be made anew, without it.
    assert_ne!(fault.code, "workspace_unusable");
    assert!(fault.message.contains(&format!("on the file system at {}", hub.display())), "{fault:?}");
    shell("rm fill");
    assert_eq!(fixture.hub.fetch(&workspace).await.unwrap(), commit);
}

#[tokio::test]
async fn a_malformed_file_of_git_is_named() {
    let fixture = HubFixture::new().await;
    let (workspace, _) = fixture.workspace().await;
    let modules = "[submodule \"s\"]\n\tpath = s\n\turl = ./x\n\tupdate = !evil\n";
    fixture.work(&workspace, &[(".gitmodules", modules)]);
    let fault = fixture.hub.fetch(&workspace).await.unwrap_err();
    let expected =
        "cannot be used: git does not accept its .gitmodules: disallowed submodule update setting: !evil.";
    assert!(fault.message.contains(expected), "{}", fault.message);
}
