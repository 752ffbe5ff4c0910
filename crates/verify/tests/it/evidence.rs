//! Evidence: written for what is verified, and reproduced from nothing but the repository.

use std::fs;

use autonoe_core::check::{Assurance, Check, CheckOrigin};
use autonoe_core::examiner::Examiner;
use autonoe_sandbox::RoomLimits;
use autonoe_store::{CheckRegistry, Project, StatusStore};
use autonoe_verify::{
    CheckRun, CheckVerdict, Evidence, Reproduction, Strictness, disown_foreign_findings,
    disown_outdated_findings, reproduce, written_checks,
};
use jiff::Timestamp;
use serde_json::json;

use super::fixture::{ADDS, PRINTS_FIVE, SPEC, TEST, TESTED, VerifyFixture};

async fn verified() -> (VerifyFixture, Evidence) {
    let fixture = VerifyFixture::new(&SPEC.replace("check A", "check A criteria=1"));
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    drop(examiner);
    let evidence = Evidence::load(&fixture.project, "A").unwrap().unwrap();
    (fixture, evidence)
}

async fn reproduced(fixture: &VerifyFixture, evidence: &Evidence) -> Reproduction {
    let checkouts = fixture.checkouts(fixture.project.root(), RoomLimits::default()).await;
    reproduce(&fixture.project, &checkouts, evidence, &[], Strictness::Nothing).await.unwrap()
}

#[tokio::test]
async fn evidence_says_what_was_run_on_what_and_with_which_result() {
    let (fixture, evidence) = verified().await;
    assert_eq!(evidence.commit, Some(fixture.git(&["rev-parse", "HEAD"])));
    assert_eq!(evidence.tree, fixture.git(&["rev-parse", "HEAD^{tree}"]));
    let json = fixture.evidence("A").unwrap();
    assert_eq!(
        json["criteria"],
        json!([{ "text": "it works", "checks": ["adding", "adding-2"] }, { "text": "it is fast", "checks": [] }])
    );
    let [first, second] = &evidence.checks[..] else { panic!("two checks: {json:#}") };
    assert!(first.counts && second.counts);
    assert_eq!((&first.run.verdict, first.run.exit), (&CheckVerdict::Passed, Some(0)));
    assert_eq!((first.run.output.as_str(), second.run.output.as_str()), ("5\n", "30\n"));
    assert_eq!(first.run.output_sha256, autonoe_store::sha256_hex(b"5\n"));
    assert!(evidence.environment.tools.contains_key("bash"), "{:?}", evidence.environment);
    assert_eq!(evidence.at.to_string(), "2026-01-02T12:00:00Z");
}

#[tokio::test]
async fn evidence_is_reproduced_on_its_own_commit() {
    let (fixture, evidence) = verified().await;
    // What came later does not matter.
    fixture.commit(&[("calc.sh", PRINTS_FIVE)]);
    let reproduction = reproduced(&fixture, &evidence).await;
    assert!(reproduction.holds(), "{reproduction:?}");
    let outputs: Vec<&str> = reproduction.runs.iter().map(|(_, now)| now.output.as_str()).collect();
    assert_eq!(outputs, ["5\n", "30\n"]);
}

#[tokio::test]
async fn what_a_later_look_does_not_confirm_is_claimed_until_one_does() {
    let (fixture, evidence) = verified().await;
    let holds = reproduced(&fixture, &evidence).await;
    let mut fails = holds.clone();
    fails.runs[1].1.verdict = CheckVerdict::WrongExit { expected: 3 };
    fails.whole = vec![CheckRun { check: "whole".to_owned(), ..fails.runs[1].1.clone() }];
    let mut registry = CheckRegistry::load(&fixture.project).unwrap();
    let checks = written_checks(&fixture.project, &fixture.read("SPEC.md")).unwrap();
    let seen_by = |registry: &CheckRegistry| {
        let mut status = StatusStore::read(&fixture.project).unwrap().unwrap();
        let reasons = disown_outdated_findings(&fixture.project, &mut status, registry, &checks).unwrap();
        (status.find("A").unwrap().assurance().unwrap(), reasons.join("; "))
    };
    fails.record(&mut registry, "A", Timestamp::UNIX_EPOCH);
    let (assurance, reasons) = seen_by(&registry);
    assert_eq!(assurance, Assurance::Claimed);
    let words = "a later look at A failed on 1970-01-01 00:00 UTC: `adding-2`: expected exit 3, got 0";
    assert!(reasons.starts_with(words), "{reasons}");
    assert_eq!(registry.failing.keys().collect::<Vec<_>>(), ["whole"]);

    let mut later = registry.clone();
    holds.record(&mut later, "A", Timestamp::UNIX_EPOCH);
    assert_eq!(seen_by(&later), (Assurance::Verified, String::new()));

    // The last look of a run counts as well.
    registry.save(&fixture.project).unwrap();
    assert!(fixture.examiner().await.confirm().await.unwrap().is_clean());
    let registry = CheckRegistry::load(&fixture.project).unwrap();
    assert_eq!(seen_by(&registry), (Assurance::Verified, String::new()));
}

#[tokio::test]
async fn a_reproduction_says_by_whose_checks_and_how_the_whole_project_does() {
    let (fixture, mut evidence) = verified().await;
    assert!(!reproduced(&fixture, &evidence).await.qualification.contains("builder"));
    evidence.checks.iter_mut().for_each(|proof| proof.check.origin = CheckOrigin::Proposed);
    let checkouts = fixture.checkouts(fixture.project.root(), RoomLimits::default()).await;
    let [passes, fails] = ["true", "false"].map(|command| Check::of_command(command, CheckOrigin::Spec));
    let reproduction =
        reproduce(&fixture.project, &checkouts, &evidence, &[&passes, &fails], Strictness::Nothing)
            .await
            .unwrap();
    assert!(reproduction.qualification.ends_with(" by the builder's checks"), "{reproduction:?}");
    let whole: Vec<bool> = reproduction.whole.iter().map(|run| run.passed()).collect();
    assert_eq!(whole, [true, false]);
    assert!(reproduction.holds(), "the deliverable itself does");
}

