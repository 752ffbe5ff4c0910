//! The last look: everything that passed is checked once more before a run believes that it is done.

use std::fs;

use autonoe_core::check::{Assurance, Finding};
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::event::{CheckPurpose, RunEvent};
use autonoe_core::examiner::{Confirmation, Examiner};
use autonoe_core::instruction::Phase;
use autonoe_core::sink::Sink;
use autonoe_core::span::{SpanContext, TraceId};
use autonoe_core::status::ProjectStatus;
use autonoe_sandbox::SandboxLayer;
use autonoe_verify::Builder;

use super::fixture::{ADDS, PRINTS_FIVE, SPEC, VerifyFixture};

#[tokio::test]
async fn what_still_passes_is_confirmed_and_its_evidence_kept() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.claim("A").await;
    let (finding, evidence) = (examiner.deliverable("A").await.finding, fixture.evidence("A"));
    assert!(examiner.confirm().await.unwrap().is_clean());
    assert_eq!(examiner.checked(CheckPurpose::Confirmation).len(), 2, "the checks have run again");
    assert_eq!((examiner.deliverable("A").await.finding, fixture.evidence("A")), (finding, evidence));

    let commit = fixture.commit(&[("notes.txt", "more\n")]);
    assert!(examiner.confirm().await.unwrap().is_clean());
    assert_eq!(examiner.deliverable("A").await.finding.unwrap().commit.as_ref(), Some(&commit));
    assert_eq!(fixture.evidence("A").unwrap()["commit"], commit, "the evidence is of what there is now");
}

#[tokio::test]
async fn what_breaks_after_its_claim_becomes_pending_again() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.claim("A").await;
    examiner.claim("B").await;
    fixture.commit(&[("calc.sh", PRINTS_FIVE)]);
    let confirmation = examiner.confirm().await.unwrap();
    assert_eq!(confirmation, Confirmation { regressed: vec!["A".to_owned()], project: Vec::new() });
    let broken = examiner.deliverable("A").await;
    assert_eq!(broken.status, DeliverableStatus::Pending);
    assert_eq!(broken.finding.unwrap().assurance, Assurance::Failed);
    assert_eq!(examiner.deliverable("B").await.status, DeliverableStatus::Passed, "it has no check");
    assert!(examiner.events().iter().any(|event| matches!(event, RunEvent::StatusChanged(_))));
}

#[tokio::test]
async fn a_checkout_that_is_left_changed_makes_what_was_verified_claimed() {
    let fixture = VerifyFixture::new(SPEC);
    fixture.commit(&[("users.txt", "1\n"), ("lib.sh", "")]);
    fixture.write("users.txt", "2\n");
    let examiner = fixture.prepared().await;
    fixture.write("calc.sh", ADDS);
    fixture.git(&["add", "calc.sh"]);
    fixture.git(&["commit", "-q", "-m", "work"]);
    examiner.claim("A").await;
    fixture.write("new.txt", "");
    fixture.write("lib.sh", "broken\n");
    let assurance = async || examiner.deliverable("A").await.finding.unwrap().assurance;
    examiner.confirm().await.unwrap();
    assert_eq!(assurance().await, Assurance::Verified, "B is still being built");

    examiner.claim("B").await;
    examiner.confirm().await.unwrap();
    assert_eq!(assurance().await, Assurance::Claimed);
    let said = examiner.events().iter().any(|event| {
        matches!(event, RunEvent::Notice { message } if message.ends_with("counts as claimed: lib.sh."))
    });
    assert!(said, "{:?}", examiner.events());

    // Git itself can be kept from looking.
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        fixture.write("lib.sh", "");
        examiner.confirm().await.unwrap();
        assert_eq!(assurance().await, Assurance::Verified);
        fixture.git(&["update-index", mark, "lib.sh"]);
        fixture.write("lib.sh", "broken\n");
        examiner.confirm().await.unwrap();
        assert_eq!(assurance().await, Assurance::Claimed, "{mark}");
    }
    fixture.write("lib.sh", "");
    examiner.confirm().await.unwrap();
    assert_eq!(assurance().await, Assurance::Verified, "what the user had changed before does not matter");
}

