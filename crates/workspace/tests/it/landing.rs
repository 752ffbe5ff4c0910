//! Commits come to the user's branch only if nothing of the user's is in the way.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;
use std::sync::Arc;

use autonoe_workspace::{
    LandWhen, Landing, LandingConsent, LandingRefusal, LandingTarget, ListProtected, Settled, SiteEvent,
    SiteOptions, Start, WantedBranch, Workspace, WorkspaceSite,
};

use crate::fixture::HubFixture;

pub fn landed(branch: &str) -> Landing {
    Landing::Landed {
        branch: branch.to_owned(),
        ci_files: Vec::new(),
        hook_files: Vec::new(),
        filtered_files: Vec::new(),
    }
}

#[track_caller]
pub fn refusal(landing: Landing) -> LandingRefusal {
    match landing {
        Landing::Apart { branch, why } => {
            assert_eq!(branch, "autonoe/1");
            why
        }
        Landing::Landed { .. } => panic!("it landed"),
    }
}

#[tokio::test]
async fn the_users_branch_is_fast_forwarded_and_the_files_updated() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.git_in(&workspace.tree(), &["rm", "-q", "dir/b.txt"]);
    let commit = fixture.work(&workspace, &[("a.txt", "changed\n"), ("new/file.txt", "new\n")]);
    assert_eq!(fixture.land(&workspace, &revision).await, landed("main"));
    assert_eq!(fixture.git(&["rev-parse", "main"]), commit);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    assert_eq!(
        (fixture.read("a.txt").as_str(), fixture.read("new/file.txt").as_str()),
        ("changed\n", "new\n")
    );
    assert!(!fixture.path("dir").exists());
    assert_eq!(fixture.git(&["branch", "--format=%(refname:short)"]), "main");
    assert!(fixture.git(&["reflog", "-1"]).contains("autonoe: land"));
    fixture.git(&["fsck", "--full", "--strict"]);
}

#[tokio::test]
async fn a_directory_in_place_of_a_file_lands() {
    let fixture = HubFixture::new().await;
    symlink("a.txt", fixture.path("link")).unwrap();
    fixture.git(&["add", "link"]);
    fixture.git(&["commit", "-q", "-m", "a link"]);
    let (workspace, revision) = fixture.workspace().await;
    for name in ["a.txt", "link"] {
        fixture.git_in(&workspace.tree(), &["rm", "-q", name]);
    }
    fixture.work(&workspace, &[("a.txt/inside", "new\n"), ("link/inside", "new\n")]);
    assert_eq!(fixture.land(&workspace, &revision).await, landed("main"));
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    assert_eq!(fixture.read("a.txt/inside") + &fixture.read("link/inside"), "new\nnew\n");
}

#[tokio::test]
async fn several_landings_follow_each_other() {
    let fixture = HubFixture::new().await;
    let (workspace, mut revision) = fixture.workspace().await;
    for number in 0..3 {
        fixture.work(&workspace, &[("count.txt", &number.to_string())]);
        assert_eq!(fixture.land(&workspace, &revision).await, landed("main"));
        revision = fixture.hub.update().await.unwrap();
        assert_eq!(fixture.read("count.txt"), number.to_string());
    }
}

#[tokio::test]
async fn uncommitted_work_of_the_user_stays_and_does_not_prevent_landing_elsewhere() {
    let fixture = HubFixture::new().await;
    fixture.write("a.txt", "the user's\n");
    fixture.write("staged.txt", "the user's\n");
    fixture.git(&["add", "staged.txt"]);
    fixture.write("untracked.txt", "the user's\n");
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("dir/b.txt", "changed\n")]);
    assert_eq!(fixture.land(&workspace, &revision).await, landed("main"));
    assert_eq!(fixture.git(&["status", "--porcelain"]), "M a.txt\nA  staged.txt\n?? untracked.txt");
    assert_eq!(fixture.read("dir/b.txt"), "changed\n");
}

