//! Workspaces are made from the user's commit, and reused.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use autonoe_sandbox::SandboxLayer;
use autonoe_test_kit::TestDirectory;
use autonoe_workspace::{Preparation, Settled, SiteOptions, Start, WorkspaceSite};

use crate::fixture::{HubFixture, files, write};

#[tokio::test]
async fn a_workspace_has_the_commit_and_nothing_else_of_the_project() {
    let fixture = HubFixture::new().await;
    fixture.git(&["tag", "-a", "-m", "one", "v1"]);
    fixture.git(&["branch", "other"]);
    fixture.write("a.txt", "changed by the user\n");
    fixture.write("untracked.txt", "the user's\n");
    fixture.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch ran\n");
    let (workspace, revision) = fixture.workspace().await;
    let tree = workspace.tree();
    let expected = [".gitignore", "a.txt", "dir/b.txt"].map(PathBuf::from);
    assert_eq!(files(&tree), expected);
    assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "one\n");
    assert_eq!(revision.uncommitted, ["a.txt", "untracked.txt"]);
    assert_eq!(fixture.git_in(&tree, &["status", "--porcelain"]), "");
    assert_eq!(fixture.git_in(&tree, &["branch", "--show-current"]), "autonoe/1");
    assert_eq!(fixture.git_in(&tree, &["describe"]), "v1");
    assert_eq!(fixture.git_in(&tree, &["log", "--format=%s"]), "work");
}

#[tokio::test]
async fn our_own_files_are_not_in_a_workspace_and_cannot_be_committed_by_accident() {
    let directory = TestDirectory::default();
    directory.git(&["init", "-q", "-b", "main", "."]);
    directory.write(".autonoe/agent.json", "{}");
    directory.write("a.txt", "one\n");
    directory.git(&["add", "--all"]);
    directory.git(&["commit", "-q", "-m", "all"]);
    let fixture = HubFixture::of(directory, "").await;
    let (workspace, _) = fixture.workspace().await;
    assert_eq!(files(&workspace.tree()), [PathBuf::from("a.txt")]);
    write(&workspace.tree().join(".autonoe/status.json"), "{}");
    write(&workspace.tree().join(".autonoe-note.md"), "next");
    fixture.work(&workspace, &[("new.txt", "x")]);
    assert_eq!(fixture.git_in(&workspace.tree(), &["diff", "--name-status", "HEAD~1"]), "A\tnew.txt");
}

#[tokio::test]
async fn objects_are_linked_not_copied() {
    let fixture = HubFixture::new().await;
    fixture.git(&["gc", "-q"]);
    fixture.commit(&[("later.txt", "loose")]);
    fixture.workspace().await;
    let mut linked = 0;
    for file in files(&fixture.home().join("state/hub/base/objects")) {
        let path = fixture.home().join("state/hub/base/objects").join(&file);
        let original = fixture.path(".git/objects").join(&file);
        assert_eq!(path.metadata().unwrap().ino(), original.metadata().unwrap().ino(), "{}", file.display());
        linked += 1;
    }
    assert!(linked >= 5, "a pack, its index and three loose objects");
}

#[tokio::test]
async fn a_workspace_is_reused_with_what_git_ignores_and_nothing_else() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    let tree = workspace.tree();
    fixture.work(&workspace, &[("new.txt", "x"), ("a.txt", "changed\n")]);
    write(&tree.join("untracked/file"), "x");
    write(&tree.join("build/output"), "kept");
    fs::remove_file(tree.join("dir/b.txt")).unwrap();
    fixture.git_in(&tree, &["config", "core.fsmonitor", "/tmp/evil"]);
    fixture.git_in(&tree, &["update-index", "--assume-unchanged", "a.txt"]);

    let (again, preparation) = fixture.hub.workspace("1", "autonoe/2", &revision).await.unwrap();
    assert_eq!(preparation, Preparation::Reused);
    assert_eq!(files(&tree), [".gitignore", "a.txt", "build/output", "dir/b.txt"].map(PathBuf::from));
    assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "one\n");
    assert_eq!(fixture.git_in(&tree, &["status", "--porcelain"]), "");
    assert!(!fs::read_to_string(tree.join(".git/config")).unwrap().contains("evil"));
    assert_eq!(fixture.git_in(&tree, &["rev-parse", "HEAD"]), revision.commit.unwrap());
    assert_eq!(again.branch(), "autonoe/2");
}

