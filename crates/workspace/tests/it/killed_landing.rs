//! A landing during which the process was killed is finished by the next start.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use autonoe_workspace::{
    HubLayout, InterruptedLanding, Landing, ProjectRevision, Settled, SiteEvent, SiteOptions, Start,
    Workspace, WorkspaceSite,
};

use crate::fixture::HubFixture;

const LOCK_RECORD: &str = "state/hub/landing-locks.json";

/// As if a landing of `new` on `old` had begun.
fn put_on_record(fixture: &HubFixture, old: &str, new: &str) {
    let record = format!(r#"{{"branch":"main","commit":"{new}","old":"{old}"}}"#);
    fs::write(fixture.home().join("state/hub/landing.json"), record).unwrap();
    put_locks_on_record(fixture);
}

/// As if git had begun to work for us in the user's repository.
fn put_locks_on_record(fixture: &HubFixture) {
    let record = r#"{"branch":"main","before":[],"earlier":[]}"#;
    fs::write(fixture.home().join(LOCK_RECORD), record).unwrap();
}

/// The user's checkout as git leaves it when it is killed while it updates files: the commit `new` is in the hub, and on record.
async fn killed() -> (HubFixture, String) {
    let fixture = HubFixture::new().await;
    fixture.commit(&[
        ("long.txt", "short"),
        ("deleted.txt", "x"),
        ("missing.txt", "x"),
        ("mode.sh", "x"),
        ("gone.sh", "x"),
        ("untouched.txt", "x"),
    ]);
    let (workspace, revision) = fixture.workspace().await;
    fixture.git_in(&workspace.tree(), &["rm", "-q", "deleted.txt"]);
    for name in ["mode.sh", "gone.sh"] {
        fixture.git_in(&workspace.tree(), &["update-index", "--chmod=+x", name]);
        fs::set_permissions(workspace.tree().join(name), Permissions::from_mode(0o755)).unwrap();
    }
    let long = "0123456789".repeat(1000);
    let files =
        [("a.txt", "new\n"), ("long.txt", long.as_str()), ("missing.txt", "y"), ("added/file.txt", "new\n")];
    let new = fixture.work(&workspace, &files);
    fixture.hub.fetch(&workspace).await.unwrap();

    fixture.write("a.txt", "new\n");
    fixture.write("added/file.txt", "new\n");
    fixture.write("long.txt", &long[..4096]);
    fs::set_permissions(fixture.path("mode.sh"), Permissions::from_mode(0o755)).unwrap();
    for name in ["missing.txt", "deleted.txt", "gone.sh"] {
        fs::remove_file(fixture.path(name)).unwrap();
    }
    let old = revision.commit.unwrap();
    put_on_record(&fixture, &old, &new);
    fixture.write(".git/index.lock", "");
    fixture.write(".git/refs/heads/main.lock", "");
    (fixture, new)
}

async fn start(fixture: &HubFixture) -> WorkspaceSite {
    let options = SiteOptions::default();
    WorkspaceSite::prepare(fixture.hub.clone(), 2, Start::New, options, &Settled::default()).await.unwrap()
}

#[tokio::test]
async fn it_is_finished_by_the_next_start() {
    let (fixture, new) = killed().await;
    let site = start(&fixture).await;
    let landed = SiteEvent::Landed {
        branch: "main".into(),
        commit: new.clone(),
        ci_files: Vec::new(),
        hook_files: Vec::new(),
        filtered_files: Vec::new(),
    };
    assert_eq!(site.finished, Some(landed), "the user learns of it");
    assert_eq!(
        site.left_out().collect::<Vec<_>>(),
        [""; 0],
        "what it had written is no change of the user's"
    );
    assert_eq!(fixture.git(&["rev-parse", "main"]), new);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    assert_eq!(fixture.read("long.txt").len(), 10_000);
    assert!(!fixture.home().join("state/hub/landing.json").exists());
}

#[tokio::test]
async fn a_file_that_the_user_has_changed_since_is_kept() {
    let (fixture, _) = killed().await;
    let old = fixture.git(&["rev-parse", "main"]);
    fixture.write("long.txt", "the user's");
    let site = start(&fixture).await;
    assert_eq!(site.left_out().collect::<Vec<_>>(), ["long.txt"]);
    assert_eq!(fixture.read("long.txt"), "the user's");
    assert_eq!(fixture.git(&["rev-parse", "main"]), old);
    for removed in ["missing.txt", "deleted.txt"] {
        assert_eq!(fixture.read(removed), "x", "the user did not remove it");
    }
}

/// It was complete, only that was not on record yet.
#[tokio::test]
async fn what_had_landed_and_the_user_has_reset_does_not_land_again() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    let new = fixture.work(&workspace, &[("a.txt", "new\n")]);
    fixture.hub.fetch(&workspace).await.unwrap();
    assert!(matches!(fixture.land(&workspace, &revision).await, Landing::Landed { .. }));
    let old = revision.commit.unwrap();
    put_on_record(&fixture, &old, &new);
    fixture.git(&["reset", "-q", "--hard", &old]);
    let site = start(&fixture).await;
    assert_eq!(site.finished, None);
    assert_eq!(fixture.git(&["rev-parse", "main"]), old);
    assert_eq!(fixture.git_in(&site.workspace.tree(), &["rev-parse", "HEAD"]), old);
}

