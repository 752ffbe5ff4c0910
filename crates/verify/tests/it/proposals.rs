//! Checks that agents propose with new deliverables.

use autonoe_core::check::{Assurance, CheckOrigin};
use autonoe_core::event::CheckPurpose;
use autonoe_core::examiner::{Examiner, Proposal};
use autonoe_core::plan::StatusReader;
use autonoe_store::CheckRegistry;
use autonoe_test_kit::FixedClock;
use autonoe_verify::{Evidence, accept};
use serde_json::json;

use super::fixture::{ADDS, ExaminerFixture, PRINTS_FIVE, SPEC, VerifyFixture, check};

const PLAIN: &str = "# Calc\n\nIt adds two numbers.\n";

fn new(name: &str, command: &str) -> Proposal {
    Proposal::New(check(command, json!({ "name": name, "deliverable": "A" })))
}

fn from_spec(deliverable: &str) -> Proposal {
    Proposal::FromSpec { name: "sums".to_owned(), deliverable: deliverable.to_owned(), criteria: vec![1] }
}

async fn refused(examiner: &ExaminerFixture, proposals: Vec<Proposal>) -> String {
    let before = CheckRegistry::load(&examiner.project).unwrap();
    let reason = examiner.propose(&["A".to_owned()], proposals).await.unwrap_err().to_string();
    assert_eq!(CheckRegistry::load(&examiner.project).unwrap(), before, "a refusal registers nothing");
    reason
}

#[tokio::test]
async fn a_proposed_check_must_fail_first_too() {
    let fixture = VerifyFixture::new(PLAIN);
    let examiner = fixture.prepared().await;
    let proposals = vec![new("real", "[ \"$(sh calc.sh add 10 20)\" = 30 ]"), new("empty", "exit 0")];
    examiner.propose(&["A".to_owned()], proposals).await.unwrap();
    let proposed = CheckRegistry::load(&fixture.project).unwrap().proposed;
    assert!(proposed.iter().all(|check| check.origin == CheckOrigin::Proposed), "{proposed:?}");
    examiner.prepare().await.unwrap();
    let red: Vec<bool> =
        examiner.checked(CheckPurpose::RedFirst).into_iter().map(|(passed, _)| passed).collect();
    assert_eq!(red, [false, true]);
    examiner.assert_claim("A", Assurance::Failed, &["`real`"]).await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn files_of_a_proposed_check_are_not_restored_for_the_users_checks() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS), ("lib/good.sh", "")]);
    let protecting = |name: &str, files: &str| {
        let fields = json!({ "name": name, "deliverable": "B", "protect": [files] });
        Proposal::New(check("test -f done", fields))
    };
    let proposals = vec![protecting("program", "calc.sh"), protecting("library", "lib/**")];
    examiner.propose(&["B".to_owned()], proposals).await.unwrap();
    examiner.prepare().await.unwrap();
    examiner.assert_claim("A", Assurance::Verified, &[]).await;

    // Neither the version from before nor the missing file would be what the user gets.
    fixture.commit(&[("calc.sh", PRINTS_FIVE), ("lib/bad.sh", ""), ("done", "")]);
    examiner.assert_claim("A", Assurance::Failed, &[]).await;
    let words = ["files that proposed checks protect were changed: calc.sh, lib/bad.sh"];
    examiner.assert_claim("B", Assurance::Claimed, &words).await;
    fixture.commit(&[("calc.sh", ADDS)]);
    fixture.git(&["rm", "-q", "lib/bad.sh"]);
    fixture.commit(&[]);
    examiner.assert_claim("B", Assurance::Verified, &[]).await;
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_check_of_the_specification_is_assigned_once() {
    let fixture = VerifyFixture::new("# Calc\n\n## Sums\n\n- Check: `test -f calc.sh`\n");
    let examiner = fixture.examiner().await;
    examiner.propose(&["A".to_owned()], vec![from_spec("A")]).await.unwrap();
    assert!(refused(&examiner, vec![from_spec("B")]).await.contains("no unassigned check 'sums'"));
    examiner.prepare().await.unwrap();
    examiner.assert_claim("A", Assurance::Failed, &["`sums`"]).await;
    examiner.assert_claim("B", Assurance::Claimed, &["no check"]).await;
}