#[tokio::test]
async fn a_reused_workspace_follows_the_user() {
    let fixture = HubFixture::new().await;
    fixture.workspace().await;
    fixture.git(&["rm", "-q", "dir/b.txt"]);
    fixture.commit(&[("a.txt", "three\n"), ("c.txt", "new\n")]);
    let (workspace, _) = fixture.workspace().await;
    assert_eq!(files(&workspace.tree()), [".gitignore", "a.txt", "c.txt"].map(PathBuf::from));
    assert_eq!(fs::read_to_string(workspace.tree().join("a.txt")).unwrap(), "three\n");
}

#[tokio::test]
async fn a_destroyed_workspace_is_made_anew() {
    for damage in [
        "rm -rf .git",
        "rm -rf .git && mkfifo .git",
        "chmod -R a-w . && rm -f x",
        "rm -rf dir && ln -s /etc dir",
    ] {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        let status =
            std::process::Command::new("sh").args(["-c", damage]).current_dir(workspace.tree()).status();
        assert!(status.unwrap().success());
        fixture.hub.workspace("1", "autonoe/1", &revision).await.unwrap();
        let tree = workspace.tree();
        assert_eq!(fs::read_to_string(tree.join("dir/b.txt")).unwrap(), "two\n", "{damage}");
        assert_eq!(fixture.git_in(&tree, &["status", "--porcelain"]), "", "{damage}");
    }
}

#[tokio::test]
async fn objects_outlive_the_users_repository() {
    let fixture = HubFixture::new().await;
    let (workspace, _) = fixture.workspace().await;
    fs::remove_dir_all(fixture.root()).unwrap();
    fixture.git_in(&workspace.tree(), &["fsck", "--full"]);
    fixture.work(&workspace, &[("new.txt", "x")]);
    fixture.hub.fetch(&workspace).await.unwrap();
}

#[tokio::test]
async fn included_files_are_kept_out_of_commits_also_when_they_are_not_included_any_more() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[(".gitignore", "/build/\n/secret\n")]);
    fixture.write("secret", "x");
    for (run, included) in [(1, "secret"), (2, "secret"), (3, "other")] {
        fixture.write(".worktreeinclude", included);
        let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
        let site = WorkspaceSite::prepare(hub, run, Start::New, options, &Settled::default()).await.unwrap();
        let tree = site.workspace.tree();
        assert_eq!(fs::read_to_string(tree.join("secret")).unwrap(), "x", "run {run}");
        assert_eq!(fixture.git_in(&tree, &["status", "--porcelain"]), "", "run {run}");
        let exclude = fs::read_to_string(tree.join(".git/info/exclude")).unwrap();
        assert_eq!(exclude.matches("/secret\n").count(), 1, "run {run}: {exclude}");
    }
}

/// Makes the user's git ignore `secret.txt` everywhere, in each of the ways that git knows.
fn ignore_everywhere(fixture: &mut HubFixture, way: &str) {
    let home = fixture.home();
    fixture.hub.users.home = Some(home.clone());
    let named = |path: &str| format!("[core]\n\texcludesFile = {path}\n");
    let own = home.join("own-ignore");
    match way {
        "usual" => write(&home.join(".config/git/ignore"), "secret.txt\n"),
        "moved" => {
            fixture.hub.users.git_settings = vec![home.join("xdg/git/config")];
            write(&home.join("xdg/git/ignore"), "secret.txt\n");
        }
        "of the repository" => {
            fixture.git(&["config", "core.excludesFile", own.to_str().unwrap()]);
        }
        "relative" => {
            fixture.git(&["config", "core.excludesFile", "dir/own-ignore"]);
            fixture.commit(&[("dir/own-ignore", "secret.txt\n")]);
        }
        "variables" => {
            let variables = [
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "core.excludesFile"),
                ("GIT_CONFIG_VALUE_0", own.to_str().unwrap()),
            ];
            fixture.hub.users.variables =
                variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        }
        "home" => write(&home.join(".gitconfig"), &named("~/own-ignore")),
        _ => write(&home.join(".gitconfig"), &named(own.to_str().unwrap())),
    }
    // Not all of it is UTF-8.
    fs::write(own, b"\xff.txt\nsecret.txt\n").unwrap();
}

#[tokio::test]
async fn what_the_users_git_ignores_everywhere_is_not_uncommitted_work() {
    for way in ["usual", "moved", "of the repository", "relative", "variables", "home", "absolute"] {
        let mut fixture = HubFixture::new().await;
        ignore_everywhere(&mut fixture, way);
        fixture.write("secret.txt", "x");
        fixture.write("draft.txt", "x");
        let options = SiteOptions { includes_uncommitted: true, ..SiteOptions::default() };
        let hub = fixture.hub.clone();
        assert_eq!(hub.update().await.unwrap().uncommitted, ["draft.txt"], "{way}");
        let site = WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await.unwrap();
        let tree = site.workspace.tree();
        assert!(tree.join("draft.txt").exists() && !tree.join("secret.txt").exists(), "{way}");
        write(&tree.join("secret.txt"), "x");
        assert_eq!(fixture.git_in(&tree, &["status", "--porcelain"]), "", "{way}");
    }
}

