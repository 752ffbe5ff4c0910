//! A landing during which the process was killed is finished by the next start.

use std::fs;

use autonoe_core::status::Tally;
use autonoe_workspace::{SiteOptions, Start, WorkspaceSite};

use crate::fixture::HubFixture;

/// The user's checkout as git leaves it when it is killed while it updates files: the commit `new` is in the hub, and on record.
async fn killed() -> (HubFixture, String) {
    let fixture = HubFixture::new().await;
    fixture.commit(&[
        ("long.txt", "short"),
        ("deleted.txt", "x"),
        ("missing.txt", "x"),
        ("untouched.txt", "x"),
    ]);
    let (workspace, revision) = fixture.workspace().await;
    fixture.git_in(&workspace.tree(), &["rm", "-q", "deleted.txt"]);
    let long = "0123456789".repeat(1000);
    let files =
        [("a.txt", "new\n"), ("long.txt", long.as_str()), ("missing.txt", "y"), ("added/file.txt", "new\n")];
    let new = fixture.work(&workspace, &files);
    fixture.hub.fetch(&workspace).await.unwrap();

    fixture.write("a.txt", "new\n");
    fixture.write("added/file.txt", "new\n");
    fixture.write("long.txt", &long[..4096]);
    fs::remove_file(fixture.path("missing.txt")).unwrap();
    fs::remove_file(fixture.path("deleted.txt")).unwrap();
    let old = revision.commit.unwrap();
    let record = format!(r#"{{"branch":"main","commit":"{new}","old":"{old}"}}"#);
    fs::write(fixture.home().join("state/hub/landing.json"), record).unwrap();
    fixture.write(".git/index.lock", "");
    fixture.write(".git/refs/heads/main.lock", "");
    (fixture, new)
}

async fn start(fixture: &HubFixture) {
    let options = SiteOptions::default();
    WorkspaceSite::prepare(fixture.hub.clone(), 2, Start::New, options, Tally::default()).await.unwrap();
}

#[tokio::test]
async fn it_is_finished_by_the_next_start() {
    let (fixture, new) = killed().await;
    start(&fixture).await;
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
    start(&fixture).await;
    assert_eq!(fixture.read("long.txt"), "the user's");
    assert_eq!(fixture.git(&["rev-parse", "main"]), old);
    for removed in ["missing.txt", "deleted.txt"] {
        assert_eq!(fixture.read(removed), "x", "the user did not remove it");
    }
}

#[tokio::test]
async fn a_user_who_has_moved_on_is_left_alone() {
    let (fixture, _) = killed().await;
    for lock in [".git/index.lock", ".git/refs/heads/main.lock"] {
        fs::remove_file(fixture.path(lock)).unwrap();
    }
    let mine = fixture.commit(&[("mine.txt", "x")]);
    start(&fixture).await;
    assert_eq!(fixture.git(&["rev-parse", "main"]), mine);
    assert!(!fixture.home().join("state/hub/landing.json").exists());
}