#[tokio::test]
async fn a_user_who_has_moved_on_is_left_alone() {
    let (fixture, _) = killed().await;
    for lock in [".git/index.lock", ".git/refs/heads/main.lock"] {
        fs::remove_file(fixture.path(lock)).unwrap();
    }
    fixture.write("mine.txt", "x");
    fixture.write("untouched.txt", "being edited");
    fixture.git(&["add", "mine.txt", "a.txt"]);
    fixture.git(&["commit", "-q", "-m", "mine"]);
    let mine = fixture.git(&["rev-parse", "main"]);
    start(&fixture).await;
    assert_eq!(fixture.git(&["rev-parse", "main"]), mine);
    assert!(!fixture.home().join("state/hub/landing.json").exists());
    // What the landing had written and the user has not committed is gone again.
    assert_eq!(fixture.git(&["status", "--porcelain"]), "M untouched.txt");
    assert_eq!(fixture.read("a.txt"), "new\n");
    assert!(!fixture.path("added").exists());
}

/// A commit in which a file becomes a directory, and a directory a file.
async fn swapped(fixture: &HubFixture) -> (Workspace, ProjectRevision, String) {
    fixture.commit(&[("file", "x"), ("directory/x", "x"), ("z/f", "x"), ("z/z", "x")]);
    let (workspace, revision) = fixture.workspace().await;
    fixture.git_in(&workspace.tree(), &["rm", "-q", "-r", "file", "directory"]);
    let files = [("file/q", "new"), ("directory", "new"), ("z/f", "new"), ("added/more/f", "new")];
    let new = fixture.work(&workspace, &files);
    fixture.hub.fetch(&workspace).await.unwrap();
    (workspace, revision, new)
}

#[tokio::test]
async fn it_is_finished_if_all_was_written_but_the_branch() {
    let fixture = HubFixture::new().await;
    let (_, revision, new) = swapped(&fixture).await;
    let old = revision.commit.unwrap();
    let objects = fixture.home().join("state/hub/hub.git/objects");
    let checkout = Command::new("git")
        .current_dir(fixture.path("."))
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &objects)
        .args(["checkout", "-q", "--detach", &new])
        .status();
    assert!(checkout.unwrap().success());
    fs::write(fixture.path(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    put_on_record(&fixture, &old, &new);
    start(&fixture).await;
    assert_eq!(fixture.git(&["rev-parse", "main"]), new);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_landing_that_cannot_be_written_is_undone_whole() {
    let fixture = HubFixture::new().await;
    let (workspace, revision, _) = swapped(&fixture).await;
    // No file system takes such a name.
    let tree = workspace.tree();
    let blob = fixture.git_in(&tree, &["rev-parse", "HEAD:z/f"]);
    let entry = format!("100644,{blob},{}", "n".repeat(300));
    fixture.git_in(&tree, &["update-index", "--add", "--cacheinfo", &entry]);
    fixture.git_in(&tree, &["commit", "-q", "-m", "a long name"]);
    let landing = fixture.land(&workspace, &revision).await;
    assert!(matches!(landing, Landing::Apart { .. }), "{landing:?}");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    assert!(!fixture.path("added").exists());
    assert_eq!((fixture.read("file"), fixture.read("directory/x")), ("x".to_owned(), "x".to_owned()));
}

/// A directory is moved, and a link to it stays: the files seem to be where they were.
#[tokio::test]
async fn a_directory_that_becomes_a_link_lands_or_is_as_before() {
    for is_possible in [true, false] {
        let fixture = HubFixture::new().await;
        fixture.commit(&[("app/README", "x"), ("app/sub/b.txt", "x")]);
        let (workspace, revision) = fixture.workspace().await;
        let tree = workspace.tree();
        fs::create_dir(tree.join("e")).unwrap();
        fs::rename(tree.join("app"), tree.join("e/app")).unwrap();
        std::os::unix::fs::symlink("e/app", tree.join("app")).unwrap();
        let more = if is_possible { "b.txt".to_owned() } else { "n".repeat(200) + &"/n".repeat(2000) };
        if !is_possible {
            let blob = fixture.git_in(&tree, &["rev-parse", "HEAD:a.txt"]);
            let entry = format!("100644,{blob},{more}");
            fixture.git_in(&tree, &["update-index", "--add", "--cacheinfo", &entry]);
        }
        fixture.git_in(&tree, &["add", "app", "e"]);
        fixture.git_in(&tree, &["commit", "-q", "-m", "moved"]);
        let landing = fixture.land(&workspace, &revision).await;
        assert_eq!(matches!(landing, Landing::Landed { .. }), is_possible, "{landing:?}");
        assert_eq!(fixture.git(&["status", "--porcelain"]), "");
        assert_eq!(fixture.read("app/sub/b.txt"), "x");
        assert_eq!(fixture.path("app").is_symlink(), is_possible);
    }
}

#[tokio::test]
async fn files_that_git_removed_before_it_failed_are_back() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("b.txt", "x"), ("mount/x/a.txt", "x")]);
    let (workspace, revision) = fixture.workspace().await;
    fixture.git_in(&workspace.tree(), &["rm", "-q", "-r", "mount/x"]);
    fixture.work(&workspace, &[("b.txt", "new"), ("mount/x", "new")]);
    // A directory in which something of the user's is, which git ignores, cannot become a file.
    fixture.write(".git/info/exclude", "kept\n");
    fixture.write("mount/x/kept", "the user's");
    let landing = fixture.land(&workspace, &revision).await;
    assert!(matches!(landing, Landing::Apart { .. }), "{landing:?}");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    assert_eq!(
        (fixture.read("b.txt"), fixture.read("mount/x/kept")),
        ("x".to_owned(), "the user's".to_owned())
    );
}