#[tokio::test]
async fn a_file_with_uncommitted_changes_is_never_overwritten() {
    for (mine, theirs) in
        [("a.txt", "a.txt"), ("untracked.txt", "untracked.txt"), ("x", "x/y"), ("build/z", "build/z")]
    {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        crate::fixture::write(&workspace.tree().join(theirs), "theirs\n");
        fixture.git_in(&workspace.tree(), &["add", "--force", theirs]);
        let commit = fixture.work(&workspace, &[("more.txt", "x")]);
        fixture.write(mine, "mine\n");
        let before = fixture.git(&["status", "--porcelain"]);
        let why = refusal(fixture.land(&workspace, &revision).await);
        // An ignored file that was added by force is held back before that.
        assert!(matches!(why, LandingRefusal::Files(_) | LandingRefusal::SelfActing(_)), "{why}");
        assert!(why.to_string().contains(mine), "{why}");
        assert_eq!(fixture.read(mine), "mine\n");
        assert_eq!(fixture.git(&["status", "--porcelain"]), before, "{mine}");
        assert_eq!(fixture.git(&["rev-parse", "main"]), revision.commit.unwrap());
        assert_eq!(fixture.git(&["rev-parse", "autonoe/1"]), commit);
        assert!(
            !fixture.path(".git/index.lock").exists() && !fixture.path(".git/refs/heads/main.lock").exists()
        );
    }
}

#[tokio::test]
async fn what_the_user_has_staged_otherwise_is_named_in_our_words() {
    type Act = fn(&HubFixture);
    let acts: [(Act, &str); 4] = [
        (
            |fixture| {
                fixture.write("a.txt", "mine\n");
                fixture.git(&["add", "a.txt"]);
            },
            "a.txt has staged changes that are not committed",
        ),
        (
            |fixture| drop(fixture.git(&["rm", "-q", "--cached", "a.txt"])),
            "a.txt has staged changes that are not committed",
        ),
        (
            |fixture| {
                fixture.write("new.txt", "mine\n");
                fixture.git(&["add", "new.txt"]);
            },
            "new.txt has staged changes that are not committed",
        ),
        (
            |fixture| fixture.write("dir/mine.txt", "mine\n"),
            "dir has files that are not committed and would be lost",
        ),
    ];
    for (act, expected) in acts {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        fs::remove_dir_all(workspace.tree().join("dir")).unwrap();
        fixture.work(&workspace, &[("a.txt", "agent\n"), ("new.txt", "agent\n"), ("dir", "agent\n")]);
        act(&fixture);
        let before = fixture.git(&["status", "--porcelain"]);
        let why = refusal(fixture.land(&workspace, &revision).await);
        assert_eq!(why, LandingRefusal::Files(expected.to_owned()));
        assert_eq!(fixture.git(&["status", "--porcelain"]), before);
    }
}

