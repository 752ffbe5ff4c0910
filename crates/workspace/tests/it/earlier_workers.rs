//! A run continues what the workers of an earlier one, or its own before it was killed, have left, unless the user does not want it.

use std::path::PathBuf;

use autonoe_workspace::{LandWhen, Settled, SiteEvent, SiteOptions, Start, WorkspaceSite};

use crate::fixture::{HubFixture, write};
use crate::runs::{ahead, run, run_landing};

fn tree_of(fixture: &HubFixture, worker: &str) -> PathBuf {
    fixture.home().join("state/hub/workspaces").join(worker).join("tree")
}

/// Commits a new file in the workspace of a worker.
fn commit(fixture: &HubFixture, worker: &str, file: &str) {
    let tree = tree_of(fixture, worker);
    write(&tree.join(file), "agent\n");
    fixture.git_in(&tree, &["add", "--all"]);
    fixture.git_in(&tree, &["commit", "-q", "-m", file]);
}

#[tokio::test]
async fn unfinished_work_of_a_worker_is_known_after_the_rest_has_landed() {
    let fixture = HubFixture::new().await;
    let mut site = run(&fixture, 1).await;
    let names = ["worker-1".to_owned()];
    let workers = site.workers(&names).await.unwrap();
    workers[0].begin("A").await.unwrap();
    let tree = tree_of(&fixture, "worker-1");
    fixture.git_in(&tree, &["commit", "-q", "--allow-empty", "-m", "begun"]);
    workers[0].run_ended().await.unwrap();
    site.run_ended(&Settled::default()).await.unwrap();
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    assert_eq!(unlanded.commit, fixture.git_in(&tree, &["rev-parse", "HEAD"]));
    fixture.hub.discard(&unlanded).await.unwrap();
    assert_eq!(fixture.hub.unlanded().await.unwrap(), None);
    let site = run(&fixture, 2).await;
    assert_eq!(site.workers(&names).await.unwrap()[0].held(), None, "it was discarded");
}

/// A killed worker has committed nothing.
#[tokio::test]
async fn uncommitted_work_of_a_worker_is_continued() {
    let fixture = HubFixture::new().await;
    let names = ["worker-1".to_owned()];
    let site = run(&fixture, 1).await;
    site.workers(&names).await.unwrap()[0].begin("A").await.unwrap();
    let tree = tree_of(&fixture, "worker-1");
    write(&tree.join("begun.txt"), "agent\n");
    let site = run(&fixture, 2).await;
    let workers = site.workers(&names).await.unwrap();
    assert_eq!(workers[0].held().as_deref(), Some("A"));
    workers[0].begin("A").await.unwrap();
    assert!(tree.join("begun.txt").exists());
}

/// It has landed below a merge with the work of others.
#[tokio::test]
async fn what_a_worker_has_finished_and_the_user_has_reset_is_not_continued() {
    let fixture = HubFixture::new().await;
    let mut site = run_landing(&fixture, 1).await;
    let names = ["worker-1".to_owned(), "worker-2".to_owned()];
    let workers = site.workers(&names).await.unwrap();
    site.leave().await.unwrap();
    for (worker, id) in workers.iter().zip(["A", "B"]) {
        worker.begin(id).await.unwrap();
        commit(&fixture, if id == "A" { "worker-1" } else { "worker-2" }, id);
    }
    for worker in &workers {
        let mut turn = worker.queue().turn().await.unwrap();
        turn.add(worker, "Merge").await.unwrap();
        turn.accept(|| {}).unwrap();
    }
    let passed = Settled { passed: ["A".to_owned(), "B".to_owned()].into(), ..Settled::default() };
    site.session_ended(1, &passed).await.unwrap();
    site.run_ended(&passed).await.unwrap();
    assert_eq!(fixture.git(&["log", "-1", "--format=%s"]), "Merge");
    fixture.git(&["reset", "-q", "--hard", &fixture.git(&["rev-list", "--max-parents=0", "HEAD"])]);
    let site = run_landing(&fixture, 2).await;
    for worker in site.workers(&names).await.unwrap() {
        assert_eq!((worker.held(), worker.left_behind), (None, None));
    }
}

