//! A check counts only if it failed before the work began.

use autonoe_core::check::Assurance;
use autonoe_core::event::CheckPurpose;
use autonoe_core::examiner::Examiner;
use autonoe_store::{CheckRegistry, CheckState};

use super::fixture::{ADDS, SPEC, VerifyFixture, network};

#[tokio::test]
async fn each_new_check_runs_once_before_the_work() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    let red = examiner.checked(CheckPurpose::RedFirst);
    assert_eq!(red.len(), 2);
    for (passed, message) in &red {
        assert!(!passed && message.contains("as expected before the work begins"), "{message}");
    }
    let registry = CheckRegistry::load(&fixture.project).unwrap();
    let commit = Some(fixture.git(&["rev-parse", "HEAD"]));
    assert_eq!(registry.baselines.len(), 2);
    assert!(registry.baselines.values().all(|seen| seen.state == CheckState::Red && seen.commit == commit));

    // Neither the same process nor the next one runs it again, even after the work.
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.prepare().await.unwrap();
    assert_eq!(examiner.checked(CheckPurpose::RedFirst).len(), 2);
    drop(examiner);
    let next = fixture.prepared().await;
    assert_eq!(next.checked(CheckPurpose::RedFirst), []);
    next.assert_claim("A", Assurance::Verified, &["verified"]).await;
}

/// A process that is killed again and again gets through its first looks.
#[tokio::test]
async fn a_look_that_was_cut_off_is_continued_with_the_checks_that_are_left() {
    const CHECKS: usize = 12;
    let checks: String =
        (0..CHECKS).map(|number| format!("- Check: `test -f calc.sh && echo {number}` for A\n")).collect();
    let fixture = VerifyFixture::new(&format!("# Spec\n\n{checks}"));
    let examiner = fixture.examiner().await;
    let has_seen_some = async {
        while examiner.checked(CheckPurpose::RedFirst).len() < 3 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        biased;
        () = has_seen_some => {}
        result = examiner.prepare() => panic!("it is not cut off: {result:?}"),
    }
    drop(examiner);
    let registry = CheckRegistry::load(&fixture.project).unwrap();
    let seen = registry.baselines.len();
    assert!((2..CHECKS).contains(&seen) && registry.first_look_was_cut, "{seen}");
    let next = fixture.prepared().await;
    assert_eq!(next.checked(CheckPurpose::RedFirst).len(), CHECKS - seen);
    let registry = CheckRegistry::load(&fixture.project).unwrap();
    assert_eq!((registry.baselines.len(), registry.first_look_was_cut), (CHECKS, false));
    assert!(registry.baselines.values().all(|baseline| baseline.state == CheckState::Red));
    fixture.commit(&[("calc.sh", ADDS)]);
    next.assert_claim("A", Assurance::Verified, &["verified"]).await;
}

#[tokio::test]
async fn a_check_that_passes_before_the_work_proves_nothing() {
    let fixture = VerifyFixture::new("# Spec\n\n- Check: `true` for A\n");
    let examiner = fixture.prepared().await;
    let [(true, message)] = &examiner.checked(CheckPurpose::RedFirst)[..] else { panic!("one check passed") };
    assert!(message.contains("`autonoe checks accept spec`"), "{message}");
    examiner.assert_claim("A", Assurance::Claimed, &["proves nothing", "claimed, not verified"]).await;
    assert_eq!(fixture.evidence("A"), None);
    let (_, message) = examiner.checked(CheckPurpose::Claim).remove(0);
    assert!(message.contains("does not count"), "{message}");
}

#[tokio::test]
async fn a_vacuous_check_beside_one_that_failed_first_does_not_spoil_it() {
    let fixture = VerifyFixture::new("# Spec\n\n- Check: `true` for A\n- Check: `test -f calc.sh` for A\n");
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    let evidence = fixture.evidence("A").unwrap();
    assert_eq!([0, 1].map(|index| evidence["checks"][index]["counts"] == true), [false, true]);
}

#[tokio::test]
async fn a_check_that_was_not_run_before_the_work_does_not_count() {
    let fixture = VerifyFixture::with_files(SPEC, &[("calc.sh", ADDS)]);
    let examiner = fixture.examiner().await;
    examiner.assert_claim("A", Assurance::Claimed, &["not run before the work began"]).await;
    assert_eq!(fixture.evidence("A"), None);
}

#[tokio::test]
async fn a_changed_check_is_a_new_check() {
    let fixture = VerifyFixture::new(SPEC);
    drop(fixture.prepared().await);
    fixture.commit(&[("calc.sh", ADDS), ("SPEC.md", &SPEC.replace("10 20\n30", "1 1\n2"))]);
    let examiner = fixture.prepared().await;
    let red = examiner.checked(CheckPurpose::RedFirst);
    assert_eq!(red.len(), 1, "only the changed one runs again: {red:?}");
    assert!(red[0].0, "it passes at once and proves nothing");
}

#[tokio::test]
async fn a_check_relying_on_files_that_do_not_exist_does_not_count() {
    let fixture = VerifyFixture::new("# Calc\n\n```check A protect=tests/**\n$ sh tests/all.sh\n```\n");
    let examiner = fixture.prepared().await;
    let (_, message) = examiner.checked(CheckPurpose::RedFirst).remove(0);
    assert!(message.contains("files that are not committed (tests/**)"), "{message}");
    fixture.commit(&[("tests/all.sh", "exit 0\n")]);
    examiner.assert_claim("A", Assurance::Claimed, &["files it relies on did not exist: tests/**"]).await;
}

#[tokio::test]
async fn a_check_that_could_not_run_has_not_failed_first() {
    let fixture = VerifyFixture::new("# Spec\n\n```check A name=idle network\n$ true\n```\n");
    let examiner = fixture.prepared().await;
    let (_, message) = examiner.checked(CheckPurpose::RedFirst).remove(0);
    assert!(message.contains("it does not count until it has run"), "{message}");
    examiner.assert_claim("A", Assurance::Failed, &["which you have not allowed"]).await;
    drop(examiner);

    let examiner = fixture.changed_examiner(|examiner| examiner.checkouts.network = network()).await;
    examiner.prepare().await.unwrap();
    assert!(examiner.checked(CheckPurpose::RedFirst)[0].0, "it passes at once");
    examiner.assert_claim("A", Assurance::Claimed, &["proves nothing"]).await;
}

#[tokio::test]
async fn what_was_in_the_way_of_make_before_the_work_is_not_new() {
    let makefile = "docs:\n\tsh docs.sh\ntest:\n\tsh calc.sh add 1 2\n";
    let files = [("Makefile", makefile), ("docs/a.md", "x")];
    let fixture = VerifyFixture::with_files("# Spec\n\n- Check: `make test` for A\n", &files);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    assert_eq!(fixture.evidence("A").unwrap().get("runner_files"), None);
}
