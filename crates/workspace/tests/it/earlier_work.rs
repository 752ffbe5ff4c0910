//! A run continues what an earlier one has left, unless the user does not want it.

use autonoe_workspace::{
    LandWhen, LandingConsent, LandingTarget, Settled, SiteEvent, SiteOptions, Start, WorkspaceSite,
};

use crate::fixture::HubFixture;

async fn run(fixture: &HubFixture, number: i64) -> WorkspaceSite {
    let options = SiteOptions { when: LandWhen::Never, ..SiteOptions::default() };
    WorkspaceSite::prepare(fixture.hub.clone(), number, Start::New, options, &Settled::default())
        .await
        .unwrap()
}

async fn run_landing(fixture: &HubFixture, number: i64) -> WorkspaceSite {
    let options = SiteOptions { when: LandWhen::Passed, ..SiteOptions::default() };
    WorkspaceSite::prepare(fixture.hub.clone(), number, Start::New, options, &Settled::default())
        .await
        .unwrap()
}

/// The subjects of the commits in the workspace that are not the user's.
fn ahead(fixture: &HubFixture, site: &WorkspaceSite) -> String {
    let head = fixture.git(&["rev-parse", "HEAD"]);
    fixture.git_in(&site.workspace.tree(), &["log", "--format=%s", &format!("{head}..HEAD")])
}

/// The first run commits a file, which does not land.
async fn left_by_a_run(fixture: &HubFixture, file: &str) {
    let mut site = run(fixture, 1).await;
    fixture.work(&site.workspace, &[(file, "agent\n")]);
    site.run_ended(&Settled::default()).await.unwrap();
}

#[tokio::test]
async fn commits_that_have_not_landed_are_continued() {
    let fixture = HubFixture::new().await;
    left_by_a_run(&fixture, "new.txt").await;
    assert_eq!(ahead(&fixture, &run(&fixture, 2).await), "work");
}

#[tokio::test]
async fn they_are_merged_with_what_the_user_has_committed_since() {
    let fixture = HubFixture::new().await;
    left_by_a_run(&fixture, "new.txt").await;
    fixture.commit(&[("mine.txt", "the user's\n")]);
    let mut site = run(&fixture, 2).await;
    assert_eq!(ahead(&fixture, &site), "Merge commits that had not landed\nwork");
    assert!(site.workspace.tree().join("mine.txt").exists());
    let from = fixture.hub.update().await.unwrap();
    let commit = fixture.git_in(&site.workspace.tree(), &["rev-parse", "HEAD"]);
    site.run_ended(&Settled::default()).await.unwrap();
    let (target, consent) = (LandingTarget::CheckedOut, LandingConsent::default());
    fixture.hub.land(&site.workspace, &commit, &from, &target, consent).await.unwrap();
    assert_eq!(fixture.git(&["rev-parse", "main"]), commit);
}

#[tokio::test]
async fn a_conflict_with_the_users_commits_is_said() {
    let fixture = HubFixture::new().await;
    left_by_a_run(&fixture, "a.txt").await;
    fixture.commit(&[("a.txt", "the user's\n")]);
    let site = run(&fixture, 2).await;
    let warning = site.warning.as_deref().unwrap_or_default();
    assert!(warning.contains("conflict with yours in a.txt"), "{warning}");
    assert!(warning.contains("on branch autonoe/1"), "{warning}");
    assert_eq!(ahead(&fixture, &site), "");
}

/// A killed run has put nothing on a branch of the user's.
#[tokio::test]
async fn what_is_left_behind_is_on_a_branch_and_known_later() {
    let fixture = HubFixture::new().await;
    let site = run(&fixture, 1).await;
    fixture.work(&site.workspace, &[("a.txt", "agent\n")]);
    let commit = fixture.git_in(&site.workspace.tree(), &["rev-parse", "HEAD"]);
    fixture.commit(&[("a.txt", "the user's\n")]);
    let mut site = run(&fixture, 2).await;
    assert_eq!(fixture.git(&["rev-parse", "autonoe/1"]), commit);
    site.run_ended(&Settled::default()).await.unwrap();
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    assert_eq!((unlanded.branch.as_str(), unlanded.commit.as_str()), ("autonoe/1", commit.as_str()));
    fixture.hub.discard(&unlanded).await.unwrap();
    assert_eq!(fixture.hub.unlanded().await.unwrap(), None);
}