#[tokio::test]
async fn a_user_who_commits_switches_or_detaches_keeps_what_is_checked_out() {
    type Act = fn(&HubFixture);
    let acts: [(Act, LandingRefusal); 5] = [
        (|fixture| drop(fixture.commit(&[("c.txt", "user")])), LandingRefusal::Moved),
        (
            |fixture| drop(fixture.git(&["switch", "-q", "-c", "other"])),
            LandingRefusal::Switched { to: "other".into(), wanted: WantedBranch::There("main".into()) },
        ),
        (
            |fixture| drop(fixture.git(&["checkout", "-q", "--detach"])),
            LandingRefusal::Detached { wanted: WantedBranch::There("main".into()) },
        ),
        (
            |fixture| {
                fixture.git(&["switch", "-q", "-c", "other"]);
                fixture.git(&["branch", "-q", "-D", "main"]);
            },
            LandingRefusal::Switched { to: "other".into(), wanted: WantedBranch::Gone("main".into()) },
        ),
        (
            |fixture| drop(fixture.git(&["commit", "-q", "--amend", "-m", "rewritten"])),
            LandingRefusal::Unrelated,
        ),
    ];
    for (act, expected) in acts {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        let commit = fixture.work(&workspace, &[("a.txt", "agent\n")]);
        act(&fixture);
        let head = fixture.git(&["rev-parse", "HEAD"]);
        assert_eq!(refusal(fixture.land(&workspace, &revision).await), expected);
        assert_eq!(fixture.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(fixture.git(&["rev-parse", "autonoe/1"]), commit);
        assert_eq!(fixture.git(&["status", "--porcelain"]), "");
        assert_eq!(fixture.read("a.txt"), "one\n");
    }
}

#[tokio::test]
async fn commits_that_the_user_has_dropped_do_not_come_back_with_those_of_the_run() {
    for amends in [false, true] {
        let fixture = HubFixture::new().await;
        let kept = fixture.git(&["rev-parse", "HEAD"]);
        let dropped = fixture.commit(&[("dropped.txt", "secret")]);
        let (hub, none) = (fixture.hub.clone(), Settled::default());
        let mut site =
            WorkspaceSite::prepare(hub, 1, Start::New, SiteOptions::default(), &none).await.unwrap();
        fixture.work(&site.workspace, &[("new.txt", "agent")]);
        match amends {
            true => fixture.git(&["commit", "-q", "--amend", "-m", "amended"]),
            false => fixture.git(&["reset", "-q", "--hard", &kept]),
        };
        let head = fixture.git(&["rev-parse", "HEAD"]);
        let passed = Settled { passed: ["A".to_owned()].into(), ..Settled::default() };
        let events = site.session_ended(1, &passed).await.unwrap();
        let begin = fixture.git(&["rev-parse", "autonoe/1~1"]);
        assert!(amends || begin == dropped, "{begin}");
        let expected = LandingRefusal::Dropped { count: 1, begin: begin.clone(), branch: "main".into() };
        let [SiteEvent::Apart { why, .. }] = &events[..] else { panic!("{events:?}") };
        assert_eq!(*why, expected);

        let unlanded = fixture.hub.unlanded().await.unwrap().expect("waits");
        assert!(unlanded.is_for_land, "it says how to get those of the run");
        let consent = LandingConsent::default();
        let landing = fixture.hub.land_unlanded(&unlanded, consent, &passed).await.unwrap();
        assert_eq!(landing, Landing::Apart { branch: "autonoe/1".into(), why: expected.clone() });
        assert_eq!(fixture.git(&["rev-parse", "main"]), head);

        // What it advises brings only the commits of the run, also if the user picks them one by one.
        let short = &begin[..10];
        let rebase = format!("git rebase --onto main {short} autonoe/1 && git switch main && git merge");
        assert!(expected.advice("autonoe/1").contains(&rebase), "{}", expected.advice("autonoe/1"));
        fixture.git(&["cherry-pick", &format!("{short}..autonoe/1")]);
        assert_eq!(fixture.path("dropped.txt").exists(), amends);
        assert_eq!(fixture.hub.unlanded().await.unwrap(), None);
    }
}

#[tokio::test]
async fn landed_files_for_which_the_user_has_filters_are_named() {
    let fixture = HubFixture::new().await;
    fixture.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    fixture.git(&["config", "filter.lfs.clean", "git-lfs clean"]);
    fixture.commit(&[(".gitattributes", "*.up filter=up\n*.bin filter=lfs\n*.none filter=none\n")]);
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("a.up", "a\n"), ("b.bin", ""), ("c.none", ""), ("d.txt", "")]);
    let landing = fixture.land(&workspace, &revision).await;
    let Landing::Landed { filtered_files, .. } = &landing else { panic!("{landing:?}") };
    assert_eq!(*filtered_files, ["a.up"]);
}

#[tokio::test]
async fn rewritten_history_does_not_land() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("b.txt", "more")]);
    let (workspace, revision) = fixture.workspace().await;
    fixture.git_in(&workspace.tree(), &["commit", "-q", "--amend", "-m", "rewritten"]);
    assert_eq!(refusal(fixture.land(&workspace, &revision).await), LandingRefusal::Diverged);
}

#[tokio::test]
async fn commits_without_a_common_ancestor_do_not_land() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.git_in(&workspace.tree(), &["commit", "-q", "--amend", "-m", "another root"]);
    let commit = fixture.work(&workspace, &[("c.txt", "x")]);
    assert_eq!(refusal(fixture.land(&workspace, &revision).await), LandingRefusal::Unrelated);
    fixture.git(&["merge", "-q", "--allow-unrelated-histories", "-m", "merged", &commit]);
}

#[tokio::test]
async fn a_change_in_the_second_of_a_commit_is_never_overwritten() {
    let fixture = HubFixture::new().await;
    let second = |name: &str| fixture.path(name).metadata().unwrap().ctime();
    let mut rounds = 0..20;
    // Git cannot see from times and sizes that the file has changed.
    let is_hidden = rounds.any(|round| {
        fixture.commit(&[("a.txt", &format!("{round:02}\n"))]);
        fixture.write("a.txt", "me\n");
        second("a.txt") == second(".git/index")
    });
    assert!(is_hidden);
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("a.txt", "agent\n")]);
    for _ in 0..3 {
        let why = refusal(fixture.land(&workspace, &revision).await);
        assert!(matches!(&why, LandingRefusal::Files(files) if files.contains("a.txt")), "{why}");
        assert_eq!(fixture.read("a.txt"), "me\n");
    }
}