/// Makes the repository's own patterns, which ignore `secret.txt`, or their directory a link to a place outside of the project.
fn link_own_patterns(fixture: &HubFixture, linked: &str) {
    let (own, elsewhere) = (fixture.path(".git").join(linked), fixture.home().join("elsewhere"));
    write(&fixture.path(".git/info/exclude"), "secret.txt\n");
    // Of several links, only the last one leads to it.
    fs::rename(&own, &elsewhere).unwrap();
    symlink(&elsewhere, fixture.home().join("link")).unwrap();
    symlink(fixture.home().join("link"), own).unwrap();
}

#[tokio::test]
async fn patterns_that_a_link_leads_to_are_those_of_git() {
    let layers = [SandboxLayer::Bubblewrap, SandboxLayer::Landlock];
    for (layer, linked) in layers.into_iter().flat_map(|layer| [(layer, "info/exclude"), (layer, "info")]) {
        let fixture = HubFixture::with_layer(layer);
        link_own_patterns(&fixture, linked);
        fixture.write("secret.txt", "x");
        fixture.write("dir/draft.txt", "x");
        fixture.write("a.txt", "changed");
        fixture.write("staged.txt", "x");
        fixture.git(&["add", "staged.txt"]);
        fixture.git(&["rm", "-q", "--cached", "dir/b.txt"]);
        fixture.write(".worktreeinclude", "secret.txt\ndraft.txt\n");
        let hub = fixture.hub.clone();
        let mut uncommitted = hub.update().await.unwrap().uncommitted;
        uncommitted.sort();
        let expected = [".worktreeinclude", "a.txt", "dir/b.txt", "dir/draft.txt", "staged.txt"];
        assert_eq!(uncommitted, expected, "{layer:?}, {linked}");
        fs::remove_file(fixture.path(".worktreeinclude")).unwrap();
        let options = SiteOptions { includes_uncommitted: true, ..SiteOptions::default() };
        let site = WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await.unwrap();
        let tree = site.workspace.tree();
        assert!(tree.join("dir/draft.txt").exists() && !tree.join("secret.txt").exists(), "{linked}");

        fixture.write(".worktreeinclude", "secret.txt\n");
        let (hub, options) =
            (fixture.hub.clone(), SiteOptions { slot: Some("x".into()), ..Default::default() });
        let site = WorkspaceSite::prepare(hub, 2, Start::New, options, &Settled::default()).await.unwrap();
        assert!(
            site.workspace.tree().join("secret.txt").exists(),
            "git ignores it, and it is wanted: {linked}"
        );
    }
}

#[tokio::test]
async fn patterns_that_a_link_leads_to_hold_for_the_first_commit() {
    for linked in ["info/exclude", "info"] {
        let directory = TestDirectory::default();
        directory.git(&["init", "-q", "-b", "main", "."]);
        let fixture = HubFixture::of(directory, "").await;
        link_own_patterns(&fixture, linked);
        fixture.write("secret.txt", "x");
        fixture.write("dir/staged.txt", "x");
        fixture.write("gone.txt", "x");
        fixture.git(&["add", "dir", "gone.txt"]);
        fs::remove_file(fixture.path("gone.txt")).unwrap();
        fixture.write("dir/staged.txt", "y");
        let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
        WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await.unwrap();
        assert_eq!(fixture.git(&["ls-files"]), "dir/staged.txt", "{linked}");
        assert_eq!(fixture.git(&["status", "--porcelain"]), "", "{linked}");
    }
}

#[tokio::test]
async fn uncommitted_work_that_cannot_be_listed_is_a_fault() {
    let fixture = HubFixture::new().await;
    fixture.write("draft.txt", "x");
    fixture.write(".git/info/exclude", &"draft.txt\n".repeat(1 << 20));
    let fault = fixture.hub.update().await.unwrap_err();
    assert!(fault.message.contains("info/exclude cannot be read: it is larger than"), "{fault:?}");
    fixture.write(".git/info/exclude", "");
    fixture.write(".git/index", "not an index");
    let fault = fixture.hub.update().await.unwrap_err();
    assert!(fault.message.contains("cannot be read"), "{fault:?}");
}