#[tokio::test]
async fn unfinished_work_of_a_worker_is_known_after_the_rest_has_landed() {
    let fixture = HubFixture::new().await;
    let mut site = run(&fixture, 1).await;
    let names = ["worker-1".to_owned()];
    let workers = site.workers(&names).await.unwrap();
    workers[0].begin("A").await.unwrap();
    let tree = fixture.home().join("state/hub/workspaces/worker-1/tree");
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
    let tree = fixture.home().join("state/hub/workspaces/worker-1/tree");
    crate::fixture::write(&tree.join("begun.txt"), "agent\n");
    let site = run(&fixture, 2).await;
    let workers = site.workers(&names).await.unwrap();
    assert_eq!(workers[0].held().as_deref(), Some("A"));
    workers[0].begin("A").await.unwrap();
    assert!(tree.join("begun.txt").exists());
}

#[tokio::test]
async fn work_beyond_what_was_reset_is_left_on_its_branch() {
    let fixture = HubFixture::new().await;
    let mut site = run(&fixture, 1).await;
    fixture.work(&site.workspace, &[("landed.txt", "agent\n")]);
    site.run_ended(&Settled::default()).await.unwrap();
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    fixture.hub.land_unlanded(&unlanded, LandingConsent::default(), &Settled::default()).await.unwrap();
    let commit = fixture.work(&site.workspace, &[("more.txt", "agent\n")]);
    fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let site = run(&fixture, 2).await;
    assert_eq!(ahead(&fixture, &site), "");
    assert!(
        site.warning.as_deref().unwrap_or_default().contains("on branch autonoe/1"),
        "{:?}",
        site.warning
    );
    assert_eq!(fixture.git(&["rev-parse", "autonoe/1"]), commit);
}

#[tokio::test]
async fn work_of_a_version_that_noted_no_beginning_is_continued() {
    let fixture = HubFixture::new().await;
    let site = run(&fixture, 1).await;
    fixture.work(&site.workspace, &[("new.txt", "agent\n")]);
    std::fs::remove_file(fixture.home().join("state/hub/workspaces/1/begin")).unwrap();
    assert_eq!(ahead(&fixture, &run(&fixture, 2).await), "work");
}

#[tokio::test]
async fn commits_that_had_landed_and_were_removed_are_known() {
    let fixture = HubFixture::new().await;
    left_by_a_run(&fixture, "new.txt").await;
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    assert!(!unlanded.had_landed);
    fixture.hub.land_unlanded(&unlanded, LandingConsent::default(), &Settled::default()).await.unwrap();
    fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert!(fixture.hub.unlanded().await.unwrap().unwrap().had_landed);
    assert_eq!(ahead(&fixture, &run(&fixture, 2).await), "", "not taken up again");
}

#[tokio::test]
async fn rewritten_history_and_another_branch_are_not_merged() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("more.txt", "x")]);
    let mut site = run(&fixture, 1).await;
    fixture.git_in(&site.workspace.tree(), &["commit", "-q", "--amend", "-m", "rewritten"]);
    fixture.work(&site.workspace, &[("new.txt", "agent\n")]);
    site.run_ended(&Settled::default()).await.unwrap();
    let mut site = run(&fixture, 2).await;
    assert_eq!(ahead(&fixture, &site), "");

    fixture.work(&site.workspace, &[("new.txt", "agent\n")]);
    site.run_ended(&Settled::default()).await.unwrap();
    fixture.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    let site = run(&fixture, 3).await;
    assert_eq!(ahead(&fixture, &site), "", "the branch is older than the work");
    let warning = site.warning.as_deref().unwrap_or_default();
    assert!(warning.contains("they stand on 1 commit(s) that your branch does not have"), "{warning}");
    assert!(warning.contains("git rebase --onto other "), "{warning}");
}

