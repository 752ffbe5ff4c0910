//! The user's decisions about checks and disputed files.

use std::fs;

use autonoe_core::check::Assurance;
use autonoe_core::examiner::{Examiner, Proposal};
use autonoe_store::CheckRegistry;
use autonoe_verify::{accept, reject};
use jiff::Timestamp;
use serde_json::json;

use super::fixture::{ADDS, ExaminerFixture, TEST, VerifyFixture, check};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn accepts(examiner: &ExaminerFixture, target: &str) -> String {
    accept(&examiner.project, &examiner.written, target, NOW).unwrap()
}

fn rejects(examiner: &ExaminerFixture, target: &str) -> String {
    reject(&examiner.project, &examiner.written, target).unwrap()
}

#[tokio::test]
async fn an_accepted_vacuous_check_counts() {
    let fixture = VerifyFixture::new("# Spec\n\n- Check: `true` for A\n");
    let examiner = fixture.prepared().await;
    examiner.assert_claim("A", Assurance::Claimed, &[]).await;
    assert_eq!(accepts(&examiner, "spec"), "The check 'spec' now counts.");
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_check_with_missing_files_is_accepted_once_they_exist() {
    let fixture =
        VerifyFixture::new("# Calc\n\n```check A name=tests protect=tests/**\n$ sh tests/add.sh\n```\n");
    let examiner = fixture.prepared().await;
    let fault = accept(&fixture.project, &examiner.written, "tests", NOW).unwrap_err();
    assert!(fault.message.contains("do not exist: tests/**"), "{}", fault.message);
    fixture.commit(&[("tests/add.sh", TEST), ("calc.sh", ADDS)]);
    accepts(&examiner, "tests");
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn disputed_files_are_accepted_or_restored() {
    let fixture = VerifyFixture::tested();
    let examiner = fixture.prepared().await;
    let weak = "echo all good\n";
    fixture.commit(&[("tests/add.sh", weak), ("tests/more.sh", weak), ("tests/new.sh", weak)]);
    examiner.prepare().await.unwrap();
    assert_eq!(rejects(&examiner, "tests/add.sh"), "Restored the accepted version of tests/add.sh.");
    assert_eq!(fixture.read("tests/add.sh"), TEST);
    rejects(&examiner, "tests/new.sh");
    assert!(!fixture.path("tests/new.sh").exists(), "it was never accepted");
    accepts(&examiner, "tests/more.sh");
    let registry = CheckRegistry::load(&fixture.project).unwrap();
    assert!(registry.disputes.is_empty());
    assert_eq!(
        registry.files.keys().map(ToString::to_string).collect::<Vec<_>>(),
        ["tests/add.sh", "tests/more.sh"]
    );

    // A deletion can be accepted as well, and then the weak test decides alone.
    fs::remove_file(fixture.path("tests/more.sh")).unwrap();
    fixture.write("tests/add.sh", weak);
    assert!(accepts(&examiner, "tests/more.sh").contains("no longer a protected file"));
    accepts(&examiner, "tests/add.sh");
    fixture.commit(&[]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn an_agent_cannot_give_a_check_the_name_of_a_file_to_decide_about() {
    let fixture = VerifyFixture::tested();
    let examiner = fixture.prepared().await;
    let trick = check("true", json!({ "name": "tests/add.sh", "deliverable": "B" }));
    examiner.propose(&[], vec![Proposal::New(trick)]).await.unwrap();
    fixture.commit(&[("tests/add.sh", "echo all good\n")]);
    examiner.prepare().await.unwrap();
    assert_eq!(accepts(&examiner, "tests/add.sh"), "Accepted the current version of tests/add.sh.");
    assert!(CheckRegistry::load(&fixture.project).unwrap().disputes.is_empty());
    // Nothing is left to decide about the file, so this is the check.
    assert_eq!(accepts(&examiner, "tests/add.sh"), "The check 'tests/add.sh' now counts.");
}

#[tokio::test]
async fn checks_that_run_the_same_are_accepted_together_and_named() {
    let fixture = VerifyFixture::new("# Spec\n\n- Check: `true` for A\n- Check: `true` for B\n");
    let examiner = fixture.prepared().await;
    let said = accepts(&examiner, "spec");
    assert!(said.contains("'spec'") && said.contains("'spec-2'"), "{said}");
}

#[tokio::test]
async fn only_proposed_checks_can_be_rejected() {
    let fixture = VerifyFixture::new("# Spec\n\n- Check: `true` for A\n");
    let examiner = fixture.prepared().await;
    let fault = reject(&fixture.project, &examiner.written, "spec").unwrap_err();
    assert!(fault.message.contains("remove it from SPEC.md"), "{}", fault.message);
    let proposal = Proposal::New(check("false", json!({ "name": "mine", "deliverable": "B" })));
    examiner.propose(&[], vec![proposal]).await.unwrap();
    rejects(&examiner, "mine");
    examiner.assert_claim("B", Assurance::Claimed, &["no check"]).await;
}

#[tokio::test]
async fn unknown_targets_are_refused_with_what_there_is() {
    let fixture = VerifyFixture::new("# Spec\n\n- Check: `true` for A\n");
    let examiner = fixture.prepared().await;
    for fault in [
        accept(&fixture.project, &examiner.written, "nothing", NOW).unwrap_err(),
        reject(&fixture.project, &examiner.written, "nothing").unwrap_err(),
    ] {
        assert!(fault.message.contains("no check or disputed file 'nothing'"), "{}", fault.message);
        assert_eq!(fault.hint.as_deref(), Some("Available: spec."));
    }
}
