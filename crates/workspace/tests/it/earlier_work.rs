//! A run continues what an earlier one has left, unless the user does not want it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use autonoe_workspace::{
    LandWhen, LandingConsent, LandingTarget, Settled, SiteEvent, SiteOptions, Start, WorkspaceSite,
};

use crate::fixture::HubFixture;
use crate::runs::{ahead, left_by_a_run, run};

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
    let warning = site.warning.as_deref().unwrap_or_default();
    assert!(
        warning.contains("they are on branch autonoe/1: to get them without those: git rebase --onto main "),
        "{warning}"
    );
    assert_eq!(fixture.git(&["rev-parse", "autonoe/1"]), commit);
}

#[tokio::test]
async fn work_of_a_version_that_noted_no_beginning_is_continued() {
    let fixture = HubFixture::new().await;
    let site = run(&fixture, 1).await;
    fixture.work(&site.workspace, &[("new.txt", "agent\n")]);
    fs::remove_file(fixture.home().join("state/hub/workspaces/1/begin")).unwrap();
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
        let text = fs::read_to_string(&notes).unwrap();
        let old = text.replace(r#","checked_out":"main""#, "").replace(r#","checked_out":null"#, "");
        assert!(text.contains(r#""checked_out":"main""#) && !old.contains("checked_out"), "{text}");
        fs::write(&notes, old).unwrap();
        assert_eq!(fixture.hub.unlanded().await.unwrap(), None, "{commands:?}");
    }
}

#[tokio::test]
async fn branches_of_runs_are_found_after_the_project_was_moved() {
    let fixture = HubFixture::new().await;
    left_by_a_run(&fixture, "new.txt").await;
    fs::remove_dir_all(fixture.home().join("state/hub")).unwrap();
    let unlanded = fixture.hub.unlanded().await.unwrap().unwrap();
    assert_eq!(unlanded.branch, "autonoe/1");
    let warning = run(&fixture, 2).await.warning.unwrap_or_default();
    assert!(warning.contains("have not landed: autonoe/1. This run begins without them"), "{warning}");
}

/// Root is refused nothing, so this shows more as a plain user.
#[tokio::test]
async fn a_repository_that_was_made_read_only_can_be_used_by_the_next_session() {
    let fixture = HubFixture::new().await;
    let mut site = run(&fixture, 1).await;
    let tree = site.workspace.tree();
    fixture.work(&site.workspace, &[("a.txt", "agent\n")]);
    fs::write(tree.join("b.txt"), "agent\n").unwrap();
    let chmod = Command::new("chmod").args(["-R", "a-w", ".git"]).current_dir(&tree).status();
    assert!(chmod.unwrap().success());
    site.session_ended(1, &Settled::default()).await.unwrap();
    for name in [".git", ".git/refs/heads", ".git/logs/HEAD"] {
        let mode = tree.join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o600, 0o600, "{name}");
    }
    fixture.work(&site.workspace, &[("a.txt", "again\n")]);
}
