//! What a claim is judged by: the checks, on a clean checkout of the last commit.

use autonoe_core::check::Assurance;
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::event::CheckPurpose;
use autonoe_core::examiner::Examiner;
use autonoe_sandbox::RoomLimits;
use serde_json::json;

use super::fixture::{ADDS, PRINTS_FIVE, SPEC, VerifyFixture, check};

#[tokio::test]
async fn a_claim_whose_check_fails_is_refused_with_its_output() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    let commit = fixture.commit(&[("calc.sh", PRINTS_FIVE)]);
    let words = ["do not pass", &commit[..10], "expected `30`, got `5`", "Its output:\n5", "Fix it, commit"];
    let examination = examiner.assert_claim("A", Assurance::Failed, &words).await;
    assert_eq!(examination.finding.commit, Some(commit));
    let verdicts: Vec<bool> =
        examiner.checked(CheckPurpose::Claim).into_iter().map(|(passed, _)| passed).collect();
    assert_eq!(verdicts, [true, false], "one failed check is enough");
    assert_eq!(fixture.evidence("A"), None);
    assert_eq!(examiner.deliverable("A").await.status, DeliverableStatus::Pending);

    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &["verified"]).await;
}

#[tokio::test]
async fn an_exact_check_without_lines_must_print_nothing() {
    let fixture = VerifyFixture::without_repository("# Spec\n");
    for (command, more, passes) in [
        ("true", json!({ "exact": true }), true),
        ("echo TODO", json!({ "exact": true }), false),
        ("echo TODO >&2", json!({ "exact": true, "output": [] }), false),
        ("echo TODO", json!({ "exact": true, "output": [], "setup": ["true"] }), false),
        ("echo TODO", json!({ "exact": false, "output": [] }), true),
        // A block of SPEC.md without lines.
        ("echo TODO", json!({ "exact": true, "origin": "spec" }), true),
    ] {
        let run = fixture.run_check(RoomLimits::default(), check(command, more.clone())).await;
        assert_eq!(run.passed(), passes, "{command} {more}: {run:?}");
    }
    fixture.write(".autonoe/checks.json", r#"{ "checks": [{ "name": "a", "run": "x", "exact": true }] }"#);
    let briefing = fixture.prepared().await.briefing().await.unwrap().unwrap();
    assert!(briefing.contains("`x`, which must print nothing"), "{briefing}");
}

#[tokio::test]
async fn a_program_that_misses_the_specification_is_told_why() {
    let fixture = VerifyFixture::new("# Spec\n\n```check A\n$ sh parts.sh\n1\n```\n");
    let examiner = fixture.prepared().await;
    fixture.commit(&[("parts.sh", "grep -c '^# ' SPEC.md\n")]);
    let said = "SPEC.md and `.autonoe/` are not in the checkout that checks see";
    examiner.assert_claim("A", Assurance::Failed, &["No such file", said]).await;
}

#[tokio::test]
async fn uncommitted_work_is_not_checked_and_is_named() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", PRINTS_FIVE)]);
    fixture.write("calc.sh", ADDS);
    examiner.assert_claim("A", Assurance::Failed, &["Not committed, so not checked: calc.sh."]).await;
    fixture.commit(&[]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;

    // The other way around: the commit is right, whatever the working tree contains.
    fixture.write("calc.sh", PRINTS_FIVE);
    fixture.write("notes.txt", "to do\n");
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    let evidence = fixture.evidence("A").unwrap();
    assert_eq!(evidence["uncommitted"], serde_json::json!(["calc.sh", "notes.txt"]));
}

#[tokio::test]
async fn before_the_first_commit_nothing_is_verified() {
    let fixture = VerifyFixture::without_repository(SPEC);
    fixture.git(&["init", "-q", "-b", "main", "."]);
    let examiner = fixture.prepared().await;
    fixture.write("calc.sh", ADDS);
    examiner.assert_claim("A", Assurance::Failed, &["Nothing is committed yet"]).await;
    assert_eq!(fixture.evidence("A"), None);
}

#[tokio::test]
async fn without_a_repository_a_copy_of_the_files_is_checked() {
    let fixture = VerifyFixture::without_repository(SPEC);
    let examiner = fixture.prepared().await;
    fixture.write("calc.sh", ADDS);
    let words = ["a copy of the files (there is no git repository)", "verified"];
    let examination = examiner.assert_claim("A", Assurance::Verified, &words).await;
    assert_eq!(examination.finding.commit, None);
    fixture.write("calc.sh", PRINTS_FIVE);
    let broken = examiner.assert_claim("A", Assurance::Failed, &[]).await;
    assert_ne!(broken.finding.tree, examination.finding.tree);
}

#[tokio::test]
async fn without_a_check_a_deliverable_is_claimed() {
    let fixture = VerifyFixture::new("# Spec\n");
    let examiner = fixture.prepared().await;
    examiner.assert_claim("A", Assurance::Claimed, &["It has no check"]).await;
    assert_eq!(fixture.evidence("A"), None);
}

#[tokio::test]
async fn the_briefing_lists_the_checks_of_what_is_open() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    let briefing = examiner.briefing().await.unwrap().unwrap();
    assert!(briefing.contains("`A`: check `adding` runs `sh calc.sh add 2 3`"), "{briefing}");
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.claim("A").await;
    assert_eq!(examiner.briefing().await.unwrap(), None, "nothing with a check is open");
}

/// An agent that claims often enough gets a random program to pass.
#[tokio::test]
async fn a_check_that_also_failed_on_the_same_files_is_called_flaky() {
    let spec = "# Calc\n\n```check A name=lucky\n$ sh calc.sh && test \"$LUCK\"\n```\n";
    for is_strict in [false, true] {
        let fixture = VerifyFixture::new(spec);
        fixture.prepared().await;
        let with = async |luck: &str| {
            let luck = ("LUCK".to_owned(), luck.to_owned());
            let change = |examiner: &mut autonoe_verify::ProjectExaminer| {
                examiner.checkouts.room_config.env.push(luck);
                examiner.is_strict = is_strict;
            };
            fixture.changed_examiner(change).await
        };
        fixture.commit(&[("calc.sh", "true\n")]);
        with("").await.assert_claim("A", Assurance::Failed, &[]).await;
        let lucky = with("yes").await;
        let said = "`lucky` failed 1 of 2 times on the same files";
        let assurance = if is_strict { Assurance::Claimed } else { Assurance::Verified };
        lucky.assert_claim("A", assurance, &[said]).await;
        // Other files are another matter.
        fixture.commit(&[("calc.sh", "true # fixed\n")]);
        let examination = lucky.assert_claim("A", Assurance::Verified, &[]).await;
        assert_eq!(examination.finding.flaky, None);
    }
}
