//! `create`, `set_status` and `deprecate`: results, changes and notifications.

use std::fs;

use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::instruction::Phase::{self, Coding, Initializer, Sync};
use autonoe_core::status::StatusChange;
use serde_json::{Value, json};

use crate::support::{ServiceFixture, deliverable};

fn pair(message: &str, code: &str) -> (String, String) {
    (message.to_owned(), code.to_owned())
}

fn set(id: &str, status: &str) -> Value {
    json!({ "deliverableId": id, "status": status })
}

#[tokio::test]
async fn create_adds_all_in_order_as_pending_and_notifies_nobody() {
    let fixture = ServiceFixture::new(Initializer).await;
    let answer =
        fixture.done("create", json!({ "deliverables": [deliverable("B"), deliverable("A")] })).await;
    assert_eq!(answer, json!({ "success": true, "message": "Created 2 deliverable(s) successfully" }));
    let file = fixture.file();
    assert_eq!(
        file[0],
        json!({
            "id": "B",
            "description": "What B is",
            "acceptanceCriteria": ["It works", "It is fast"],
            "passed": false,
            "blocked": false,
        })
    );
    assert_eq!(file[1]["id"], "A");
    assert_eq!(fixture.notified(), []);
    let more = fixture.done("create", json!({ "deliverables": [deliverable("C")] })).await;
    assert_eq!(more["message"], "Created 1 deliverable(s) successfully");
    assert_eq!(fixture.file().len(), 3);
}

#[tokio::test]
async fn create_refuses_invalid_batches_as_a_whole() {
    let fixture = ServiceFixture::with(Sync, &["A"]).await;
    let item = |id: &str, description: &str, criteria: &[&str]| json!({ "id": id, "description": description, "acceptanceCriteria": criteria });
    for (bad, message, code) in [
        (item("", "d", &["c"]), "Deliverable ID is required", "VALIDATION_ERROR"),
        (item(" \t", "d", &["c"]), "Deliverable ID is required", "VALIDATION_ERROR"),
        (item("X", " ", &["c"]), "Deliverable description is required", "VALIDATION_ERROR"),
        (item("X", "d", &[]), "At least one acceptance criterion is required", "VALIDATION_ERROR"),
        (item("X", "d", &["c", " "]), "Acceptance criteria cannot be empty", "VALIDATION_ERROR"),
        (deliverable("A"), "Deliverable with ID \"A\" already exists", "DUPLICATE_ID"),
        (deliverable("B"), "Duplicate ID \"B\" in batch", "DUPLICATE_ID"),
    ] {
        let batch = json!({ "deliverables": [deliverable("B"), bad] });
        assert_eq!(fixture.refused("create", batch).await, pair(message, code));
    }
    let empty = fixture.refused("create", json!({ "deliverables": [] })).await;
    assert_eq!(empty, pair("At least one deliverable is required", "VALIDATION_ERROR"));
    assert_eq!(fixture.file().len(), 1);
}

#[tokio::test]
async fn a_refused_first_batch_leaves_no_file() {
    let fixture = ServiceFixture::new(Initializer).await;
    fixture.refused("create", json!({ "deliverables": [deliverable("A"), deliverable("A")] })).await;
    assert_eq!(fixture.text(), None);
}

#[tokio::test]
async fn a_deprecated_id_is_never_reused() {
    let fixture = ServiceFixture::with(Sync, &["A"]).await;
    fixture.done("deprecate", json!({ "deliverableId": "A" })).await;
    let again = fixture.refused("create", json!({ "deliverables": [deliverable("A")] })).await;
    assert_eq!(again, pair("Deliverable with ID \"A\" already exists", "DUPLICATE_ID"));
}

#[tokio::test]
async fn wrong_arguments_are_refused_with_the_field() {
    let fixture = ServiceFixture::with(Sync, &["A"]).await;
    let mut lacking = deliverable("B");
    lacking.as_object_mut().unwrap().remove("acceptanceCriteria");
    for (phase, tool, arguments, wanted) in [
        (Sync, "create", json!({}), "missing field `deliverables`"),
        (Sync, "create", Value::Null, "missing field `deliverables`"),
        (Sync, "create", json!([1]), "invalid type"),
        (Sync, "create", json!({ "deliverables": "x" }), "`deliverables`"),
        (Sync, "create", json!({ "deliverables": [deliverable("B"), lacking] }), "`deliverables[1]`"),
        (Sync, "create", json!({ "deliverables": [{ "id": 7 }] }), "`deliverables[0].id`"),
        (Sync, "deprecate", json!({ "deliverableId": 1 }), "`deliverableId`"),
        (Sync, "deprecate", json!({ "id": "A" }), "missing field `deliverableId`"),
        (Coding, "set_status", json!({ "deliverableId": "A" }), "missing field `status`"),
        (Coding, "set_status", set("A", "done"), "expected one of `pending`, `passed`, `blocked`"),
        (Coding, "set_status", json!({ "deliverableId": "A", "status": true }), "`status`"),
    ] {
        fixture.service.enter(phase);
        let (message, code) = fixture.refused(tool, arguments.clone()).await;
        assert_eq!(code, "VALIDATION_ERROR", "{tool} {arguments}");
        assert!(message.starts_with("Invalid argument"), "{message}");
        assert!(message.contains(wanted), "{message} lacks {wanted}");
    }
}