#[tokio::test]
async fn invalid_proposals_are_refused_with_the_reason() {
    let fixture = VerifyFixture::new(PLAIN);
    let examiner = fixture.examiner().await;
    examiner.propose(&["A".to_owned()], vec![new("one", "false")]).await.unwrap();
    for (proposals, words) in [
        (vec![new("one", "true")], "a check 'one' already exists"),
        (vec![new("two", "true"), new("two", "false")], "a check 'two' already exists"),
        (vec![new("three", "  ")], "has no command"),
        (vec![from_spec("A")], "no unassigned check"),
    ] {
        let reason = refused(&examiner, proposals).await;
        assert!(reason.contains(words), "{words}: {reason}");
    }
}

#[tokio::test]
async fn a_strict_run_wants_a_check_for_each_deliverable() {
    let fixture = VerifyFixture::new(PLAIN);
    let examiner = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    let ids = ["A".to_owned(), "B".to_owned()];
    let reason = examiner.propose(&ids, vec![new("one", "false")]).await.unwrap_err().to_string();
    assert!(reason.ends_with("missing for: B"), "{reason}");
    examiner.propose(&ids[..1], vec![new("one", "false")]).await.unwrap();
}

#[tokio::test]
async fn a_reviewer_is_asked_about_what_only_the_builder_has_checked() {
    let fixture = VerifyFixture::new(PLAIN);
    let examiner = fixture.prepared().await;
    let little = check("test -f done", json!({ "name": "little", "deliverable": "A", "criteria": [1, 2] }));
    examiner.propose(&["A".to_owned()], vec![Proposal::New(little)]).await.unwrap();
    examiner.prepare().await.unwrap();
    fixture.commit(&[("done", "")]);
    let finding = examiner.assert_claim("A", Assurance::Verified, &[]).await.finding;
    assert_eq!(finding.qualification(), " by the builder's checks");
    let briefing = examiner.review_briefing().await.unwrap().expect("a briefing");
    assert!(
        briefing.contains("Its builder wrote these checks") && briefing.contains("`test -f done`"),
        "{briefing}"
    );
}

#[tokio::test]
async fn criteria_without_a_check_are_named_wherever_it_is_called_verified() {
    let fixture = VerifyFixture::new(PLAIN);
    let examiner = fixture.prepared().await;
    let first = check("test -f done", json!({ "name": "first", "deliverable": "A", "criteria": [1] }));
    // It has always passed, so it covers nothing.
    let vacuous = check("true", json!({ "name": "vacuous", "deliverable": "A", "criteria": [2] }));
    let proposals = vec![Proposal::New(first), Proposal::New(vacuous)];
    examiner.propose(&["A".to_owned()], proposals).await.unwrap();
    examiner.prepare().await.unwrap();
    fixture.commit(&[("done", "")]);
    let words = "verified by the builder's checks, 1 of 2 criteria checked, no check for 2.";
    examiner.assert_claim("A", Assurance::Verified, &[words]).await;
    let status = examiner.status.load().await.unwrap().unwrap();
    assert_eq!(status.tally().with_unchecked_criteria, 1);
    let evidence = Evidence::load(&fixture.project, "A").unwrap().unwrap();
    assert_eq!(evidence.unchecked().unwrap().numbers, [2]);

    accept(&fixture.project, &[], "vacuous", FixedClock::NOON).unwrap();
    let finding = examiner.assert_claim("A", Assurance::Verified, &[]).await.finding;
    assert_eq!(finding.unchecked, None);
}
