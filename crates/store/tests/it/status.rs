//! Changes of `status.json`: all or nothing, serialized, and faithful to what the user wrote.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use autonoe_core::deliverable::DeliverableStatus::{Blocked, Passed};
use autonoe_core::plan::StatusReader;
use autonoe_core::status::{ChangeError, Refusal};
use autonoe_store::StatusStore;
use jiff::civil::date;
use serde_json::Value;

use crate::support::{StoreFixture, create, set};

const USERS_FILE: &str = r#"{
  "owner": "me",
  "createdAt": "2025-01-08",
  "updatedAt": "2025-01-10",
  "deliverables": [
    {
      "id": "A",
      "description": "First",
      "acceptanceCriteria": ["works"],
      "ticket": { "number": 7 },
      "passed": false,
      "blocked": false
    }
  ]
}"#;

#[tokio::test]
async fn without_a_file_there_is_no_status_and_a_change_creates_one() {
    let fixture = StoreFixture::new();
    let store = fixture.store().await;
    assert_eq!(store.load().await.unwrap(), None);
    assert_eq!(StatusStore::read(&fixture.project).unwrap(), None);
    assert!(!fixture.project.autonoe_dir().exists(), "reading creates nothing");

    create(&store, &["A", "B"]).await.unwrap();
    let status = store.load().await.unwrap().unwrap();
    assert_eq!(status.created_at, date(2026, 1, 2));
    let ids: Vec<&str> = status.deliverables.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["A", "B"]);
    assert_eq!(StatusStore::read(&fixture.project).unwrap(), Some(status));
    assert_eq!(fixture.autonoe_files(), ["status.json"], "no temporary file is left");
}

#[tokio::test]
async fn a_change_is_dated_and_keeps_unknown_keys() {
    let fixture = StoreFixture::new();
    fixture.write_status(USERS_FILE);
    let store = fixture.store().await;
    set(&store, "A", Passed).await.unwrap();
    create(&store, &["B"]).await.unwrap();

    let file: Value = serde_json::from_str(&fixture.status_text()).unwrap();
    assert_eq!(file["owner"], "me");
    assert_eq!(file["createdAt"], "2025-01-08");
    assert_eq!(file["updatedAt"], "2026-01-02");
    assert_eq!(file["deliverables"][0]["ticket"]["number"], 7);
    assert_eq!(file["deliverables"][0]["passed"], true);
    assert_eq!(file["deliverables"][1]["id"], "B");
}

#[tokio::test]
async fn every_change_is_recorded() {
    let fixture = StoreFixture::new();
    let store = fixture.store().await;
    create(&store, &["A", "B"]).await.unwrap();
    set(&store, "A", Passed).await.unwrap();
    drop(store);
    let db = fixture.sql();
    let mut query = db.prepare("SELECT deliverable, previous, new FROM status_changes ORDER BY id").unwrap();
    let rows: Vec<(String, Option<String>, String)> = query
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let row = |id: &str, previous: Option<&str>, new: &str| {
        (id.to_owned(), previous.map(str::to_owned), new.to_owned())
    };
    assert_eq!(
        rows,
        [row("A", None, "pending"), row("B", None, "pending"), row("A", Some("pending"), "passed")]
    );
    assert_eq!(fixture.count("status_writes WHERE applied = 1"), 2);
}

#[tokio::test]
async fn a_refusal_writes_nothing() {
    let fixture = StoreFixture::new();
    fixture.write_status(USERS_FILE);
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options()
        .write(true)
        .open(fixture.project.status_file())
        .and_then(|file| file.set_modified(long_ago))
        .unwrap();
    let store = fixture.store().await;
    assert_eq!(set(&store, "Z", Passed).await, Err(Refusal::NotFound("Z".to_owned()).into()));
    assert!(matches!(create(&store, &["B", "A"]).await, Err(ChangeError::Refused(Refusal::DuplicateId(_)))));
    assert!(matches!(create(&store, &[]).await, Err(ChangeError::Refused(Refusal::Validation(_)))));

    assert_eq!(fixture.status_text(), USERS_FILE);
    let modified = fs::metadata(fixture.project.status_file()).unwrap().modified().unwrap();
    assert_eq!(modified, long_ago);
    assert_eq!(fixture.count("status_writes"), 0);
    assert_eq!(fixture.count("status_changes"), 0);
}

#[tokio::test]
async fn a_refusal_without_a_file_creates_none() {
    let fixture = StoreFixture::new();
    let store = fixture.store().await;
    assert!(set(&store, "A", Blocked).await.is_err());
    assert!(!fixture.project.autonoe_dir().exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_changes_at_once_lose_nothing() {
    let fixture = StoreFixture::new();
    let store = Arc::new(fixture.store().await);
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { create(&store, &[&format!("D-{number:02}")]).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let status = store.load().await.unwrap().unwrap();
    let mut ids: Vec<String> = status.deliverables.into_iter().map(|item| item.id).collect();
    ids.sort();
    assert_eq!(ids, (0..50).map(|number| format!("D-{number:02}")).collect::<Vec<_>>());
    assert_eq!(fixture.count("status_writes WHERE applied = 1"), 50);
}

#[tokio::test]
async fn the_mode_of_the_file_is_kept_and_a_new_file_has_the_default_mode() {
    let fixture = StoreFixture::new();
    let store = fixture.store().await;
    let mode = || fs::metadata(fixture.project.status_file()).unwrap().permissions().mode() & 0o777;
    create(&store, &["A"]).await.unwrap();
    assert_eq!(mode(), 0o644);
    for wanted in [0o600, 0o664] {
        fs::set_permissions(fixture.project.status_file(), fs::Permissions::from_mode(wanted)).unwrap();
        set(&store, "A", Passed).await.unwrap();
        assert_eq!(mode(), wanted);
    }
}

#[tokio::test]
async fn an_edit_by_the_user_between_two_changes_is_seen() {
    let fixture = StoreFixture::new();
    let store = fixture.store().await;
    create(&store, &["A"]).await.unwrap();
    let edited = fixture.status_text().replace("What A is", "What the user says it is");
    fixture.write_status(&edited);
    set(&store, "A", Passed).await.unwrap();
    let status = store.load().await.unwrap().unwrap();
    assert_eq!(status.deliverables[0].description, "What the user says it is");
    assert_eq!(status.deliverables[0].status, Passed);
}
