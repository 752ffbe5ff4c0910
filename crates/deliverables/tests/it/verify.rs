//! `verify`: recorded in the journal, so that a restart resumes there.

use autonoe_core::instruction::Phase::{Sync, Verify};
use autonoe_core::plans::VerificationReader;
use serde_json::{Value, json};

use crate::support::ServiceFixture;

fn target(id: &str) -> Value {
    json!({ "deliverableId": id })
}

async fn verified(fixture: &ServiceFixture) -> Vec<String> {
    fixture.journal.verification().await.unwrap().verified.into_iter().collect()
}

#[tokio::test]
async fn verify_is_recorded_and_does_not_change_the_file() {
    let fixture = ServiceFixture::with(Verify, &["A", "B"]).await;
    let before = fixture.text();
    let answer = fixture.done("verify", target("A")).await;
    assert_eq!(answer, json!({ "success": true, "message": "Deliverable A marked as verified" }));
    assert_eq!(verified(&fixture).await, ["A"]);
    assert_eq!(fixture.text(), before);
    assert_eq!(fixture.notified(), [], "verifying is not a change of status");
}

#[tokio::test]
async fn verifying_twice_is_harmless() {
    let fixture = ServiceFixture::with(Verify, &["A"]).await;
    for _ in 0..2 {
        fixture.done("verify", target("A")).await;
    }
    assert_eq!(verified(&fixture).await, ["A"]);
}

#[tokio::test]
async fn unknown_and_deprecated_deliverables_cannot_be_verified() {
    let fixture = ServiceFixture::with(Sync, &["A", "B"]).await;
    fixture.done("deprecate", target("B")).await;
    fixture.service.enter(Verify);
    for id in ["Z", "B", "", "a"] {
        let (message, code) = fixture.refused("verify", target(id)).await;
        assert_eq!(message, format!("Deliverable with ID \"{id}\" not found"));
        assert_eq!(code, "NOT_FOUND");
    }
    assert_eq!(fixture.refused("verify", json!({})).await.1, "VALIDATION_ERROR");
    assert_eq!(verified(&fixture).await, [""; 0]);
}

#[tokio::test]
async fn without_a_status_file_there_is_nothing_to_verify() {
    let fixture = ServiceFixture::new(Verify).await;
    assert_eq!(fixture.refused("verify", target("A")).await.1, "NOT_FOUND");
}

#[tokio::test]
async fn a_restart_resumes_where_it_was() {
    let fixture = ServiceFixture::with(Verify, &["A", "B"]).await;
    fixture.done("verify", target("A")).await;
    let fixture = fixture.restart(Verify).await;
    assert_eq!(verified(&fixture).await, ["A"]);
    let left = fixture.done("list", json!({ "filter": { "verified": false } })).await;
    assert_eq!(left["deliverables"][0]["id"], "B");
    assert_eq!(left["total"], 1);
}
