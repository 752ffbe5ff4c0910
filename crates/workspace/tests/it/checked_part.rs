//! How far checks have followed the commits of a run, and landing only that.

use autonoe_workspace::{CheckedPart, Landing, LandingConsent, Settled};

use crate::fixture::HubFixture;

fn part(commit: Option<&String>, unlanded: usize, unseen: usize) -> CheckedPart {
    CheckedPart { commit: commit.cloned(), unlanded, unseen }
}

#[tokio::test]
async fn commits_after_the_last_verified_one_are_counted() {
    let fixture = HubFixture::new().await;
    let before = fixture.git(&["rev-parse", "main"]);
    let (workspace, _) = fixture.workspace().await;
    let commits: Vec<_> =
        ["1", "2", "3", "4"].map(|text| fixture.work(&workspace, &[("a.txt", text)])).into_iter().collect();
    fixture.hub.fetch(&workspace).await.unwrap();
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    let elsewhere = "1".repeat(40);
    for (verified, expected) in [
        (vec![], part(None, 4, 4)),
        (vec![&elsewhere], part(None, 4, 4)),
        (vec![&before], part(Some(&before), 4, 4)),
        (vec![&commits[0], &commits[1], &before], part(Some(&commits[1]), 4, 2)),
        (vec![&commits[3], &commits[0]], part(Some(&commits[3]), 4, 0)),
    ] {
        let verified: Vec<_> = verified.into_iter().cloned().collect();
        let found = fixture.hub.checked_unlanded(&unlanded, &verified).await.unwrap();
        assert_eq!(found, expected, "{verified:?}");
        let rest = unlanded.clone().only_checked(&found).map(|rest| rest.commit);
        let lands = (found.unseen < 4).then(|| found.commit.clone().unwrap());
        assert_eq!(rest, lands, "{verified:?}");
    }
}

#[tokio::test]
async fn a_commit_with_the_same_files_was_seen() {
    let fixture = HubFixture::new().await;
    let (workspace, _) = fixture.workspace().await;
    let checked = fixture.work(&workspace, &[("a.txt", "1")]);
    fixture.git_in(&workspace.tree(), &["commit", "-q", "--allow-empty", "-m", "nothing"]);
    let tip = fixture.hub.fetch(&workspace).await.unwrap();
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    let found = fixture.hub.checked_unlanded(&unlanded, &[checked]).await.unwrap();
    assert_eq!(found.unseen, 0);
    assert_eq!(unlanded.only_checked(&found).unwrap().commit, tip);
}

#[tokio::test]
async fn what_was_checked_lands_and_the_rest_stays() {
    let fixture = HubFixture::new().await;
    let (workspace, _) = fixture.workspace().await;
    let checked = fixture.work(&workspace, &[("a.txt", "checked")]);
    let tip = fixture.work(&workspace, &[("a.txt", "unseen")]);
    fixture.hub.fetch(&workspace).await.unwrap();
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    let found = fixture.hub.checked_unlanded(&unlanded, std::slice::from_ref(&checked)).await.unwrap();
    let rest = unlanded.only_checked(&found).unwrap();
    let landing =
        fixture.hub.land_unlanded(&rest, LandingConsent::default(), &Settled::default()).await.unwrap();
    assert!(matches!(landing, Landing::Landed { .. }), "{landing:?}");
    assert_eq!((fixture.git(&["rev-parse", "main"]), fixture.read("a.txt")), (checked, "checked".into()));
    assert_eq!(fixture.hub.unlanded().await.unwrap().unwrap().commit, tip);
}
