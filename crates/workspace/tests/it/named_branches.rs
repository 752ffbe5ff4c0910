//! Runs that land on a branch which the user has named, and what the user has done with it since.

use autonoe_workspace::{LandWhen, LandingTarget, Settled, SiteEvent, SiteOptions, Start, WorkspaceSite};

use crate::fixture::HubFixture;
use crate::runs::{ahead, run};

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
