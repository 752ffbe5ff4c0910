//! `list`: what is shown, in which order, and how much is omitted.

use autonoe_core::instruction::Phase::{Coding, Sync, Verify};
use serde_json::{Value, json};

use crate::support::ServiceFixture;

const SEVEN: [&str; 7] = ["G", "F", "E", "D", "C", "B", "A"];

fn ids(answer: &Value) -> Vec<String> {
    let shown = answer["deliverables"].as_array().unwrap();
    shown.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

fn counts(answer: &Value) -> (u64, u64) {
    (answer["total"].as_u64().unwrap(), answer["omitted"].as_u64().unwrap())
}

#[tokio::test]
async fn five_are_shown_by_default_in_order_and_the_rest_is_counted() {
    let fixture = ServiceFixture::with(Coding, &SEVEN).await;
    for arguments in [json!({}), Value::Null, json!({ "limit": null }), json!({ "filter": {} })] {
        let answer = fixture.done("list", arguments).await;
        assert_eq!(ids(&answer), SEVEN[..5]);
        assert_eq!(counts(&answer), (7, 2));
    }
}

#[tokio::test]
async fn an_entry_contains_everything_needed_to_work_on_it() {
    let fixture = ServiceFixture::with(Coding, &["A"]).await;
    let answer = fixture.done("list", json!({})).await;
    let entry = json!({
        "id": "A",
        "description": "What A is",
        "status": "pending",
        "acceptanceCriteria": ["It works", "It is fast"],
    });
    assert_eq!(answer, json!({ "total": 1, "omitted": 0, "deliverables": [entry] }));
}

#[tokio::test]
async fn a_limit_shows_that_many() {
    let fixture = ServiceFixture::with(Coding, &SEVEN).await;
    for (limit, shown) in [(1, 1), (6, 6), (7, 7), (8, 7), (i64::MAX, 7)] {
        let answer = fixture.done("list", json!({ "limit": limit })).await;
        assert_eq!(ids(&answer), SEVEN[..shown], "{limit}");
        assert_eq!(counts(&answer), (7, 7 - shown as u64), "{limit}");
    }
}

#[tokio::test]
async fn an_invalid_limit_is_refused() {
    let fixture = ServiceFixture::with(Coding, &SEVEN).await;
    for limit in [0, -1, i64::MIN] {
        let (message, code) = fixture.refused("list", json!({ "limit": limit })).await;
        assert_eq!(
            (message, code.as_str()),
            (format!("limit must be at least 1, got {limit}"), "VALIDATION_ERROR")
        );
    }
    for limit in [json!("x"), json!("3"), json!(1.5), json!(u64::MAX), json!([5])] {
        let (message, code) = fixture.refused("list", json!({ "limit": limit })).await;
        assert_eq!(code, "VALIDATION_ERROR");
        assert!(message.starts_with("Invalid argument `limit`"), "{limit}: {message}");
    }
}

#[tokio::test]
async fn a_status_narrows_the_list_and_its_total() {
    let fixture = ServiceFixture::with(Coding, &SEVEN).await;
    for (id, status) in [("F", "passed"), ("D", "blocked"), ("B", "passed")] {
        fixture
            .done("set_status", json!({ "deliverableId": id, "status": status, "reason": "no key" }))
            .await;
    }
    let of = async |status: &str| fixture.done("list", json!({ "filter": { "status": status } })).await;
    assert_eq!(ids(&of("passed").await), ["F", "B"]);
    assert_eq!(ids(&of("blocked").await), ["D"]);
    assert_eq!(counts(&of("pending").await), (4, 0));
    let one = fixture.done("list", json!({ "filter": { "status": "passed" }, "limit": 1 })).await;
    assert_eq!((ids(&one), counts(&one)), (vec!["F".to_owned()], (2, 1)));
    let (message, code) = fixture.refused("list", json!({ "filter": { "status": "done" } })).await;
    assert_eq!(code, "VALIDATION_ERROR");
    assert!(message.contains("`filter.status`") && message.contains("`pending`"), "{message}");
}

#[tokio::test]
async fn deprecated_deliverables_are_neither_shown_nor_counted() {
    let fixture = ServiceFixture::with(Sync, &["A", "B"]).await;
    fixture.done("deprecate", json!({ "deliverableId": "A" })).await;
    let answer = fixture.done("list", json!({})).await;
    assert_eq!((ids(&answer), counts(&answer)), (vec!["B".to_owned()], (1, 0)));
}

#[tokio::test]
async fn an_empty_project_has_an_empty_list() {
    for phase in [Coding, Sync, Verify] {
        let fixture = ServiceFixture::with(phase, &[]).await;
        let answer = fixture.done("list", json!({})).await;
        assert_eq!(answer, json!({ "total": 0, "omitted": 0, "deliverables": [] }), "{phase}");
        assert_eq!(fixture.text(), None, "listing creates no file");
    }
}

#[tokio::test]
async fn verified_is_shown_and_filtered_in_the_verify_phase() {
    let fixture = ServiceFixture::with(Verify, &["A", "B", "C"]).await;
    fixture.done("verify", json!({ "deliverableId": "B" })).await;
    fixture.done("set_status", json!({ "deliverableId": "C", "status": "passed" })).await;
    let all = fixture.done("list", json!({})).await;
    let flags: Vec<&Value> =
        all["deliverables"].as_array().unwrap().iter().map(|entry| &entry["verified"]).collect();
    assert_eq!(flags, [&json!(false), &json!(true), &json!(false)]);
    let of = async |filter: Value| ids(&fixture.done("list", json!({ "filter": filter })).await);
    assert_eq!(of(json!({ "verified": true })).await, ["B"]);
    assert_eq!(of(json!({ "verified": false })).await, ["A", "C"]);
    assert_eq!(of(json!({ "verified": false, "status": "passed" })).await, ["C"]);
    assert_eq!(of(json!({ "verified": true, "status": "passed" })).await, [""; 0]);
    assert_eq!(of(json!({ "verified": null })).await, ["A", "B", "C"]);
}

#[tokio::test]
async fn in_other_phases_verified_is_neither_shown_nor_filtered() {
    let fixture = ServiceFixture::with(Verify, &["A", "B"]).await;
    fixture.done("verify", json!({ "deliverableId": "B" })).await;
    for phase in [Coding, Sync] {
        fixture.service.enter(phase);
        for wanted in [true, false] {
            let answer = fixture.done("list", json!({ "filter": { "verified": wanted } })).await;
            assert_eq!(ids(&answer), ["A", "B"], "{phase}");
            assert_eq!(answer["deliverables"][0].get("verified"), None, "{phase}");
        }
    }
}
