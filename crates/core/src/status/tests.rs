//! Each test names the rule or table row of the seeds that it checks.

use jiff::civil::date;

use super::{ProjectStatus, Refusal};
use crate::deliverable::{DeliverableStatus as Status, NewDeliverable};

fn new(id: &str) -> NewDeliverable {
    NewDeliverable {
        id: id.into(),
        description: format!("{id} described"),
        acceptance_criteria: vec!["it works".into()],
        order: Default::default(),
    }
}

fn status(items: &[(&str, Status)]) -> ProjectStatus {
    let mut status = ProjectStatus::empty(date(2026, 1, 10));
    status.create(items.iter().map(|(id, _)| new(id)).collect()).expect("valid batch");
    for (id, wanted) in items {
        status.set_status(id, *wanted).expect("known id");
    }
    status
}

#[test]
fn status_semantics_of_seed_000_any_status_can_be_set_and_reset() {
    let mut status = status(&[("A", Status::Pending)]);
    for wanted in [Status::Passed, Status::Pending, Status::Blocked, Status::Passed, Status::Pending] {
        let before = status.deliverables[0].status;
        let change = status.set_status("A", wanted).expect("allowed");
        assert_eq!((change.previous, change.new), (Some(before), wanted));
        assert_eq!(status.deliverables[0].status, wanted);
    }
}

#[test]
fn blocked_rule_seed_002_3_4_a_passed_deliverable_cannot_be_blocked() {
    let mut status = status(&[("A", Status::Passed)]);
    let refusal = status.set_status("A", Status::Blocked).expect_err("mutual exclusion");
    assert_eq!(refusal.code(), "VALIDATION_ERROR");
    assert_eq!(status.deliverables[0].status, Status::Passed);
}

#[test]
fn blocked_rule_seed_002_3_4_non_blocked_all_passed_is_success() {
    let tally = status(&[("A", Status::Passed), ("B", Status::Blocked)]).tally();
    assert!(tally.all_achievable_passed());
    assert!(!tally.all_blocked());
}

#[test]
fn blocked_rule_seed_002_3_4_all_blocked_is_failure() {
    let tally = status(&[("A", Status::Blocked), ("B", Status::Blocked)]).tally();
    assert!(tally.all_blocked());
    assert!(!tally.all_achievable_passed());
}

#[test]
fn deprecated_table_seed_002_9_6() {
    let today = date(2026, 2, 1);
    let mut project = status(&[("A", Status::Passed), ("B", Status::Pending)]);
    assert!(!project.tally().all_achievable_passed(), "passed=false, not set: included");
    project.deprecate("B", today).expect("active");
    assert!(project.tally().all_achievable_passed(), "any, set: excluded");
    assert_eq!(project.tally().total, 1, "the total counts active ones only");
    project.deprecate("A", today).expect("active");
    assert!(!project.tally().all_achievable_passed(), "passed=true, set: excluded too");
    assert_eq!(project.deliverables.len(), 2, "records are retained");
    assert_eq!(project.find("A").map(|d| d.status), Some(Status::Passed), "deprecating keeps the status");
}

#[test]
fn an_empty_status_is_neither_passed_nor_blocked() {
    let tally = ProjectStatus::empty(date(2026, 1, 1)).tally();
    assert!(!tally.all_achievable_passed() && !tally.all_blocked());
}

#[test]
fn create_is_all_or_nothing_and_says_why() {
    let mut project = status(&[("A", Status::Pending)]);
    let before = project.clone();
    let without = |change: fn(&mut NewDeliverable)| {
        let mut item = new("X");
        change(&mut item);
        item
    };
    let table: Vec<(Vec<NewDeliverable>, &str, &str)> = vec![
        (vec![], "At least one deliverable is required", "VALIDATION_ERROR"),
        (vec![new("B"), new("B")], "Duplicate ID \"B\" in batch", "DUPLICATE_ID"),
        (vec![new("B"), new("A")], "Deliverable with ID \"A\" already exists", "DUPLICATE_ID"),
        (vec![new("B"), without(|i| i.id = "  ".into())], "Deliverable ID is required", "VALIDATION_ERROR"),
        (vec![without(|i| i.description.clear())], "Deliverable description is required", "VALIDATION_ERROR"),
        (
            vec![without(|i| i.acceptance_criteria.clear())],
            "At least one acceptance criterion is required",
            "VALIDATION_ERROR",
        ),
        (
            vec![without(|i| i.acceptance_criteria.push(" ".into()))],
            "Acceptance criteria cannot be empty",
            "VALIDATION_ERROR",
        ),
    ];
    for (batch, message, code) in table {
        let refusal = project.create(batch).expect_err(message);
        assert_eq!((refusal.to_string().as_str(), refusal.code()), (message, code));
        assert_eq!(project, before, "nothing was added");
    }
}

#[test]
fn unknown_and_empty_ids_are_refused() {
    let mut project = status(&[("A", Status::Pending)]);
    assert_eq!(project.set_status("Z", Status::Passed), Err(Refusal::NotFound("Z".into())));
    assert_eq!(
        project.set_status(" ", Status::Passed).expect_err("blank").to_string(),
        "Deliverable ID is required"
    );
    let today = date(2026, 1, 1);
    assert_eq!(project.deprecate("Z", today).expect_err("unknown").code(), "NOT_FOUND");
    project.deprecate("A", today).expect("active");
    assert_eq!(
        project.deprecate("A", today).expect_err("twice").to_string(),
        "Deliverable \"A\" is already deprecated"
    );
    assert!(project.set_status("A", Status::Passed).is_err(), "a deprecated deliverable no longer changes");
}

#[test]
fn what_an_agent_writes_has_no_lines_of_its_own() {
    let mut status = ProjectStatus::empty(date(2026, 1, 10));
    let refusal = status.create(vec![new("A\n[PASS] B")]).expect_err("a line break");
    assert_eq!(refusal.code(), "VALIDATION_ERROR");
    let item = NewDeliverable {
        description: "One thing\n[PASS] another\u{1b}[2K".into(),
        acceptance_criteria: vec!["it\r\nworks".into()],
        ..new("A")
    };
    let changes = status.create(vec![item]).expect("kept");
    assert_eq!(changes[0].description, "One thing [PASS] another [2K");
    assert_eq!(status.deliverables[0].description, "One thing [PASS] another [2K");
    assert_eq!(status.deliverables[0].acceptance_criteria, ["it works"]);
}