#[tokio::test]
async fn a_locked_branch_or_index_is_left_alone() {
    for lock in [".git/refs/heads/main.lock", ".git/index.lock"] {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        // What is there is the beginning of what the agent has written.
        fixture.work(&workspace, &[("a.txt", "one\ntwo\n")]);
        fixture.write(lock, "");
        let why = refusal(fixture.land(&workspace, &revision).await);
        assert!(matches!(why, LandingRefusal::Locked(_) | LandingRefusal::Files(_)), "{why}");
        fs::remove_file(fixture.path(lock)).unwrap();
        assert_eq!(fixture.git(&["status", "--porcelain"]), "", "{lock}");
        assert_eq!(fixture.read("a.txt"), "one\n");
    }
}

#[tokio::test]
async fn a_user_with_conflicts_in_the_index_is_left_alone() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("conflict.txt", "one\n"), ("other.txt", "one\n")]);
    fixture.write("conflict.txt", "stashed\n");
    fixture.git(&["stash", "-q"]);
    fixture.commit(&[("conflict.txt", "two\n")]);
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("a.txt", "one\ntwo\n"), ("other.txt", "one\ntwo\n")]);
    let popped = Command::new("git").current_dir(fixture.path(".")).args(["stash", "pop", "-q"]).output();
    assert!(!popped.unwrap().status.success(), "the index must have a conflict");
    fixture.write("other.txt", "");
    let before = fixture.git(&["status", "--porcelain"]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert!(matches!(why, LandingRefusal::Files(_)), "{why}");
    assert_eq!(fixture.git(&["status", "--porcelain"]), before);
    assert_eq!((fixture.read("a.txt"), fixture.read("other.txt")), ("one\n".to_owned(), String::new()));
}

#[tokio::test]
async fn what_the_user_has_staged_stays_if_a_landing_fails_half_way() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("b.txt", "x"), ("staged.txt", "x")]);
    let (workspace, revision) = fixture.workspace().await;
    let tree = workspace.tree();
    fixture.work(&workspace, &[("b.txt", "new"), ("staged.txt", "new")]);
    // No file system takes such a name.
    let blob = fixture.git_in(&tree, &["rev-parse", "HEAD:b.txt"]);
    let entry = format!("100644,{blob},{}", "n".repeat(300));
    fixture.git_in(&tree, &["update-index", "--add", "--cacheinfo", &entry]);
    fixture.git_in(&tree, &["commit", "-q", "-m", "a long name"]);
    fixture.write("staged.txt", "new");
    fixture.git(&["add", "staged.txt"]);
    refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "M  staged.txt");
    assert_eq!((fixture.read("b.txt"), fixture.read("staged.txt")), ("x".to_owned(), "new".to_owned()));
}

/// A branch that the user has made from a run's is not a landing.
#[tokio::test]
async fn commits_wait_also_if_the_user_has_copied_or_renamed_their_branch() {
    for copy in [&["branch", "keep", "autonoe/1"][..], &["branch", "-m", "autonoe/1", "feature"]] {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, &[("a.txt", "agent\n")]);
        fixture.write("a.txt", "the user's\n");
        fixture.land(&workspace, &revision).await;
        fixture.git(copy);
        let waiting = fixture.hub.unlanded().await.unwrap();
        assert_eq!(waiting.map(|unlanded| unlanded.branch).as_deref(), Some("autonoe/1"), "{copy:?}");
    }
}

#[tokio::test]
async fn commits_that_wait_under_another_name_are_not_taken_for_landed() {
    let fixture = HubFixture::new().await;
    // Git cannot make autonoe/1 beside it.
    fixture.git(&["branch", "autonoe"]);
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("a.txt", "agent\n")]);
    fixture.write("a.txt", "the user's\n");
    let landing = fixture.land(&workspace, &revision).await;
    assert!(matches!(&landing, Landing::Apart { branch, .. } if branch == "autonoe-1"), "{landing:?}");
    let waiting = fixture.hub.unlanded().await.unwrap();
    assert_eq!(waiting.map(|unlanded| unlanded.branch).as_deref(), Some("autonoe/1"));
    fixture.git(&["checkout", "-q", "a.txt"]);
    fixture.git(&["merge", "-q", "autonoe-1"]);
    assert_eq!(fixture.hub.unlanded().await.unwrap(), None);
}