#[tokio::test]
async fn set_status_answers_writes_and_notifies_exactly_once() {
    let fixture = ServiceFixture::with(Coding, &["A", "B"]).await;
    let mut notified = Vec::new();
    let mut previous = DeliverableStatus::Pending;
    for (new, passed, blocked) in [
        (DeliverableStatus::Blocked, false, true),
        (DeliverableStatus::Passed, true, false),
        (DeliverableStatus::Passed, true, false),
        (DeliverableStatus::Pending, false, false),
    ] {
        let reason = (new == DeliverableStatus::Blocked).then(|| "no key; Ann has it".to_owned());
        let arguments = json!({ "deliverableId": "A", "status": new.name(), "reason": reason });
        let answer = fixture.done("set_status", arguments).await;
        let message = format!("Deliverable \"What A is\" (A) marked as {new}");
        assert_eq!(answer, json!({ "success": true, "message": message }));
        let file = fixture.file();
        assert_eq!((&file[0]["passed"], &file[0]["blocked"]), (&json!(passed), &json!(blocked)), "{new}");
        assert_eq!((&file[1]["passed"], &file[1]["blocked"]), (&json!(false), &json!(false)), "{new}");
        notified.push(StatusChange {
            reason,
            deliverable_id: "A".to_owned(),
            description: "What A is".to_owned(),
            previous: Some(previous),
            new,
            assurance: None,
        });
        assert_eq!(fixture.notified(), notified);
        previous = new;
    }
}

#[tokio::test]
async fn set_status_refuses_invalid_changes() {
    let fixture = ServiceFixture::with(Sync, &["A", "B", "C"]).await;
    fixture.done("deprecate", json!({ "deliverableId": "B" })).await;
    fixture.service.enter(Coding);
    fixture.done("set_status", set("A", "passed")).await;
    for (id, status, message, code) in [
        ("", "passed", "Deliverable ID is required", "VALIDATION_ERROR"),
        ("Z", "passed", "Deliverable with ID \"Z\" not found", "NOT_FOUND"),
        (
            "A",
            "blocked",
            "Deliverable \"A\" has passed and cannot be blocked; reset it to pending first",
            "VALIDATION_ERROR",
        ),
        ("B", "passed", "Deliverable \"B\" is deprecated; its status no longer changes", "VALIDATION_ERROR"),
        (
            "C",
            "blocked",
            "To block \"C\", give a `reason`: what is missing, who can provide it, and what to do then",
            "VALIDATION_ERROR",
        ),
    ] {
        assert_eq!(fixture.refused("set_status", set(id, status)).await, pair(message, code));
    }
    let blank = json!({ "deliverableId": "C", "status": "blocked", "reason": " " });
    assert!(fixture.refused("set_status", blank).await.0.contains("give a `reason`"));
    assert_eq!(fixture.file()[2]["blocked"], false, "nothing was written");
}

#[tokio::test]
async fn deprecate_dates_the_deliverable_keeps_its_record_and_notifies_nobody() {
    let fixture = ServiceFixture::with(Coding, &["A", "B"]).await;
    fixture.done("set_status", set("A", "passed")).await;
    fixture.service.enter(Sync);
    let answer = fixture.done("deprecate", json!({ "deliverableId": "A" })).await;
    let message = "Deliverable \"What A is\" (A) marked as deprecated";
    assert_eq!(answer, json!({ "success": true, "message": message }));
    let file = fixture.file();
    assert_eq!(file[0]["deprecatedAt"], "2026-01-02");
    assert_eq!(file[0]["passed"], true);
    assert_eq!(file[1].get("deprecatedAt"), None);
    assert_eq!(fixture.notified().len(), 1, "only the change of status is notified");

    for (id, message, code) in [
        ("A", "Deliverable \"A\" is already deprecated", "VALIDATION_ERROR"),
        ("Z", "Deliverable with ID \"Z\" not found", "NOT_FOUND"),
        (" ", "Deliverable ID is required", "VALIDATION_ERROR"),
    ] {
        let refused = fixture.refused("deprecate", json!({ "deliverableId": id })).await;
        assert_eq!(refused, pair(message, code));
    }
}

#[tokio::test]
async fn an_unreadable_status_file_is_reported_and_not_changed() {
    let fixture = ServiceFixture::with(Coding, &["A"]).await;
    fs::write(fixture.project.status_file(), "{ oops").unwrap();
    for (phase, tool, arguments) in [
        (Coding, "set_status", set("A", "passed")),
        (Sync, "create", json!({ "deliverables": [deliverable("B")] })),
        (Sync, "deprecate", json!({ "deliverableId": "A" })),
        (Sync, "list", json!({})),
        (Phase::Verify, "verify", json!({ "deliverableId": "A" })),
    ] {
        fixture.service.enter(phase);
        let (message, code) = fixture.refused(tool, arguments).await;
        assert_eq!(code, "STORE_ERROR", "{tool}");
        assert!(message.contains("status.json") && message.contains("line 1"), "{tool}: {message}");
    }
}