#[tokio::test]
async fn a_reproduction_names_hidden_files_and_looks_with_them_if_asked() {
    let fixture = VerifyFixture::with_files(TESTED, &[("tests/add.sh", TEST)]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "[ -e tests/b ] || echo $(($2 + $3))\n"), ("tests/b", "")]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    let evidence = Evidence::load(&fixture.project, "A").unwrap().unwrap();
    let checkouts = fixture.checkouts(fixture.project.root(), RoomLimits::default()).await;
    for strictness in [Strictness::Nothing, Strictness::WithAddedFiles] {
        let reproduction = reproduce(&fixture.project, &checkouts, &evidence, &[], strictness).await.unwrap();
        assert!(reproduction.holds(), "{reproduction:?}");
        let [(path, clause)] = reproduction.disputed.as_slice() else { panic!("{reproduction:?}") };
        assert_eq!(path, "tests/b");
        assert!(
            clause.contains("was added") && clause.contains("`autonoe checks accept tests/b`"),
            "{clause}"
        );
        let fails = &reproduction.fails_with_added;
        assert_eq!(fails.is_empty(), strictness == Strictness::Nothing, "{fails:?}");
        assert!(fails.iter().all(|clause| clause.starts_with("`tests`: with --strict")), "{fails:?}");
    }
    autonoe_verify::reject(&fixture.project, &examiner.written, "tests/b").unwrap();
    assert_eq!(reproduced(&fixture, &evidence).await.disputed, [], "the user has decided");
}

#[tokio::test]
async fn forged_evidence_does_not_hold() {
    let (fixture, evidence) = verified().await;
    let passing = fixture.commit(&[("notes.txt", "more\n")]);
    let other_files = Evidence { commit: Some(passing), ..evidence.clone() };
    let reproduction = reproduced(&fixture, &other_files).await;
    assert!(reproduction.runs.iter().all(|(_, now)| now.passed()), "{reproduction:?}");
    assert!(!reproduction.holds(), "the checks pass, but on other files: {reproduction:?}");
    let failing = fixture.commit(&[("calc.sh", PRINTS_FIVE)]);
    let tree = fixture.git(&["rev-parse", "HEAD^{tree}"]);
    let reproduction =
        reproduced(&fixture, &Evidence { commit: Some(failing), tree, ..evidence.clone() }).await;
    assert!(!reproduction.holds() && reproduction.same_tree, "a check fails: {reproduction:?}");
    let nothing = Evidence { checks: Vec::new(), ..evidence };
    assert!(!reproduced(&fixture, &nothing).await.holds(), "no check at all proves nothing");
}

#[tokio::test]
async fn a_commit_that_no_longer_exists_is_reported() {
    let (fixture, evidence) = verified().await;
    let gone = Evidence { commit: Some("1".repeat(40)), ..evidence };
    let checkouts = fixture.checkouts(fixture.project.root(), RoomLimits::default()).await;
    let fault = reproduce(&fixture.project, &checkouts, &gone, &[], Strictness::Nothing).await.unwrap_err();
    assert_eq!(fault.code, "no_commit");
}

#[tokio::test]
async fn a_later_failure_leaves_the_evidence_of_the_earlier_commit() {
    let (fixture, evidence) = verified().await;
    let examiner = fixture.examiner().await;
    fixture.commit(&[("calc.sh", PRINTS_FIVE)]);
    examiner.assert_claim("A", Assurance::Failed, &[]).await;
    assert_eq!(Evidence::load(&fixture.project, "A").unwrap().unwrap(), evidence);
}

#[tokio::test]
async fn damaged_evidence_is_worth_as_much_as_none() {
    let fixture = VerifyFixture::new(SPEC);
    assert_eq!(Evidence::load(&fixture.project, "A").unwrap(), None);
    for text in ["{ \"deliverable\": \"A\" }", "<<<<<<< HEAD\n{}\n"] {
        fixture.write(".autonoe/evidence/A.json", text);
        assert_eq!(Evidence::load(&fixture.project, "A").unwrap(), None);
    }
}

#[tokio::test]
async fn evidence_that_was_edited_or_came_with_a_clone_is_not_ours() {
    let (fixture, evidence) = verified().await;
    assert!(evidence.is_ours);
    let status = || StatusStore::read(&fixture.project).unwrap().unwrap();
    assert_eq!(disown_foreign_findings(&fixture.project, &mut status()).unwrap(), Vec::<String>::new());
    let file = fixture.path(".autonoe/evidence/A.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"exit\": 0", "\"exit\": 1")).unwrap();
    assert!(!Evidence::load(&fixture.project, "A").unwrap().unwrap().is_ours);
    let mut edited = status();
    assert_eq!(disown_foreign_findings(&fixture.project, &mut edited).unwrap(), ["A"]);
    assert_eq!(edited.tally().verified, 0);
    fs::write(&file, &text).unwrap();
    assert!(Evidence::load(&fixture.project, "A").unwrap().unwrap().is_ours);

    let clone = Project::open(fixture.project.root(), &fixture.home().join("another-state")).unwrap();
    assert!(!Evidence::load(&clone, "A").unwrap().unwrap().is_ours);
}