#[tokio::test]
async fn hooks_and_filters_of_the_user_do_not_run() {
    let fixture = HubFixture::new().await;
    let canary = fixture.home().join("canary");
    let evil = format!("touch {}; cat", canary.display());
    fixture.commit(&[(".gitattributes", "*.txt filter=evil\n")]);
    fixture.git(&["config", "filter.evil.smudge", &evil]);
    fixture.git(&["config", "core.fsmonitor", &evil]);
    fixture.git(&["config", "core.hooksPath", "hooks"]);
    for hook in ["post-checkout", "post-merge", "reference-transaction", "post-index-change"] {
        fixture.write(&format!("hooks/{hook}"), &format!("#!/bin/sh\n{evil}\n"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(fixture.path(&format!("hooks/{hook}")), mode).unwrap();
    }
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("a.txt", "agent\n")]);
    let landing = fixture.land(&workspace, &revision).await;
    let Landing::Landed { filtered_files, .. } = &landing else { panic!("{landing:?}") };
    assert_eq!(*filtered_files, ["a.txt"]);
    assert!(!canary.exists());
}

#[tokio::test]
async fn what_checks_judge_by_changes_only_with_the_users_word() {
    let mut fixture = HubFixture::new().await;
    fixture.commit(&[("tests/a.test", "exit 1\n"), ("tests/b.test", "exit 1\n")]);
    let protected = fixture.path("tests/a.test").canonicalize().unwrap();
    let list = ListProtected(Arc::new(move |_: &[_]| Ok([protected.clone()].into())));
    fixture.hub.users.list_protected = Some(list);
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("tests/a.test", "exit 0\n"), ("tests/b.test", "exit 0\n")]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::Protected(vec!["tests/a.test".to_owned()]));

    let commit = fixture.hub.fetch(&workspace).await.unwrap();
    let consent = LandingConsent { protected: true, ..LandingConsent::default() };
    let target = LandingTarget::CheckedOut;
    let landing = fixture.hub.land(&workspace, &commit, &revision, &target, consent).await.unwrap();
    assert!(matches!(landing, Landing::Landed { .. }), "{landing:?}");
}

#[tokio::test]
async fn a_named_branch_is_made_and_forwarded_and_the_checkout_left_alone() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    let named = LandingTarget::Branch("topic/a".into());
    let before = fixture.git(&["rev-parse", "main"]);
    fixture.write("a.txt", "the user's\n");
    for number in 0..2 {
        let commit = fixture.work(&workspace, &[("a.txt", &number.to_string())]);
        assert_eq!(fixture.land_on(&workspace, &revision, &named).await, landed("topic/a"));
        assert_eq!(fixture.git(&["rev-parse", "topic/a"]), commit);
    }
    assert_eq!((fixture.git(&["rev-parse", "main"]), fixture.read("a.txt")), (before, "the user's\n".into()));

    fixture.git(&["branch", "-q", "-f", "topic/a", "main"]);
    fixture.git(&["branch", "-q", "other", "main"]);
    let others = fixture.git(&["commit-tree", "-m", "other", "-p", "main", "main^{tree}"]);
    fixture.git(&["update-ref", "refs/heads/other", &others]);
    let other = LandingTarget::Branch("other".into());
    let why = refusal(fixture.land_on(&workspace, &revision, &other).await);
    assert_eq!(why, LandingRefusal::Elsewhere { branch: "other".into() });
    assert_eq!(fixture.git(&["rev-parse", "other"]), others);
    let main = LandingTarget::Branch("main".into());
    let why = refusal(fixture.land_on(&workspace, &revision, &main).await);
    assert_eq!(why, LandingRefusal::CheckedOut { branch: "main".into() });
}

#[tokio::test]
async fn a_named_branch_on_which_nothing_could_land_is_refused_before_the_first_session() {
    let fixture = HubFixture::new().await;
    let elsewhere = fixture.home().join("elsewhere");
    fixture.git(&["worktree", "add", "-q", "-b", "used", &elsewhere.display().to_string()]);
    fixture.git(&["branch", "old", "main"]);
    fixture.git(&["branch", "a/b", "main"]);
    fixture.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    let others = fixture.git(&["commit-tree", "-m", "other", "-p", "main", "main^{tree}"]);
    fixture.git(&["update-ref", "refs/heads/other", &others]);
    let prepare = async |branch: &str| {
        let target = LandingTarget::Branch(branch.to_owned());
        let options = SiteOptions { target, ..SiteOptions::default() };
        let hub = fixture.hub.clone();
        WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await
    };
    for (branch, why) in [
        ("main", "it is checked out."),
        ("used", "it is checked out in /"),
        ("other", "it has commits that the run would not continue"),
        ("a", "beside 'a/b'"),
        ("main/b", "beside 'main'"),
        ("main/b/c", "beside 'main'"),
        ("a b", "git does not accept this name"),
        ("alias", "it is another name of 'main'"),
    ] {
        let message = prepare(branch).await.expect_err(branch).message;
        assert!(message.contains(why), "{branch}: {message}");
    }
    for branch in ["old", "new", "a/c"] {
        prepare(branch).await.expect(branch);
    }
}