#[tokio::test]
async fn commits_that_the_user_has_reset_do_not_come_back_with_the_work() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("dropped.txt", "x")]);
    let mut site = run(&fixture, 1).await;
    fixture.work(&site.workspace, &[("new.txt", "agent\n")]);
    let names = ["worker-1".to_owned()];
    site.workers(&names).await.unwrap()[0].begin("A").await.unwrap();
    let tree = fixture.home().join("state/hub/workspaces/worker-1/tree");
    fixture.git_in(&tree, &["commit", "-q", "--allow-empty", "-m", "begun"]);
    site.run_ended(&Settled::default()).await.unwrap();
    fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let site = run(&fixture, 2).await;
    assert_eq!(ahead(&fixture, &site), "");
    assert_eq!(site.workers(&names).await.unwrap()[0].held(), None);
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
        let tree =
            fixture.home().join(format!("state/hub/workspaces/{}/tree", names[usize::from(id == "B")]));
        crate::fixture::write(&tree.join(id), "agent\n");
        fixture.git_in(&tree, &["add", "--all"]);
        fixture.git_in(&tree, &["commit", "-q", "-m", id]);
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
    let tree = fixture.home().join("state/hub/workspaces/worker-1/tree");
    fixture.git_in(&tree, &["commit", "-q", "--allow-empty", "-m", "begun"]);
    crate::fixture::write(&tree.join("begun.txt"), "agent\n");
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

/// A run has merged them with its own; where it began is no longer all that it stands on.
#[tokio::test]
async fn commits_that_were_merged_and_dropped_do_not_come_back() {
    for leave in [["reset", "-q", "--hard", "HEAD~1"], ["checkout", "-q", "-Bother", "HEAD~1"]] {
        let fixture = HubFixture::new().await;
        left_by_a_run(&fixture, "new.txt").await;
        fixture.commit(&[("mistake.txt", "x")]);
        let mut site = run(&fixture, 2).await;
        assert!(site.workspace.tree().join("mistake.txt").exists());
        fixture.work(&site.workspace, &[("more.txt", "agent\n")]);
        site.run_ended(&Settled::default()).await.unwrap();
        fixture.git(&leave);
        let site = run(&fixture, 3).await;
        assert_eq!(ahead(&fixture, &site), "", "{leave:?}");
        let warning = site.warning.as_deref().unwrap_or_default();
        assert!(warning.contains("on branch autonoe/2"), "{warning}");
    }
}

#[tokio::test]
async fn uncommitted_changes_are_named_if_there_is_earlier_work() {
    let fixture = HubFixture::new().await;
    left_by_a_run(&fixture, "new.txt").await;
    fixture.write("a.txt", "being edited\n");
    let options = SiteOptions { when: LandWhen::Never, includes_uncommitted: true, ..SiteOptions::default() };
    let site = WorkspaceSite::prepare(fixture.hub.clone(), 2, Start::New, options, &Settled::default()).await;
    assert_eq!(site.unwrap().left_out().collect::<Vec<_>>(), ["a.txt"]);
}

