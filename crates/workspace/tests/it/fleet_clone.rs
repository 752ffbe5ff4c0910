//! Clones for the harnesses of a fleet: their commits come home to branches, and nothing of the user's is touched.

use std::fs;
use std::path::Path;

use autonoe_workspace::ReservedSpace;

use crate::fixture::{HubFixture, write};

/// Commits a file in a clone, as a landing of its harness would.
fn work(fixture: &HubFixture, tree: &Path, name: &str, content: &str) -> String {
    write(&tree.join(name), content);
    fixture.git_in(tree, &["add", "--all"]);
    fixture.git_in(tree, &["commit", "-q", "-m", name]);
    fixture.git_in(tree, &["rev-parse", "HEAD"])
}

#[tokio::test]
async fn commits_come_home_to_a_branch_and_the_checkout_stays() {
    let fixture = HubFixture::new().await;
    fixture.write("a.txt", "changed by the user\n");
    assert_eq!(fixture.hub.begin_clones().await.unwrap(), (vec!["a.txt".to_owned()], None));
    let tree = fixture
        .hub
        .fleet_clone("fleet-1-api", "autonoe/shop/api", &[], ReservedSpace::default())
        .await
        .unwrap();
    assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "one\n", "the last commit");
    assert_eq!(fixture.hub.bring_home("fleet-1-api").await.unwrap(), None, "nothing was committed");
    let commit = work(&fixture, &tree, "api.txt", "api\n");
    let again = fixture
        .hub
        .fleet_clone("fleet-1-api", "autonoe/shop/api", &[], ReservedSpace::default())
        .await
        .unwrap();
    assert!(again == tree && tree.join("api.txt").exists(), "it is used as it is");
    for round in 0..2 {
        // The user commits meanwhile.
        fixture.commit(&[("user.txt", &round.to_string())]);
        let home = fixture.hub.bring_home("fleet-1-api").await.unwrap().expect("commits");
        assert_eq!(
            (home.branch.as_str(), home.commit.as_str(), home.note),
            ("autonoe/shop/api", commit.as_str(), None)
        );
    }
    assert_eq!(fixture.git(&["show", "autonoe/shop/api:api.txt"]), "api");
    assert_eq!(fixture.read("a.txt"), "changed by the user\n");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    assert_eq!(fixture.git(&["log", "--format=%s", "main"]), "work\nwork\nwork", "only the user's commits");
    // Another fleet of that name, which begins anew.
    let other = fixture
        .hub
        .fleet_clone("fleet-2-api", "autonoe/shop/api", &[], ReservedSpace::default())
        .await
        .unwrap();
    work(&fixture, &other, ".envrc", "echo\n");
    let home = fixture.hub.bring_home("fleet-2-api").await.unwrap().expect("commits");
    assert_eq!(home.branch, "autonoe/shop/api-2");
    assert!(home.note.expect("a note").contains(".envrc"), "files that act by themselves are named");
    assert_eq!(fixture.git(&["rev-parse", "autonoe/shop/api"]), commit);
    assert_eq!(fixture.hub.clones("fleet-1-"), ["fleet-1-api"]);
    fixture.hub.remove_clone("fleet-1-api").unwrap();
    assert!(!tree.exists() && other.exists());
}

/// A branch that the user has merged and removed must not come back, and commits that are only in the clone must not be lost.
#[tokio::test]
async fn it_is_known_whether_the_commits_of_a_clone_are_home() {
    let fixture = HubFixture::new().await;
    let clone = fixture.hub.fleet_clone("fleet-1-api", "autonoe/shop/api", &[], ReservedSpace::default());
    let tree = clone.await.unwrap();
    assert!(!fixture.hub.is_home("fleet-1-api"), "agents may have begun something in it");
    assert_eq!(fixture.hub.bring_home("fleet-1-api").await.unwrap(), None);
    assert!(fixture.hub.is_home("fleet-1-api"), "it has none");
    work(&fixture, &tree, "api.txt", "api\n");
    assert!(!fixture.hub.is_home("fleet-1-api"));
    fixture.hub.bring_home("fleet-1-api").await.unwrap().expect("commits");
    assert!(fixture.hub.is_home("fleet-1-api"));
    fixture.git(&["branch", "-D", "autonoe/shop/api"]);
    assert!(fixture.hub.is_home("fleet-1-api"), "what became of them is the user's choice");
    work(&fixture, &tree, "more.txt", "more\n");
    assert!(!fixture.hub.is_home("fleet-1-api"), "the last one is not");
    fixture.hub.bring_home("fleet-1-api").await.unwrap().expect("commits");
    let again = fixture.hub.fleet_clone("fleet-1-api", "autonoe/shop/api", &[], ReservedSpace::default());
    again.await.unwrap();
    assert!(!fixture.hub.is_home("fleet-1-api"), "a harness is at work in it again");
    assert!(fixture.hub.is_home("fleet-1-none"), "there is none");
}

#[tokio::test]
async fn a_clone_builds_on_others_and_names_what_they_both_changed() {
    let fixture = HubFixture::new().await;
    let mut commits = Vec::new();
    for (id, name, content) in
        [("a", "new-a.txt", "a\n"), ("b", "new-b.txt", "b\n"), ("c", "new-a.txt", "other\n")]
    {
        let (clone, branch) = (format!("fleet-1-{id}"), format!("autonoe/shop/{id}"));
        let tree = fixture.hub.fleet_clone(&clone, &branch, &[], ReservedSpace::default()).await.unwrap();
        work(&fixture, &tree, name, content);
        commits.push(fixture.hub.bring_home(&clone).await.unwrap().expect("commits"));
    }
    let commits: Vec<_> = commits.iter().map(|home| (home.commit.as_str(), home.branch.as_str())).collect();
    let both = fixture
        .hub
        .fleet_clone("fleet-1-d", "autonoe/shop/d", &commits[..2], ReservedSpace::default())
        .await
        .unwrap();
    assert!(both.join("new-a.txt").exists() && both.join("new-b.txt").exists());
    let home = fixture.hub.bring_home("fleet-1-d").await.unwrap().expect("the merge");
    assert_eq!(fixture.git(&["log", "-1", "--format=%s", &home.branch]), "Merge branch 'autonoe/shop/b'");
    assert_eq!(fixture.git(&["show", &format!("{}:new-b.txt", home.branch)]), "b");
    let one = fixture
        .hub
        .fleet_clone("fleet-1-f", "autonoe/shop/f", &commits[..1], ReservedSpace::default())
        .await
        .unwrap();
    assert!(one.join("new-a.txt").exists() && fixture.hub.bring_home("fleet-1-f").await.unwrap().is_none());
    let refused = fixture
        .hub
        .fleet_clone("fleet-1-e", "autonoe/shop/e", &[commits[0], commits[2]], ReservedSpace::default())
        .await;
    let refused = refused.expect_err("a conflict").message;
    assert!(refused.contains("have changed the same lines of new-a.txt"), "{refused}");
}