#[tokio::test]
async fn links_and_directories_that_the_user_has_put_there_since_stay() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("file", "x"), ("link.txt", "x")]);
    let (workspace, revision) = fixture.workspace().await;
    fixture.git_in(&workspace.tree(), &["rm", "-q", "file"]);
    let new = fixture.work(&workspace, &[("file/q", "new"), ("link.txt", "new")]);
    fixture.hub.fetch(&workspace).await.unwrap();
    let old = revision.commit.unwrap();
    put_on_record(&fixture, &old, &new);

    fs::remove_file(fixture.path("file")).unwrap();
    fixture.write("file/q", "new");
    fixture.write("file/notes", "the user's");
    fs::remove_file(fixture.path("link.txt")).unwrap();
    std::os::unix::fs::symlink("nowhere", fixture.path("link.txt")).unwrap();
    start(&fixture).await;
    assert_eq!(fixture.git(&["rev-parse", "main"]), old);
    assert_eq!(fixture.read("file/notes"), "the user's");
    assert!(!fixture.path("file/q").exists());
    assert_eq!(fs::read_link(fixture.path("link.txt")).unwrap().to_str(), Some("nowhere"));
    assert!(!fixture.home().join("state/hub/landing.json").exists());
}

/// What the user has put where the landing had removed a directory, or where one is, is in no commit.
#[tokio::test]
async fn files_that_the_user_has_put_in_place_of_directories_stay() {
    for (place, is_link) in [("old", false), ("old", true), ("kept", false), ("kept", true)] {
        let fixture = HubFixture::new().await;
        fixture.commit(&[("old/a.txt", "x"), ("old/b.txt", "x"), ("kept/c.txt", "x"), ("z.txt", "x")]);
        let (workspace, revision) = fixture.workspace().await;
        fixture.git_in(&workspace.tree(), &["rm", "-q", "-r", "old"]);
        let new = fixture.work(&workspace, &[("kept/c.txt", "new"), ("z.txt", "new")]);
        fixture.hub.fetch(&workspace).await.unwrap();
        let old = revision.commit.unwrap();
        put_on_record(&fixture, &old, &new);
        fs::remove_dir_all(fixture.path("old")).unwrap();
        fixture.write("kept/c.txt", "new");
        let _ = fs::remove_dir_all(fixture.path(place));
        match is_link {
            true => std::os::unix::fs::symlink("nowhere", fixture.path(place)).unwrap(),
            false => fixture.write(place, "the user's"),
        }
        let landed = fixture.hub.finish_interrupted_landing(&Settled::default()).await;
        assert!(!fixture.path(place).is_dir(), "{place}: {landed:?}");
        match is_link {
            true => assert!(fixture.path(place).is_symlink(), "{place}"),
            false => assert_eq!(fixture.read(place), "the user's"),
        }
        assert!(place == "old" || fixture.git(&["rev-parse", "main"]) == old, "it is in the way");
        assert!(!fixture.home().join("state/hub/landing.json").exists());
    }
}

