//! `verify`: kept in the journal, so that a restart goes on where it was.

use autonoe_core::instruction::Phase::{Sync, Verify};
use autonoe_core::plans::VerificationReader;
use serde_json::{Value, json};

use crate::support::Bench;

fn target(id: &str) -> Value {
    json!({ "deliverableId": id })
}

async fn verified(bench: &Bench) -> Vec<String> {
    bench.journal.verification().await.unwrap().verified.into_iter().collect()
}

#[tokio::test]
async fn verify_is_on_record_and_leaves_the_file_alone() {
    let bench = Bench::with(Verify, &["A", "B"]).await;
    let before = bench.text();
    let answer = bench.done("verify", target("A")).await;
    assert_eq!(answer, json!({ "success": true, "message": "Deliverable A marked as verified" }));
    assert_eq!(verified(&bench).await, ["A"]);
    assert_eq!(bench.text(), before);
    assert_eq!(bench.told(), [], "verifying is not a change of status");
}

#[tokio::test]
async fn verifying_twice_is_harmless() {
    let bench = Bench::with(Verify, &["A"]).await;
    for _ in 0..2 {
        bench.done("verify", target("A")).await;
    }
    assert_eq!(verified(&bench).await, ["A"]);
}

#[tokio::test]
async fn what_is_unknown_or_deprecated_cannot_be_verified() {
    let bench = Bench::with(Sync, &["A", "B"]).await;
    bench.done("deprecate", target("B")).await;
    bench.service.enter(Verify);
    for id in ["Z", "B", "", "a"] {
        let (message, code) = bench.refused("verify", target(id)).await;
        assert_eq!(message, format!("Deliverable with ID \"{id}\" not found"));
        assert_eq!(code, "NOT_FOUND");
    }
    assert_eq!(bench.refused("verify", json!({})).await.1, "VALIDATION_ERROR");
    assert_eq!(verified(&bench).await, [""; 0]);
}

#[tokio::test]
async fn without_a_status_file_there_is_nothing_to_verify() {
    let bench = Bench::new(Verify).await;
    assert_eq!(bench.refused("verify", target("A")).await.1, "NOT_FOUND");
}

#[tokio::test]
async fn a_restart_goes_on_where_it_was() {
    let bench = Bench::with(Verify, &["A", "B"]).await;
    bench.done("verify", target("A")).await;
    let bench = bench.restart(Verify).await;
    assert_eq!(verified(&bench).await, ["A"]);
    let left = bench.done("list", json!({ "filter": { "verified": false } })).await;
    assert_eq!(left["deliverables"][0]["id"], "B");
    assert_eq!(left["total"], 1);
}