/// A killed run is continued, with what its workers have begun.
#[tokio::test]
async fn commits_that_the_user_has_reset_do_not_come_back_with_the_work_of_a_killed_run() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("dropped.txt", "x")]);
    let site = run(&fixture, 1).await;
    let names = ["worker-1".to_owned()];
    site.workers(&names).await.unwrap()[0].begin("A").await.unwrap();
    let tree = tree_of(&fixture, "worker-1");
    fixture.git_in(&tree, &["commit", "-q", "--allow-empty", "-m", "begun"]);
    write(&tree.join("begun.txt"), "agent\n");
    let resumed = || async {
        let options = SiteOptions { when: LandWhen::Never, ..SiteOptions::default() };
        let settled = Settled::default();
        WorkspaceSite::prepare(fixture.hub.clone(), 1, Start::Resumed, options, &settled).await.unwrap()
    };
    let worker = &resumed().await.workers(&names).await.unwrap()[0];
    assert_eq!((worker.held().as_deref(), worker.left_behind.as_ref()), (Some("A"), None));

    fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let worker = &resumed().await.workers(&names).await.unwrap()[0];
    assert_eq!(worker.held(), None);
    let Some(SiteEvent::Apart { branch, why, .. }) = &worker.left_behind else {
        panic!("{:?}", worker.left_behind)
    };
    assert!(why.to_string().contains("1 commit(s) that your branch does not have"), "{why}");
    assert_eq!(fixture.git(&["show", &format!("{branch}:begun.txt")]), "agent");
    worker.begin("A").await.unwrap();
    assert!(!tree.join("dropped.txt").exists() && !tree.join("begun.txt").exists());
    assert_eq!(resumed().await.workers(&names).await.unwrap()[0].left_behind, None, "it is said once");
}

#[tokio::test]
async fn what_workers_have_finished_and_begun_is_continued() {
    let fixture = HubFixture::new().await;
    let site = run(&fixture, 1).await;
    let names = ["worker-1".to_owned()];
    let workers = site.workers(&names).await.unwrap();
    let worker = &workers[0];
    worker.begin("A").await.unwrap();
    let tree = tree_of(&fixture, "worker-1");
    commit(&fixture, "worker-1", "a");
    let mut turn = worker.queue().turn().await.unwrap();
    turn.add(worker, "A").await.unwrap();
    turn.accept(|| {}).unwrap();
    drop(turn);
    worker.begin("B").await.unwrap();
    commit(&fixture, "worker-1", "b");
    worker.run_ended().await.unwrap();

    let site = run(&fixture, 2).await;
    assert_eq!(ahead(&fixture, &site), "a");
    let workers = site.workers(&names).await.unwrap();
    assert_eq!(workers[0].held().as_deref(), Some("B"));
    workers[0].begin("B").await.unwrap();
    assert_eq!(fixture.git_in(&tree, &["log", "-1", "--format=%s"]), "b");

    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    fixture.hub.discard(&unlanded).await.unwrap();
    let site = run(&fixture, 3).await;
    assert_eq!(ahead(&fixture, &site), "");
    assert_eq!(site.workers(&names).await.unwrap()[0].held(), None);
}

/// What is left apart is not to be merged with what it stands on, and the way to get it alone is named.
#[tokio::test]
async fn work_on_landed_commits_that_the_user_has_reset_is_left_apart_with_a_way_to_get_it_alone() {
    for start in [Start::Resumed, Start::New] {
        let fixture = HubFixture::new().await;
        let mut site = run_landing(&fixture, 1).await;
        let names = ["worker-1".to_owned()];
        let workers = site.workers(&names).await.unwrap();
        site.leave().await.unwrap();
        workers[0].begin("A").await.unwrap();
        commit(&fixture, "worker-1", "a");
        let mut turn = workers[0].queue().turn().await.unwrap();
        turn.add(&workers[0], "A").await.unwrap();
        turn.accept(|| {}).unwrap();
        drop(turn);
        let passed = Settled { passed: ["A".to_owned()].into(), ..Settled::default() };
        site.session_ended(1, &passed).await.unwrap();
        assert_eq!(fixture.git(&["log", "-1", "--format=%s"]), "a");
        workers[0].begin("B").await.unwrap();
        commit(&fixture, "worker-1", "b");
        if start == Start::New {
            workers[0].run_ended().await.unwrap();
        }

        fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
        let options = SiteOptions { when: LandWhen::Passed, ..SiteOptions::default() };
        let number = if start == Start::New { 2 } else { 1 };
        let site =
            WorkspaceSite::prepare(fixture.hub.clone(), number, start, options, &passed).await.unwrap();
        let worker = &site.workers(&names).await.unwrap()[0];
        let Some(SiteEvent::Apart { branch, why, .. }) = &worker.left_behind else {
            panic!("{start:?}: {:?}", worker.left_behind)
        };
        assert!(
            why.to_string().starts_with("they stand on 1 commit(s) that your branch does not have"),
            "{why}"
        );
        let advice = why.advice(branch);
        let alone = advice
            .strip_prefix("to get them without those: ")
            .and_then(|rest| rest.split_once(';'))
            .unwrap()
            .0;
        for command in alone.split(" && ") {
            fixture.git(&command.split(' ').skip(1).collect::<Vec<_>>());
        }
        assert!(fixture.path("b").exists() && !fixture.path("a").exists(), "{alone}");
    }
}