#[tokio::test]
async fn files_that_decide_what_the_ci_runs_are_named() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[(".github/workflows/test.yml", "on: push\n"), ("b.txt", "")]);
    let expected = Landing::Landed {
        branch: "main".into(),
        ci_files: vec![".github/workflows/test.yml".to_owned()],
        hook_files: Vec::new(),
        filtered_files: Vec::new(),
    };
    assert_eq!(fixture.land(&workspace, &revision).await, expected);
}

#[tokio::test]
async fn a_repository_within_the_repository_does_not_land() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    let nested = workspace.tree().join("nest");
    fs::create_dir(&nested).unwrap();
    fixture.git_in(&nested, &["init", "-q", "."]);
    fixture.git_in(&nested, &["commit", "-q", "--allow-empty", "-m", "own"]);
    fixture.work(&workspace, &[("b.txt", "")]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::Gitlinks(vec!["nest".into()]));
}

#[tokio::test]
async fn files_that_cannot_be_written_do_not_land_in_part() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    let head = fixture.git(&["rev-parse", "HEAD"]);
    fixture.work(&workspace, &[("a.txt", "changed\n"), ("b.txt", "new\n")]);
    let tree = workspace.tree();
    let blob = fixture.git_in(&tree, &["rev-parse", "HEAD:b.txt"]);
    let entry = format!("100644,{blob},{}", "long".repeat(75));
    fixture.git_in(&tree, &["update-index", "--add", "--cacheinfo", &entry]);
    fixture.git_in(&tree, &["commit", "-q", "-m", "a name that no disk can have"]);
    fixture.write("users.txt", "mine\n");
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert!(matches!(&why, LandingRefusal::Files(why) if why.contains("longlong")), "{why:?}");
    assert_eq!(fixture.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "?? users.txt");
    assert!(!fixture.path("b.txt").exists());
}

#[tokio::test]
async fn what_the_user_is_doing_is_not_disturbed() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("a.txt", "changed\n")]);
    fs::remove_file(fixture.path("a.txt")).unwrap();
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert!(matches!(&why, LandingRefusal::Files(why) if why.contains("a.txt")), "{why:?}");
    assert!(!fixture.path("a.txt").exists());
    fixture.git(&["checkout", "-q", "a.txt"]);
    fixture.write(".git/MERGE_HEAD", &fixture.git(&["rev-parse", "HEAD"]));
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::InProgress("MERGE_HEAD".into()));
}

#[tokio::test]
async fn a_rebase_or_bisect_without_a_branch_is_what_the_user_is_in_the_middle_of() {
    for (sign, args) in [
        ("rebase-merge", &["-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-q", "-i", "HEAD~1"][..]),
        ("BISECT_LOG", &["bisect", "start", "HEAD", "HEAD~2"]),
    ] {
        let fixture = HubFixture::new().await;
        fixture.commit(&[("b.txt", "one")]);
        fixture.commit(&[("b.txt", "two")]);
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, &[("a.txt", "changed\n")]);
        fixture.git(args);
        assert_eq!(fixture.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
        let why = refusal(fixture.land(&workspace, &revision).await);
        assert_eq!(why, LandingRefusal::InProgress(sign.into()));
    }
}

#[tokio::test]
async fn a_damaged_head_is_named_in_one_sentence() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("a.txt", "changed\n")]);
    let fetched = fixture.hub.fetch(&workspace).await.unwrap();
    fixture.write(".git/HEAD", "\n");
    let (target, consent) = (LandingTarget::CheckedOut, LandingConsent::default());
    let fault = fixture.hub.land(&workspace, &fetched, &revision, &target, consent).await.unwrap_err();
    let sentence = "git no longer finds a repository there; .git/HEAD may be damaged.";
    assert!(fault.message.ends_with(sentence), "{fault:?}");
}