#[tokio::test]
async fn it_can_be_taken_back_instead() {
    let (fixture, new) = killed().await;
    let taken = fixture.hub.take_back_interrupted_landing().await.unwrap();
    let Some(InterruptedLanding::TakenBack { files }) = &taken else { panic!("{taken:?}") };
    assert!(files.contains(&"long.txt".to_owned()) && files.contains(&"missing.txt".to_owned()), "{files:?}");
    assert_ne!(fixture.git(&["rev-parse", "main"]), new);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    assert!(!fixture.home().join("state/hub/landing.json").exists());
}

#[tokio::test]
async fn it_is_finished_with_the_users_line_endings() {
    let fixture = HubFixture::new().await;
    fixture.git(&["config", "core.autocrlf", "true"]);
    let (workspace, revision) = fixture.workspace().await;
    let new = fixture.work(&workspace, &[("a.txt", "new\n"), ("b.txt", "new\n"), ("c.txt", "1\n2\n3\n")]);
    fixture.hub.fetch(&workspace).await.unwrap();
    let old = revision.commit.unwrap();
    put_on_record(&fixture, &old, &new);
    fixture.write("a.txt", "new\r\n");
    // Git was killed while it wrote this one.
    fixture.write("c.txt", "1\r\n2\r");
    start(&fixture).await;
    assert_eq!(fixture.git(&["rev-parse", "main"]), new);
    assert_eq!(fixture.read("b.txt"), "new\r\n");
    assert_eq!(fixture.read("c.txt"), "1\r\n2\r\n3\r\n");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn it_stays_on_record_until_it_can_be_taken_back() {
    let (fixture, new) = killed().await;
    // A git of the user's is at work.
    let lock = fs::File::open(fixture.path(".git/index.lock")).unwrap();
    let mut git = Command::new("sleep").arg("60").stdin(lock).spawn().unwrap();
    let prepared = WorkspaceSite::prepare(
        fixture.hub.clone(),
        2,
        Start::New,
        SiteOptions::default(),
        &Settled::default(),
    )
    .await;
    let message = prepared.unwrap_err().message;
    assert!(message.contains("cannot be restored"), "{message}");
    assert!(fixture.home().join("state/hub/landing.json").exists());
    git.kill().unwrap();
    git.wait().unwrap();
    start(&fixture).await;
    assert_eq!(fixture.git(&["rev-parse", "main"]), new);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

/// Locks that a landing takes before it is on record, and those of branches that nobody has checked out, are removed too.
#[tokio::test]
async fn its_locks_are_known_from_others() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("a.txt", "new\n")]);
    fixture.write(".git/HEAD.lock", "the user's");
    let hub = fixture.hub.clone();
    let commit = hub.fetch(&workspace).await.unwrap();
    let landing = tokio::spawn(async move {
        let target = autonoe_workspace::LandingTarget::default();
        hub.land(&workspace, &commit, &revision, &target, Default::default()).await
    });
    while !fixture.home().join(LOCK_RECORD).exists() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    landing.abort();
    assert!(landing.await.unwrap_err().is_cancelled());
    let ours = [".git/index.lock", ".git/refs/heads/main.lock", ".git/refs/heads/autonoe/1.lock"];
    let others = [".git/HEAD.lock", ".git/config.lock", ".git/refs/heads/other.lock"];
    for lock in ours.iter().chain(&others[1..]) {
        fixture.write(lock, "");
    }
    let (layout, root) =
        (HubLayout::in_state(&fixture.home().join("state")), fixture.path(".").canonicalize().unwrap());
    let mut looks = 0..500;
    // The git that was at work may not be gone yet.
    while layout.stale_locks(&root).len() != ours.len() {
        assert!(looks.next().is_some(), "{:?}", layout.stale_locks(&root));
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let removed = layout.remove_stale_locks(&root);
    for lock in ours {
        assert!(!fixture.path(lock).exists(), "{lock}");
        assert!(removed.iter().any(|sentence| sentence.contains(lock)), "{removed:?}");
    }
    for lock in others {
        assert!(fixture.path(lock).exists(), "{lock}");
    }
}

#[tokio::test]
async fn a_landing_that_ended_has_no_locks_on_record() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("a.txt", "new\n")]);
    let named = autonoe_workspace::LandingTarget::Branch("topic".to_owned());
    for target in [named, Default::default()] {
        let landing = fixture.land_on(&workspace, &revision, &target).await;
        assert!(matches!(landing, Landing::Landed { .. }), "{landing:?}");
        assert!(!fixture.home().join(LOCK_RECORD).exists(), "a lock of the user's would be taken for ours");
    }
}