#[tokio::test]
async fn what_the_users_git_ignores_everywhere_is_not_in_the_first_commit() {
    for way in ["usual", "moved", "home", "absolute"] {
        let mut fixture = HubFixture::of(TestDirectory::default(), "").await;
        ignore_everywhere(&mut fixture, way);
        fixture.write("secret.txt", "x");
        fixture.write("a.txt", "x");
        let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
        WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await.unwrap();
        assert_eq!(fixture.git(&["ls-files"]), "a.txt", "{way}");
    }
}

#[tokio::test]
async fn a_first_commit_is_made_also_where_our_files_are_ignored() {
    for (ignored, committed) in [
        (".autonoe/\n", ".gitignore SPEC.md dir/.c"),
        (".autonoe\n", ".gitignore SPEC.md dir/.c"),
        (".*\n", "SPEC.md"),
        ("*\n!SPEC.md\n", "SPEC.md"),
        ("!*\n", ".gitignore SPEC.md dir/.c"),
    ] {
        let fixture = HubFixture::of(TestDirectory::default(), "").await;
        for name in ["SPEC.md", "dir/.c", ".autonoe/agent.json", ".autonoe/a/b", ".autonoe-note.md"] {
            fixture.write(name, "x");
        }
        fixture.write(".gitignore", ignored);
        let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
        WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await.unwrap();
        let files = fixture.git(&["ls-files"]).replace('\n', " ");
        assert_eq!(files, committed, "{ignored:?}");
    }
}

#[tokio::test]
async fn a_settled_workspace_is_restored_all_the_same() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    // Changed in the second in which it was filled, with the same size.
    write(&workspace.tree().join("a.txt"), "two\n");
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let saved = fixture.home().join("state/hub/workspaces/1/index");
    let before = fs::read(&saved).unwrap();
    fixture.hub.settle(&workspace).await.unwrap();
    assert_ne!(fs::read(&saved).unwrap(), before, "git has looked at what was written in the same second");
    write(&workspace.tree().join("dir/b.txt"), "one\n");
    fixture.hub.settle(&workspace).await.unwrap();
    fixture.hub.workspace("1", "autonoe/2", &revision).await.unwrap();
    for (name, content) in [("a.txt", "one\n"), ("dir/b.txt", "two\n")] {
        assert_eq!(fs::read_to_string(workspace.tree().join(name)).unwrap(), content);
    }
}

/// Root is refused nothing, so this shows more as a plain user.
#[tokio::test]
async fn a_workspace_that_was_made_read_only_is_made_anew() {
    let fixture = HubFixture::new().await;
    let revision = fixture.hub.update().await.unwrap();
    let (workspace, _) = fixture.hub.workspace("run", "autonoe/1", &revision).await.unwrap();
    let chmod = std::process::Command::new("chmod").args(["-R", "a-w"]).arg(workspace.tree()).status();
    assert!(chmod.unwrap().success());
    let (workspace, _) = fixture.hub.workspace("run", "autonoe/2", &revision).await.unwrap();
    fs::write(workspace.tree().join("new.txt"), "").unwrap();
}

#[tokio::test]
async fn the_next_session_has_the_specification_of_the_user() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("SPEC.md", "# Mine\n")]);
    let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
    let site = WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await.unwrap();
    let spec = site.workspace.tree().join("SPEC.md");
    fs::write(&spec, "# The agent's\n").unwrap();
    site.renew_spec().unwrap();
    assert_eq!(fs::read_to_string(&spec).unwrap(), "# Mine\n");
}

#[tokio::test]
async fn only_ignored_files_are_included_and_not_gigabytes_of_them() {
    let fixture = HubFixture::new().await;
    fixture.write(".worktreeinclude", "*\n");
    fixture.write("build/out", "x");
    fixture.write("draft.txt", "not ignored");
    let prepare = async |run| {
        let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
        WorkspaceSite::prepare(hub, run, Start::New, options, &Settled::default()).await
    };
    let tree = prepare(1).await.unwrap().workspace.tree();
    assert_eq!(fs::read_to_string(tree.join("build/out")).unwrap(), "x");
    assert!(!tree.join("draft.txt").exists());
    // It takes no space.
    let large = fs::File::create(fixture.path("build/large")).unwrap();
    large.set_len(2 << 30).unwrap();
    let fault = prepare(2).await.unwrap_err();
    assert!(fault.message.contains("2 GiB of it in build; at most 1 GiB"), "{}", fault.message);
    assert!(!tree.join("build/large").exists());
    fixture.write(".worktreeinclude", "/build/out\n");
    prepare(3).await.unwrap();
}