#[tokio::test]
async fn what_a_refusal_during_a_merge_advises_gets_the_commits() {
    for finishes in [true, false] {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, &[("a.txt", "changed\n")]);
        fixture.git(&["checkout", "-q", "-b", "side"]);
        fixture.commit(&[("side.txt", "")]);
        fixture.git(&["checkout", "-q", "main"]);
        fixture.git(&["merge", "-q", "--no-ff", "--no-commit", "side"]);
        let why = refusal(fixture.land(&workspace, &revision).await);
        let merge = "git merge --no-overwrite-ignore autonoe/1";
        let advice = format!("abort it, then `autonoe land`; or finish it, then {merge}");
        assert_eq!(why.advice("autonoe/1"), advice);
        if finishes {
            fixture.git(&["commit", "-q", "--no-edit"]);
            fixture.git(&["merge", "-q", "--no-overwrite-ignore", "--no-edit", "autonoe/1"]);
        } else {
            fixture.git(&["merge", "--abort"]);
            let landing = fixture.land(&workspace, &revision).await;
            assert!(matches!(landing, Landing::Landed { .. }), "{landing:?}");
        }
        assert_eq!(fixture.read("a.txt"), "changed\n");
    }
}

#[tokio::test]
async fn a_split_index_and_a_sparse_checkout_are_left_alone() {
    for setup in [&["update-index", "--split-index"][..], &["sparse-checkout", "set", "dir"]] {
        let fixture = HubFixture::new().await;
        fixture.write("staged.txt", "x");
        fixture.git(&["add", "staged.txt"]);
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, &[("new.txt", "")]);
        // Also if that is set during a run.
        fixture.git(setup);
        let before = fixture.git(&["status", "--porcelain"]);
        let (_, later) = fixture.workspace().await;
        for from in [revision, later] {
            let why = refusal(fixture.land(&workspace, &from).await);
            assert!(matches!(why, LandingRefusal::Files(_)), "{why:?}");
            assert_eq!(fixture.git(&["status", "--porcelain"]), before);
        }
    }
}

#[tokio::test]
async fn of_two_agents_at_once_one_lands_and_the_other_waits_on_its_branch() {
    let fixture = HubFixture::new().await;
    let mut sites = Vec::new();
    for (run, slot) in [(1, "agent-a-1"), (2, "agent-b-1")] {
        let options =
            SiteOptions { when: LandWhen::End, slot: Some(slot.to_owned()), ..SiteOptions::default() };
        let hub = fixture.hub.clone();
        let site = WorkspaceSite::prepare(hub, run, Start::New, options, &Settled::default()).await.unwrap();
        fixture.work(&site.workspace, &[(slot, "x")]);
        sites.push(site);
    }
    let [first, second] = sites.as_mut_slice() else { unreachable!() };
    let (first, second) = {
        let settled = Settled::default();
        tokio::join!(first.run_ended(&settled), second.run_ended(&settled))
    };
    let events: Vec<_> = first.unwrap().into_iter().chain(second.unwrap()).collect();
    let landed = events.iter().filter(|event| matches!(event, SiteEvent::Landed { .. })).count();
    let apart = events.iter().find_map(|event| match event {
        SiteEvent::Apart { branch, why: LandingRefusal::Moved, .. } => Some(branch.clone()),
        _ => None,
    });
    assert_eq!(landed, 1, "{events:?}");
    fixture.git(&["merge", "-q", "-m", "both", &apart.expect("the other is on its branch")]);
    assert!(fixture.path("agent-a-1").exists() && fixture.path("agent-b-1").exists());
    // Checks look at the commits of `run` only.
    assert!(!fixture.home().join("state/hub/hub.git/refs/autonoe/current").exists());
}

#[tokio::test]
async fn files_are_written_as_the_settings_of_git_say() {
    let (crlf, lf) = ("new\r\n", "new\n");
    for (user, own, written) in [
        ("[user]\n\tname = U\n[core]\n\tautocrlf = true\n", "", crlf),
        ("[core] autocrlf = \"true\" ; as on Windows\n", "", crlf),
        ("[core]\n\tautocrlf = false\n[include]\n\tpath = windows\n", "", crlf),
        ("[core]\n\tautocrlf = true\n", "[core]\n\tautocrlf = false\n", lf),
        ("[includeIf \"gitdir:~/elsewhere/\"]\n\tpath = windows\n", "", lf),
        ("[difftool \"x\"]\n\tpath = windows\n", "", lf),
        ("", "[core]\n\tautocrlf = True\n", crlf),
        ("", "[core]\n\tautocrlf = 1\n", crlf),
        ("", "[core]\n\tautocrlf =\n", lf),
        ("[core]\n\tattributesFile = ~/attributes\n", "", crlf),
        ("", "[core]\n\tattributesFile = own-attributes\n", crlf),
        ("", "attributes", crlf),
    ] {
        let mut fixture = HubFixture::new().await;
        fs::write(fixture.home().join("windows"), "[core]\n\tautocrlf = true\n").unwrap();
        fs::write(fixture.home().join(".gitconfig"), user).unwrap();
        fs::write(fixture.home().join("attributes"), "*.txt text eol=crlf\n").unwrap();
        fixture.write("own-attributes", "*.txt text eol=crlf\n");
        match own {
            "attributes" => fixture.write(".git/info/attributes", "*.txt text eol=crlf\n"),
            _ => fixture.write(".git/config", &(fixture.read(".git/config") + own)),
        }
        fixture.hub.users.home = Some(fixture.home());
        // As git has written it with these settings.
        fixture.write("a.txt", &written.replace("new", "one"));
        fixture.git(&["-c", &format!("core.autocrlf={}", written == crlf), "add", "a.txt"]);
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, &[("a.txt", "new\n"), ("new.txt", "new\n")]);
        assert_eq!(fixture.land(&workspace, &revision).await, landed("main"), "{user}{own}");
        assert_eq!([fixture.read("a.txt"), fixture.read("new.txt")], [written; 2], "{user}{own}");
    }
}

