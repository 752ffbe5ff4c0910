//! Commits that do not land are left on a branch of ours, and never on one that somebody uses.

use autonoe_workspace::Landing;

use crate::fixture::HubFixture;

#[tokio::test]
async fn a_branch_of_the_users_with_that_name_is_kept() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[(".envrc", "evil")]);
    let users = fixture.git(&["commit-tree", "-m", "mine", "-p", "main", "main^{tree}"]);
    fixture.git(&["update-ref", "refs/heads/autonoe/1", &users]);
    let landing = fixture.land(&workspace, &revision).await;
    assert!(matches!(&landing, Landing::Apart { branch, .. } if branch == "autonoe/1-2"), "{landing:?}");
    assert_eq!(fixture.git(&["rev-parse", "autonoe/1"]), users);
}

#[tokio::test]
async fn a_branch_of_ours_that_the_user_has_checked_out_is_not_moved() {
    for checks_out in ["worktree", "switch"] {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, &[(".envrc", "evil")]);
        let left_on = async |expected: &str| {
            let landing = fixture.land(&workspace, &revision).await;
            assert!(matches!(&landing, Landing::Apart { branch, .. } if branch == expected), "{landing:?}");
        };
        left_on("autonoe/1").await;
        let tip = fixture.git(&["rev-parse", "autonoe/1"]);
        let elsewhere = fixture.root().with_extension("elsewhere").display().to_string();
        match checks_out {
            "worktree" => fixture.git(&["worktree", "add", "-q", &elsewhere, "autonoe/1"]),
            _ => fixture.git(&["switch", "-q", "autonoe/1"]),
        };
        fixture.work(&workspace, &[("c.txt", "more")]);
        left_on("autonoe/1-2").await;
        assert_eq!(fixture.git(&["rev-parse", "autonoe/1"]), tip, "{checks_out}");
        assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    }
}

#[tokio::test]
async fn many_branches_of_that_name_are_no_obstacle() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[(".envrc", "evil")]);
    let users = fixture.git(&["commit-tree", "-m", "mine", "-p", "main", "main^{tree}"]);
    let taken = (2..30).map(|number| format!("autonoe/1-{number}")).chain(["autonoe/1".to_owned()]);
    taken.for_each(|name| drop(fixture.git(&["update-ref", &format!("refs/heads/{name}"), &users])));
    let landing = fixture.land(&workspace, &revision).await;
    assert!(matches!(&landing, Landing::Apart { branch, .. } if branch == "autonoe/1-30"), "{landing:?}");
}
