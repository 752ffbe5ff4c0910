//! What the user has discarded stays so, and hides nothing else.

use autonoe_workspace::Settled;

use crate::fixture::HubFixture;
use crate::runs::{ahead, left_by_a_run, run};

#[tokio::test]
async fn branches_of_discarded_commits_go_with_them_unless_the_user_has_them() {
    for is_users in [false, true] {
        let fixture = HubFixture::new().await;
        left_by_a_run(&fixture, "new.txt").await;
        if is_users {
            fixture.git(&["checkout", "-q", "autonoe/1"]);
            fixture.git(&["checkout", "-q", "-"]);
            fixture.git(&["update-ref", "-m", "mine", "refs/heads/autonoe/1", "main"]);
            let tip = fixture.hub_git(&["rev-parse", "autonoe/1"]);
            fixture.git(&["update-ref", "-m", "mine", "refs/heads/autonoe/1", &tip]);
        }
        let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
        let discarded = fixture.hub.discard(&unlanded).await.unwrap();
        let expected = if is_users { vec!["autonoe/1".to_owned()] } else { Vec::new() };
        assert_eq!(discarded.left, expected);
        let branches = fixture.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/autonoe/**"]);
        assert_eq!(branches.lines().map(str::to_owned).collect::<Vec<_>>(), expected);
        assert_eq!(fixture.hub_git(&["rev-parse", &discarded.kept]), unlanded.commit);
    }
}

/// The user has gone on from what is discarded, or has taken some of it back.
#[tokio::test]
async fn what_is_discarded_stays_so_where_the_user_has_moved_its_branch() {
    for is_ahead in [true, false] {
        let fixture = HubFixture::new().await;
        let mut site = run(&fixture, 1).await;
        fixture.work(&site.workspace, &[("one.txt", "agent\n")]);
        fixture.work(&site.workspace, &[("two.txt", "agent\n")]);
        site.run_ended(&Settled::default()).await.unwrap();
        if is_ahead {
            fixture.git(&["checkout", "-q", "autonoe/1"]);
            fixture.commit(&[("mine.txt", "the user's\n")]);
            fixture.git(&["checkout", "-q", "main"]);
        } else {
            fixture.git(&["branch", "-f", "autonoe/1", "autonoe/1~1"]);
        }
        let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
        let discarded = fixture.hub.discard(&unlanded).await.unwrap();
        let left = if is_ahead { &discarded.left_below_others } else { &discarded.left };
        assert_eq!(*left, ["autonoe/1"], "it is the user's");
        assert_eq!(discarded.left.len() + discarded.left_below_others.len(), 1);
        assert_eq!(fixture.hub.unlanded().await.unwrap(), None);
        // Another process may have found it before.
        let mut again = unlanded.clone();
        again.commit = fixture.git(&["rev-parse", "autonoe/1"]);
        fixture.hub.discard(&again).await.unwrap();
        let site = run(&fixture, 2).await;
        assert_eq!((site.warning.as_deref(), ahead(&fixture, &site)), (None, String::new()));
    }
}

#[tokio::test]
async fn all_that_is_discarded_of_a_run_is_remembered() {
    let fixture = HubFixture::new().await;
    left_by_a_run(&fixture, "new.txt").await;
    let first = fixture.hub.unlanded().await.unwrap().unwrap();
    let first_kept = fixture.hub.discard(&first).await.unwrap().kept;
    // A branch of the same name is the user's own, unless a landing has made it.
    let other = fixture.git(&["commit-tree", "-m", "other", "-p", "main", "main^{tree}"]);
    fixture.git(&["branch", "autonoe/1", &other]);
    assert_eq!(fixture.hub.unlanded().await.unwrap(), None);
    fixture.git(&["branch", "-D", "autonoe/1"]);
    let by_landing = "autonoe: leave commits for you to merge";
    fixture.git(&["update-ref", "--create-reflog", "-m", by_landing, "refs/heads/autonoe/1", &other]);
    let second = fixture.hub.unlanded().await.unwrap().unwrap();
    for _ in 0..2 {
        let kept = fixture.hub.discard(&second).await.unwrap().kept;
        assert_eq!(fixture.hub_git(&["rev-parse", &kept]), second.commit);
    }
    assert_eq!(fixture.hub_git(&["rev-parse", &first_kept]), first.commit);
    assert_eq!(fixture.hub_git(&["for-each-ref", "refs/discarded"]).lines().count(), 2);
    assert_eq!(fixture.hub.unlanded().await.unwrap(), None);
    assert_eq!(ahead(&fixture, &run(&fixture, 2).await), "");
}

/// Both runs began from a commit that is only on another branch.
#[tokio::test]
async fn a_discarded_run_hides_no_other_one_on_the_same_branch() {
    let fixture = HubFixture::new().await;
    fixture.git(&["checkout", "-q", "-b", "feature"]);
    fixture.commit(&[("mine.txt", "the user's\n")]);
    left_by_a_run(&fixture, "new.txt").await;
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    fixture.hub.discard(&unlanded).await.unwrap();
    let mut site = run(&fixture, 2).await;
    fixture.work(&site.workspace, &[("other.txt", "agent\n")]);
    site.run_ended(&Settled::default()).await.unwrap();
    fixture.git(&["checkout", "-q", "main"]);
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    assert_eq!(unlanded.users_branch.as_deref(), Some("autonoe/2"));
}