#[tokio::test]
async fn names_that_are_not_utf_8_are_left_to_the_user() {
    for is_new in [false, true] {
        let fixture = HubFixture::new().await;
        let name = OsStr::from_bytes(b"caf\xe9.txt");
        if !is_new {
            fs::write(fixture.path(".").join(name), "one\n").unwrap();
            fixture.commit(&[]);
        }
        let (workspace, revision) = fixture.workspace().await;
        fs::write(workspace.tree().join(name), "two\n").unwrap();
        fixture.work(&workspace, &[("a.txt", "two\n")]);
        let why = refusal(fixture.land(&workspace, &revision).await);
        assert!(why.to_string().starts_with("these names are not UTF-8: caf"), "{why}");
        assert_eq!(fixture.git(&["status", "--porcelain"]), "");
        fixture.git(&["merge", "-q", "--no-overwrite-ignore", "autonoe/1"]);
        assert_eq!(fs::read_to_string(fixture.path(".").join(name)).unwrap(), "two\n");
    }
}

#[tokio::test]
async fn ignored_files_of_the_user_are_not_overwritten() {
    let fixture = HubFixture::new().await;
    fixture.write(".git/info/exclude", "local.txt\nsame.txt\n");
    let (workspace, revision) = fixture.workspace().await;
    fixture.write("local.txt", "");
    fixture.write("same.txt", "agent\n");
    let work = |workspace: &Workspace, name: &str| {
        crate::fixture::write(&workspace.tree().join(name), "agent\n");
        fixture.git_in(&workspace.tree(), &["add", "--force", name]);
        fixture.git_in(&workspace.tree(), &["commit", "-q", "-m", name]);
    };
    work(&workspace, "same.txt");
    assert_eq!(fixture.land(&workspace, &revision).await, landed("main"), "it stays as it is");

    let (workspace, revision) = fixture.workspace().await;
    work(&workspace, "local.txt");
    let why = refusal(fixture.land(&workspace, &revision).await).to_string();
    assert!(why.contains("local.txt is not committed and would be overwritten"), "{why}");
    assert!(!fixture.home().join("state/hub/landing.json").exists(), "nothing had begun");
    assert_eq!(fixture.read("local.txt"), "");
}

#[tokio::test]
async fn a_changed_file_that_git_was_told_to_assume_unchanged_is_named() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.write("a.txt", "the user's\n");
    fixture.git(&["update-index", "--assume-unchanged", "a.txt"]);
    let commit = fixture.work(&workspace, &[("a.txt", "agent\n")]);
    fixture.hub.fetch(&workspace).await.unwrap();
    let (target, consent) = (LandingTarget::CheckedOut, LandingConsent::default());
    let landing = fixture.hub.land(&workspace, &commit, &revision, &target, consent).await.unwrap();
    let Landing::Apart { why, .. } = landing else { panic!("{landing:?}") };
    let said = "a.txt is not as your last commit has it, although git is set to assume so";
    assert!(why.to_string().contains(said), "{why}");
    assert_eq!(fixture.read("a.txt"), "the user's\n");
}

#[tokio::test]
async fn an_uncommitted_file_is_named_once() {
    let fixture = HubFixture::new().await;
    fixture.git(&["rm", "-q", "--cached", "a.txt"]);
    let revision = fixture.hub.update().await.unwrap();
    assert_eq!(revision.uncommitted, ["a.txt"]);
}
