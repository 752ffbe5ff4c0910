//! The user's checks are remembered: a change needs the user's word, also the user's own.

use autonoe_core::check::Assurance;
use autonoe_core::event::RunEvent;
use autonoe_core::examiner::{Examiner, Proposal};
use autonoe_verify::accept;
use jiff::Timestamp;
use serde_json::json;

use super::fixture::{ADDS, ExaminerFixture, PRINTS_FIVE, SPEC, VerifyFixture, check};

fn accepts(examiner: &ExaminerFixture, target: &str) -> String {
    accept(&examiner.project, &examiner.written, target, Timestamp::UNIX_EPOCH).unwrap()
}

fn changed(examiner: &ExaminerFixture) -> Vec<String> {
    let events = examiner.events().into_iter();
    events
        .filter_map(|event| match event {
            RunEvent::Disputed { message, .. } if message.starts_with("your check") => Some(message),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_removed_check_leaves_its_deliverable_claimed() {
    let fixture = VerifyFixture::new(SPEC);
    drop(fixture.prepared().await);
    let weaker = SPEC.replace("$ sh calc.sh add 10 20\n30\n", "");
    fixture.commit(&[("SPEC.md", &weaker), ("calc.sh", PRINTS_FIVE)]);
    let examiner = fixture.prepared().await;
    assert_eq!(changed(&examiner).len(), 1);
    assert!(changed(&examiner)[0].contains("'adding-2' was removed since you last accepted it"));
    examiner.assert_claim("A", Assurance::Claimed, &["your check 'adding-2' was removed"]).await;
    // Neither time nor another process changes that.
    let next = fixture.prepared().await;
    assert_eq!(changed(&next), Vec::<String>::new(), "it was reported before");
    next.assert_claim("A", Assurance::Claimed, &[]).await;
    assert_eq!(accepts(&next, "SPEC.md"), "Accepted your checks of SPEC.md as they are now: adding-2.");
    next.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_changed_check_needs_the_users_word_even_if_it_fails_first() {
    let fixture = VerifyFixture::new(SPEC);
    drop(fixture.prepared().await);
    let weaker = SPEC.replace("sh calc.sh add 10 20\n30", "cat done\nyes");
    fixture.commit(&[("SPEC.md", &weaker)]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", PRINTS_FIVE), ("done", "yes\n")]);
    examiner.assert_claim("A", Assurance::Claimed, &["'adding-2' was changed"]).await;
    accepts(&examiner, "adding-2");
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_check_under_another_heading_is_the_same() {
    let fixture = VerifyFixture::new(SPEC);
    drop(fixture.prepared().await);
    let renamed = SPEC.replace("## Adding", "## Sums");
    fixture.commit(&[("SPEC.md", &renamed), ("calc.sh", ADDS)]);
    let examiner = fixture.prepared().await;
    assert_eq!(changed(&examiner), Vec::<String>::new());
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    // Under the new name it is remembered as under the old one.
    let weaker = renamed.replace("sh calc.sh add 10 20\n30", "cat calc.sh\necho");
    fixture.commit(&[("SPEC.md", &weaker)]);
    assert!(changed(&fixture.prepared().await)[0].contains("'sums-2' was changed"));
}

#[tokio::test]
async fn more_time_and_more_checks_are_no_change() {
    let fixture = VerifyFixture::new(SPEC);
    drop(fixture.prepared().await);
    let more = SPEC.replace("check A", "check A time=10m") + "\n- Check: `test -f new` for B\n";
    fixture.commit(&[("SPEC.md", &more)]);
    let examiner = fixture.prepared().await;
    assert_eq!(changed(&examiner), Vec::<String>::new());
    fixture.commit(&[("calc.sh", ADDS), ("new", "")]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    examiner.assert_claim("B", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn no_proposed_check_lifts_a_check_of_the_users_that_cannot_count() {
    let spec = "# Calc\n\n- Check: `true` for A\n\n```check B protect=tests/**\n$ sh tests/b.sh\n```\n";
    let fixture = VerifyFixture::new(spec);
    let examiner = fixture.prepared().await;
    let propose = |id: &str| {
        let name = format!("done-{id}");
        Proposal::New(check(&format!("test -f {name}"), json!({ "name": name, "deliverable": id })))
    };
    let ids = ["A".to_owned(), "B".to_owned()];
    examiner.propose(&ids, vec![propose("A"), propose("B")]).await.unwrap();
    examiner.prepare().await.unwrap();
    fixture.commit(&[("done-A", ""), ("done-B", ""), ("tests/b.sh", "exit 0\n")]);
    examiner.assert_claim("A", Assurance::Claimed, &["proves nothing"]).await;
    examiner.assert_claim("B", Assurance::Claimed, &["did not exist"]).await;
}

#[tokio::test]
async fn one_check_cannot_vouch_for_two_deliverables() {
    let fixture = VerifyFixture::new("# Calc\n");
    let examiner = fixture.prepared().await;
    let propose = |name: &str, id: &str| {
        Proposal::New(check("test -f done", json!({ "name": name, "deliverable": id })))
    };
    let ids = ["A".to_owned(), "B".to_owned()];
    let refused = examiner.propose(&ids, vec![propose("one", "A"), propose("two", "B")]).await.unwrap_err();
    assert!(refused.to_string().contains("one check cannot verify two deliverables"), "{refused}");
}

#[tokio::test]
async fn files_that_are_not_committed_protect_nothing() {
    let fixture =
        VerifyFixture::new("# Calc\n\n```check A name=tests protect=tests/**\n$ sh tests/a.sh\n```\n");
    fixture.write("tests/a.sh", "test -f calc.sh\n");
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Claimed, &["did not exist: tests/**"]).await;
}

#[tokio::test]
async fn a_deliverable_whose_checks_are_gone_is_claimed_at_the_last_look() {
    for (spec, is_accepted) in [(SPEC.replace("check A", "check B"), false), ("# Calc\n".to_owned(), true)] {
        let fixture = VerifyFixture::new(SPEC);
        let examiner = fixture.prepared().await;
        fixture.commit(&[("calc.sh", ADDS)]);
        examiner.assert_claim("A", Assurance::Verified, &[]).await;
        drop(examiner);
        fixture.commit(&[("SPEC.md", &spec), ("calc.sh", PRINTS_FIVE)]);
        let next = fixture.prepared().await;
        if is_accepted {
            accepts(&next, "SPEC.md");
        }
        assert!(next.confirm().await.unwrap().is_clean());
        let finding = next.deliverable("A").await.finding.expect("a finding");
        assert_eq!(finding.assurance, Assurance::Claimed, "{spec}");
    }
}

#[tokio::test]
async fn a_weaker_check_makes_its_deliverable_claimed_even_without_a_new_commit() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    drop(examiner);
    fixture.write("SPEC.md", &SPEC.replace("add 10 20\n30\n", "add 10 20\n"));
    let next = fixture.prepared().await;
    assert!(next.confirm().await.unwrap().is_clean());
    assert_eq!(next.deliverable("A").await.finding.unwrap().assurance, Assurance::Claimed);
}

/// Agents worked for the checks with which the run began; `autonoe status` reads those of now.
#[tokio::test]
async fn what_the_user_edits_during_a_run_counts_at_its_last_look() {
    let stronger = SPEC.replace("add 10 20\n30\n", "add 10 20\n30.0\n");
    let more = format!("{SPEC}\n- Check: `test -f new` for A\n");
    for (spec, words) in [
        (stronger.as_str(), "your check 'adding-2' was changed"),
        (&more, "your check 'adding-3' of A is new"),
        ("# Calc\n", "your check 'adding' was removed"),
    ] {
        let fixture = VerifyFixture::new(SPEC);
        let examiner = fixture.prepared().await;
        fixture.commit(&[("calc.sh", ADDS)]);
        examiner.assert_claim("A", Assurance::Verified, &[]).await;
        fixture.write("SPEC.md", spec);
        assert!(examiner.confirm().await.unwrap().is_clean(), "{spec}");
        let finding = examiner.deliverable("A").await.finding.expect("a finding");
        assert_eq!(finding.assurance, Assurance::Claimed, "{spec}");
        assert!(format!("{:?}", examiner.events()).contains(words), "{spec}: {:?}", examiner.events());
        // As it was, it counts again.
        fixture.write("SPEC.md", SPEC);
        assert!(examiner.confirm().await.unwrap().is_clean());
        assert_eq!(examiner.deliverable("A").await.finding.unwrap().assurance, Assurance::Verified);
    }
}