#[tokio::test]
async fn a_status_set_to_passed_after_a_failure_is_refuted() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    let failure = examiner.assert_claim("A", Assurance::Failed, &[]).await.finding;
    // As if status.json had been edited.
    let change = |status: &mut ProjectStatus, _| {
        let changed = status.set_status("A", DeliverableStatus::Passed)?;
        status.set_finding("A", failure)?;
        Ok(((), vec![changed]))
    };
    examiner.status.change(Box::new(change)).await.unwrap();
    assert_eq!(examiner.confirm().await.unwrap().regressed, ["A"], "although the failure is known");
}

#[tokio::test]
async fn what_a_partial_layer_has_found_is_found_again_on_a_full_one() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    if examiner.checkouts.room_config.sandbox.layer() != SandboxLayer::Bubblewrap {
        return;
    }
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.claim("A").await;
    let finding = examiner.deliverable("A").await.finding.unwrap();
    assert_eq!(finding.partial_layer, None);
    let partial = Finding { partial_layer: Some("landlock".to_owned()), ..finding };
    let change = |status: &mut ProjectStatus, _| Ok((status.set_finding("A", partial)?, Vec::new()));
    examiner.status.change(Box::new(change)).await.unwrap();
    assert!(examiner.confirm().await.unwrap().is_clean());
    assert_eq!(examiner.deliverable("A").await.finding.unwrap().partial_layer, None);
}

#[tokio::test]
async fn evidence_that_is_gone_is_written_anew() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    fs::remove_file(fixture.path(".autonoe/evidence/A.json")).unwrap();
    assert!(examiner.confirm().await.unwrap().is_clean());
    assert!(fixture.evidence("A").is_some(), "it was verified once more");
}

#[tokio::test]
async fn a_claim_that_no_check_confirmed_is_not_confirmed_by_looking_again() {
    let fixture = VerifyFixture::new("# Spec\n\n- Check: `true` for A\n");
    let examiner = fixture.prepared().await;
    examiner.claim("A").await;
    assert!(examiner.confirm().await.unwrap().is_clean());
    assert_eq!(examiner.deliverable("A").await.finding.unwrap().assurance, Assurance::Claimed);
    assert_eq!(fixture.evidence("A"), None);
}

#[tokio::test]
async fn checks_of_the_project_as_a_whole_fail_the_confirmation() {
    // A check whose deliverable does not exist would otherwise never run.
    let spec = "# Spec\n\n- Check: `test -f README.md`\n- Check: `test -f calc.sh` for OTHER\n";
    let fixture = VerifyFixture::new(spec);
    let examiner = fixture.prepared().await;
    let confirmation = examiner.confirm().await.unwrap();
    assert_eq!(confirmation.project, ["spec", "spec-2"]);
    assert!(!confirmation.is_clean());
    let briefing = examiner.briefing().await.unwrap().unwrap();
    assert_eq!(briefing.matches("The project as a whole fails").count(), 2, "{briefing}");

    fixture.commit(&[("README.md", "Read.\n"), ("calc.sh", ADDS)]);
    assert!(examiner.confirm().await.unwrap().is_clean());
    let briefing = examiner.briefing().await.unwrap().unwrap();
    assert!(!briefing.contains("as a whole fails"), "{briefing}");
}

#[tokio::test]
async fn the_evidence_keeps_the_builder_of_the_claim() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    let session = |backend: &str| {
        let started = RunEvent::SessionStarted {
            deliverable: None,
            number: 1,
            instruction: Phase::Coding,
            step: None,
            backend: backend.to_owned(),
            model: "m".to_owned(),
        };
        examiner.builders.on(&SpanContext::run(1, TraceId(1)), &(&started).into());
    };
    session("builder");
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.claim("A").await;
    session("somebody else");
    fixture.commit(&[("notes.txt", "more\n")]);
    examiner.confirm().await.unwrap();
    let builder: Builder = serde_json::from_value(fixture.evidence("A").unwrap()["builder"].clone()).unwrap();
    assert_eq!(builder.backend, "builder");
}

#[tokio::test]
async fn a_confirmation_that_cannot_be_finished_voids_what_it_was_to_confirm() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    let commit = fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    let blob = fixture.git(&["rev-parse", &format!("{commit}:calc.sh")]);
    fixture.commit(&[("more", "more\n")]);
    fs::remove_dir_all(fixture.home().join("history")).unwrap();
    fs::remove_file(fixture.path(&format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).unwrap();
    examiner.confirm().await.unwrap_err();
    assert_eq!(examiner.deliverable("A").await.assurance(), Some(Assurance::Claimed));
}