#[tokio::test]
async fn what_workers_have_finished_and_begun_is_continued() {
    let fixture = HubFixture::new().await;
    let site = run(&fixture, 1).await;
    let names = ["worker-1".to_owned()];
    let workers = site.workers(&names).await.unwrap();
    let worker = &workers[0];
    worker.begin("A").await.unwrap();
    let tree = fixture.home().join("state/hub/workspaces/worker-1/tree");
    let work = |name: &str| {
        crate::fixture::write(&tree.join(name), "agent\n");
        fixture.git_in(&tree, &["add", "--all"]);
        fixture.git_in(&tree, &["commit", "-q", "-m", name]);
    };
    work("a");
    let mut turn = worker.queue().turn().await.unwrap();
    turn.add(worker, "A").await.unwrap();
    turn.accept(|| {}).unwrap();
    drop(turn);
    worker.begin("B").await.unwrap();
    work("b");
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

#[tokio::test]
async fn deliverables_whose_commits_are_not_on_the_branch_are_lost() {
    let settled = |ids: &[&str]| Settled {
        passed: ids.iter().map(|id| (*id).to_owned()).collect(),
        ..Settled::default()
    };
    let names = |site: &WorkspaceSite| site.lost.iter().cloned().collect::<Vec<_>>().join(" ");
    let fixture = HubFixture::new().await;
    let prepare = async |number, ids: &[&str]| {
        let options = SiteOptions::default();
        let now = settled(ids);
        WorkspaceSite::prepare(fixture.hub.clone(), number, Start::New, options, &now).await.unwrap()
    };
    let mut site = prepare(1, &["before"]).await;
    fixture.work(&site.workspace, &[("a.txt", "agent\n")]);
    site.session_ended(1, &settled(&["before", "A"])).await.unwrap();
    // This one has not landed.
    fixture.work(&site.workspace, &[("b.txt", "agent\n")]);
    fixture.commit(&[("b.txt", "the user's\n")]);
    assert_eq!(names(&prepare(2, &["before", "A", "B"]).await), "B", "it conflicts");

    fixture.git(&["reset", "-q", "--hard", "HEAD~2"]);
    let site = prepare(3, &["before", "A"]).await;
    assert_eq!(names(&site), "A", "the user has removed it");

    // It had landed together with a commit of the user's, which stays.
    for later in [None, Some("later.txt")] {
        let fixture = HubFixture::new().await;
        left_by_a_run(&fixture, "a.txt.new").await;
        fixture.commit(&[("mine.txt", "the user's\n")]);
        let hub = fixture.hub.clone();
        let options = SiteOptions::default();
        let nothing = Settled::default();
        let mut site = WorkspaceSite::prepare(hub, 2, Start::New, options, &nothing).await.unwrap();
        let events = site.session_ended(1, &settled(&["A"])).await.unwrap();
        assert!(matches!(events.as_slice(), [SiteEvent::Landed { .. }]), "{events:?}");
        fixture.git(&["reset", "-q", "--hard", "HEAD^1"]);
        assert!(fixture.path("mine.txt").exists() && !fixture.path("a.txt.new").exists());
        if let Some(later) = later {
            fixture.commit(&[(later, "")]);
        }
        let options = SiteOptions::default();
        let now = settled(&["A"]);
        let site = WorkspaceSite::prepare(fixture.hub.clone(), 3, Start::New, options, &now).await.unwrap();
        assert_eq!(names(&site), "A", "{later:?}");
    }

    let fixture = HubFixture::new().await;
    let prepare = async |number, ids: &[&str]| {
        let options = SiteOptions::default();
        let now = settled(ids);
        WorkspaceSite::prepare(fixture.hub.clone(), number, Start::New, options, &now).await.unwrap()
    };
    let mut site = prepare(1, &[]).await;
    fixture.work(&site.workspace, &[("a.txt", "agent\n")]);
    site.session_ended(1, &settled(&["A"])).await.unwrap();
    fixture.git(&["commit", "-q", "--amend", "-m", "in other words"]);
    assert_eq!(names(&prepare(2, &["A"]).await), "", "the same files");
    fixture.commit(&[("mine.txt", "")]);
    fixture.git(&["rebase", "-q", "--force-rebase", "HEAD~2"]);
    assert_eq!(names(&prepare(3, &["A"]).await), "", "the same change");
}

#[tokio::test]
async fn what_the_user_has_committed_since_is_not_held_back() {
    let fixture = HubFixture::new().await;
    left_by_a_run(&fixture, "new.txt").await;
    fixture.commit(&[("SPEC.md", "# Mine\n"), (".envrc", "export MINE=1\n")]);
    let passed = Settled { passed: ["A".to_owned()].into(), ..Settled::default() };
    let options = SiteOptions::default();
    let hub = fixture.hub.clone();
    let mut site = WorkspaceSite::prepare(hub, 2, Start::New, options, &Settled::default()).await.unwrap();
    fixture.work(&site.workspace, &[("more.txt", "agent\n")]);
    let events = site.session_ended(1, &passed).await.unwrap();
    assert!(matches!(events.as_slice(), [SiteEvent::Landed { .. }]), "{events:?}");
}

/// The user may write the history of landed and of other commits anew: they are there, and are neither merged again nor pending.
#[tokio::test]
async fn rewritten_commits_are_neither_merged_again_nor_lost() {
    for (lands, rewrite) in [
        (true, &["commit -q --amend -m other"][..]),
        (true, &["reset -q --soft HEAD~2", "commit -q -m squashed"]),
        (true, &["reset -q --soft HEAD~2", "commit -q -m squashed", "rm -q one.txt", "commit -q -m removed"]),
        (
            false,
            &[
                "merge -q --squash autonoe/1",
                "commit -q -m squashed",
                "rm -q one.txt",
                "commit -q -m removed",
            ],
        ),
        (
            false,
            &[
                "cherry-pick -n autonoe/1~1",
                "commit -q -m one",
                "cherry-pick -n autonoe/1",
                "commit -q -m two",
            ],
        ),
    ] {
        let fixture = HubFixture::new().await;
        let settled = Settled { passed: ["A".to_owned()].into(), ..Settled::default() };
        let when = if lands { LandWhen::Passed } else { LandWhen::Never };
        let prepare = async |number, settled: &Settled| {
            let options = SiteOptions { when, ..SiteOptions::default() };
            WorkspaceSite::prepare(fixture.hub.clone(), number, Start::New, options, settled).await.unwrap()
        };
        let mut site = prepare(1, &Settled::default()).await;
        fixture.work(&site.workspace, &[("one.txt", "agent\n")]);
        fixture.work(&site.workspace, &[("two.txt", "agent\n")]);
        site.session_ended(1, &settled).await.unwrap();
        site.run_ended(&settled).await.unwrap();
        for command in rewrite {
            fixture.git(&command.split(' ').collect::<Vec<_>>());
        }
        let site = prepare(2, &settled).await;
        assert_eq!(ahead(&fixture, &site), "", "{rewrite:?}");
        assert!(site.lost.is_empty(), "{rewrite:?}: {:?}", site.lost);
        assert_eq!(fixture.hub.unlanded().await.unwrap(), None, "{rewrite:?}");
    }
}

#[tokio::test]
async fn a_squash_beside_other_commits_of_the_user_is_not_merged_again() {
    let fixture = HubFixture::new().await;
    let mut site = run(&fixture, 1).await;
    fixture.work(&site.workspace, &[("new.txt", "one\n")]);
    fixture.work(&site.workspace, &[("new.txt", "one\ntwo\n")]);
    site.run_ended(&Settled::default()).await.unwrap();
    fixture.commit(&[("mine.txt", "the user's\n")]);
    fixture.git(&["merge", "-q", "--squash", "autonoe/1"]);
    fixture.git(&["commit", "-q", "-m", "squashed"]);
    fixture.commit(&[("new.txt", "edited since\n")]);
    let site = run(&fixture, 2).await;
    assert_eq!((ahead(&fixture, &site).as_str(), &site.warning), ("", &None));
    assert!(fixture.hub.unlanded().await.unwrap().is_none());
}

#[tokio::test]
async fn commits_on_a_base_that_the_user_has_amended_had_not_landed() {
    let fixture = HubFixture::new().await;
    left_by_a_run(&fixture, "new.txt").await;
    fixture.git(&["commit", "-q", "--amend", "-m", "amended"]);
    assert!(!fixture.hub.unlanded().await.unwrap().unwrap().had_landed);
}

/// The first run lands a file on the branch `feat`.
async fn landed_on_feat(fixture: &HubFixture) {
    let target = LandingTarget::Branch("feat".to_owned());
    let options = SiteOptions { target, ..SiteOptions::default() };
    let passed = Settled { passed: ["A".to_owned()].into(), ..Settled::default() };
    let hub = fixture.hub.clone();
    let mut site = WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await.unwrap();
    fixture.work(&site.workspace, &[("new.txt", "agent\n")]);
    site.session_ended(1, &passed).await.unwrap();
    site.run_ended(&passed).await.unwrap();
    assert_eq!(fixture.git(&["log", "-1", "--format=%s", "feat"]), "work");
}

/// A deliverable that has landed may be looked at again on later commits, with which nothing more has passed.
#[tokio::test]
async fn the_reason_for_unfinished_commits_does_not_deny_what_has_passed() {
    let cases = [
        (LandWhen::Passed, "no further deliverable has passed with the last of them"),
        (LandWhen::Verified, "no further deliverable was verified with the last of them"),
        (LandWhen::End, "not all that is verified was verified on the last of them"),
    ];
    for (when, said) in cases {
        let fixture = HubFixture::new().await;
        let options = SiteOptions { when, ..SiteOptions::default() };
        let (hub, none) = (fixture.hub.clone(), Settled::default());
        let mut site = WorkspaceSite::prepare(hub, 1, Start::New, options, &none).await.unwrap();
        let ids = || ["A".to_owned()].into();
        let first = fixture.work(&site.workspace, &[("a.txt", "agent\n")]);
        let verified_on = [("A".to_owned(), first)].into();
        let settled = Settled { passed: ids(), verified: ids(), verified_on, ..Settled::default() };
        site.session_ended(1, &settled).await.unwrap();
        let last = fixture.work(&site.workspace, &[("b.txt", "agent\n")]);
        let settled = match when {
            LandWhen::End => settled,
            _ => Settled { verified_on: [("A".to_owned(), last)].into(), ..settled },
        };
        let events = site.run_ended(&settled).await.unwrap();
        let [.., SiteEvent::Apart { why, .. }] = &events[..] else { panic!("{when:?}: {events:?}") };
        assert_eq!(why.to_string(), said, "{when:?}");
    }
}

#[tokio::test]
async fn a_named_branch_that_the_user_has_changed_during_the_run_is_left_to_the_user() {
    let commit = ["commit-tree", "-m", "mine", "-p", "feat", "feat^{tree}"];
    let cases = [
        ("gone", "'feat', on which commits of the run landed, is gone", "git branch feat autonoe/1"),
        (
            "reset",
            "'feat' no longer has the commits",
            "git switch feat && git merge --no-overwrite-ignore autonoe/1",
        ),
        (
            "moved",
            "'feat' has commits that these",
            "git switch feat && git merge --no-overwrite-ignore autonoe/1",
        ),
    ];
    for (case, said, advice) in cases {
        let fixture = HubFixture::new().await;
        let target = LandingTarget::Branch("feat".to_owned());
        let options = SiteOptions { target, ..SiteOptions::default() };
        let passed = |ids: &[&str]| Settled {
            passed: ids.iter().map(|id| (*id).to_owned()).collect(),
            ..Settled::default()
        };
        let (hub, none) = (fixture.hub.clone(), Settled::default());
        let mut site = WorkspaceSite::prepare(hub, 1, Start::New, options, &none).await.unwrap();
        fixture.work(&site.workspace, &[("new.txt", "agent\n")]);
        site.session_ended(1, &passed(&["A"])).await.unwrap();
        let users = match case {
            "gone" => fixture.git(&["branch", "-D", "feat"]),
            "reset" => fixture.git(&["branch", "-f", "feat", "main"]),
            _ => {
                let mine = fixture.git(&commit);
                fixture.git(&["branch", "-f", "feat", &mine])
            }
        };
        let before = fixture.git(&["for-each-ref", "refs/heads/feat"]);
        fixture.work(&site.workspace, &[("more.txt", "agent\n")]);
        let events = site.session_ended(2, &passed(&["A", "B"])).await.unwrap();
        let [SiteEvent::Apart { branch, why, .. }] = &events[..] else { panic!("{users}: {events:?}") };
        assert!(why.to_string().contains(said), "{why}");
        assert_eq!(why.advice(branch), advice, "{case}");
        assert_eq!(fixture.git(&["for-each-ref", "refs/heads/feat"]), before, "{case}");
        // What it advises gets the commits, and later ones land again.
        if case != "moved" {
            fixture.git(&["branch", "-f", "feat", "autonoe/1"]);
            fixture.work(&site.workspace, &[("last.txt", "agent\n")]);
            let events = site.session_ended(3, &passed(&["A", "B", "C"])).await.unwrap();
            assert!(matches!(&events[..], [SiteEvent::Landed { .. }]), "{case}: {events:?}");
        }
    }
}

/// Before anything has landed there, it is the user's own.
#[tokio::test]
async fn a_named_branch_that_was_there_and_that_the_user_has_removed_is_not_made_again() {
    for (act, said) in [
        (&["branch", "-D", "feat"], "'feat', which was there when the run began, is gone"),
        (&["update-ref", "refs/heads/feat", "feat~1"], "'feat' no longer has the commits that it had when"),
    ] {
        for when in [LandWhen::Passed, LandWhen::End] {
            let fixture = HubFixture::new().await;
            fixture.commit(&[("users.txt", "")]);
            fixture.git(&["branch", "feat"]);
            let target = LandingTarget::Branch("feat".to_owned());
            let options = SiteOptions { target, when, ..SiteOptions::default() };
            let (hub, none) = (fixture.hub.clone(), Settled::default());
            let mut site = WorkspaceSite::prepare(hub, 1, Start::New, options, &none).await.unwrap();
            fixture.work(&site.workspace, &[("new.txt", "agent\n")]);
            fixture.git(act);
            let before = fixture.git(&["for-each-ref", "refs/heads/feat"]);
            let passed = Settled { passed: ["A".to_owned()].into(), ..Settled::default() };
            let mut events = site.session_ended(1, &passed).await.unwrap();
            events.extend(site.run_ended(&passed).await.unwrap());
            let why = events.iter().find_map(|event| match event {
                SiteEvent::Apart { why, .. } => Some(why.to_string()),
                _ => None,
            });
            assert!(why.as_ref().is_some_and(|why| why.contains(said)), "{act:?} {when:?}: {events:?}");
            assert_eq!(fixture.git(&["for-each-ref", "refs/heads/feat"]), before, "{act:?} {when:?}");
        }
    }
}

#[tokio::test]
async fn what_landed_on_a_named_branch_is_continued_and_said_so() {
    let fixture = HubFixture::new().await;
    landed_on_feat(&fixture).await;
    let site = run(&fixture, 2).await;
    assert_eq!(ahead(&fixture, &site), "work");
    let warning = site.warning.unwrap_or_default();
    assert!(warning.contains("landed on feat are part of this run"), "{warning}");
}

#[tokio::test]
async fn what_the_user_has_removed_from_a_named_branch_does_not_come_back() {
    let fixture = HubFixture::new().await;
    landed_on_feat(&fixture).await;
    fixture.git(&["branch", "-D", "feat"]);
    assert!(fixture.hub.unlanded().await.unwrap().unwrap().had_landed);
    let passed = Settled { passed: ["A".to_owned()].into(), ..Settled::default() };
    let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
    let site = WorkspaceSite::prepare(hub, 2, Start::New, options, &passed).await.unwrap();
    assert_eq!(ahead(&fixture, &site), "");
    assert_eq!(site.lost, ["A".to_owned()].into(), "what passed with it is pending again");
}

#[tokio::test]
async fn work_beyond_what_was_removed_from_a_named_branch_is_left_on_its_branch() {
    for command in [&["branch", "-D", "feat"][..], &["branch", "-f", "feat", "main"]] {
        let fixture = HubFixture::new().await;
        landed_on_feat(&fixture).await;
        let mut site = run(&fixture, 2).await;
        fixture.git(command);
        fixture.work(&site.workspace, &[("more.txt", "agent\n")]);
        let passed = Settled { passed: ["A".to_owned(), "B".to_owned()].into(), ..Settled::default() };
        site.run_ended(&passed).await.unwrap();
        let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
        let site = WorkspaceSite::prepare(hub, 3, Start::New, options, &passed).await.unwrap();
        assert_eq!(ahead(&fixture, &site), "", "{command:?}");
        assert_eq!(site.lost, passed.passed, "{command:?}");
        let warning = site.warning.unwrap_or_default();
        assert!(warning.contains("have not landed: 'feat'"), "{warning}");
    }
}

/// What counts is the branch on which it landed, if that is known and there.
#[tokio::test]
async fn a_copy_of_the_branch_does_not_hide_that_landed_commits_were_removed() {
    for (commands, is_known) in [
        (&["branch saved", "reset -q --hard HEAD~1"][..], true),
        (&["checkout -q -b other HEAD~1"], false),
        (&["checkout -q -b other HEAD~1", "branch -m main trunk"], false),
    ] {
        let fixture = HubFixture::new().await;
        let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
        let passed = Settled { passed: ["A".to_owned()].into(), ..Settled::default() };
        let mut site =
            WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await.unwrap();
        fixture.work(&site.workspace, &[("new.txt", "agent\n")]);
        site.session_ended(1, &passed).await.unwrap();
        site.run_ended(&passed).await.unwrap();
        for command in commands {
            fixture.git(&command.split(' ').collect::<Vec<_>>());
        }
        let had_landed = fixture.hub.unlanded().await.unwrap().map(|unlanded| unlanded.had_landed);
        assert_eq!(had_landed, is_known.then_some(true), "{commands:?}");
        // An earlier version has not noted the branch.
        let notes = fixture.home().join("state/hub/landings.jsonl");
        let text = std::fs::read_to_string(&notes).unwrap();
        let old = text.replace(r#","checked_out":"main""#, "").replace(r#","checked_out":null"#, "");
        assert!(text.contains(r#""checked_out":"main""#) && !old.contains("checked_out"), "{text}");
        std::fs::write(&notes, old).unwrap();
        assert_eq!(fixture.hub.unlanded().await.unwrap(), None, "{commands:?}");
    }
}

#[tokio::test]
async fn what_the_user_has_from_a_named_branch_in_other_commits_is_not_lost() {
    let squash = ["merge -q --squash feat", "commit -q -m squashed"];
    let rebase = ["checkout -q feat", "rebase -q main", "checkout -q main", "merge -q feat"];
    for (is_ahead, commands) in [(false, &squash[..]), (true, &squash), (true, &rebase)] {
        let fixture = HubFixture::new().await;
        landed_on_feat(&fixture).await;
        if is_ahead {
            fixture.commit(&[("mine.txt", "the user's\n")]);
        }
        for command in commands.iter().chain(&["branch -q -D feat"]) {
            fixture.git(&command.split(' ').collect::<Vec<_>>());
        }
        assert_eq!(fixture.hub.unlanded().await.unwrap(), None, "{commands:?}");
        let passed = Settled { passed: ["A".to_owned()].into(), ..Settled::default() };
        let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
        let site = WorkspaceSite::prepare(hub, 2, Start::New, options, &passed).await.unwrap();
        assert_eq!((ahead(&fixture, &site), &site.warning), (String::new(), &None), "{commands:?}");
        assert!(site.lost.is_empty(), "{commands:?}: {:?}", site.lost);
    }
}

#[tokio::test]
async fn branches_of_runs_are_found_after_the_project_was_moved() {
    let fixture = HubFixture::new().await;
    left_by_a_run(&fixture, "new.txt").await;
    std::fs::remove_dir_all(fixture.home().join("state/hub")).unwrap();
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    assert_eq!(unlanded.branch, "autonoe/1");
    let warning = run(&fixture, 2).await.warning.unwrap_or_default();
    assert!(warning.contains("have not landed: autonoe/1. This run begins without them"), "{warning}");
}

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
