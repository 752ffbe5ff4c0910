//! What a refusal to land advises, and what else it says.

use autonoe_workspace::{LandingRefusal, WantedBranch};

use crate::fixture::HubFixture;
use crate::landing::refusal;

#[tokio::test]
async fn a_branch_that_is_checked_out_elsewhere_is_merged_there() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("a.txt", "agent\n")]);
    fixture.git(&["switch", "-q", "-c", "other"]);
    let elsewhere = fixture.path("../elsewhere");
    fixture.git(&["worktree", "add", "-q", &elsewhere.display().to_string(), "main"]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    let place = elsewhere.canonicalize().unwrap();
    let advice = format!("in {}, where 'main' is checked out: git merge", place.display());
    assert!(why.advice("autonoe/1").starts_with(&advice), "{}", why.advice("autonoe/1"));
    fixture.git_in(&elsewhere, &["merge", "-q", "--no-overwrite-ignore", "autonoe/1"]);
}

#[test]
fn advice_names_all_that_must_be_accepted() {
    let and = |why: LandingRefusal| LandingRefusal::AndSelfActing { why: Box::new(why), files: Vec::new() };
    for (why, advice) in [
        (LandingRefusal::Protected(Vec::new()), "autonoe land --accept-protected`"),
        (and(LandingRefusal::Protected(Vec::new())), "autonoe land --accept-protected --accept-self-acting`"),
        (
            and(LandingRefusal::Detached { wanted: WantedBranch::Unknown }),
            "autonoe land --accept-self-acting`",
        ),
        (LandingRefusal::Files(String::new()), "`autonoe land`"),
    ] {
        assert!(why.advice("b").contains(advice), "{}", why.advice("b"));
    }
}

#[tokio::test]
async fn a_merge_that_the_user_has_not_finished_is_named() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("new.txt", "agent\n")]);
    let other = fixture.commit(&[("b.txt", "the user's\n")]);
    fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
    fixture.commit(&[("c.txt", "the user's\n")]);
    fixture.git(&["merge", "-q", "--no-commit", &other]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert!(matches!(why, LandingRefusal::AndInProgress { .. }), "{why:?}");
    assert!(
        why.to_string().ends_with("first finish or abort what you are in the middle of (.git/MERGE_HEAD)")
    );
    fixture.git(&["merge", "--abort"]);
    fixture.git(&["merge", "-q", "--no-overwrite-ignore", "autonoe/1"]);
}
