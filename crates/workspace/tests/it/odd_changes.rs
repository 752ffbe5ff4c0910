//! Landings of changes and onto repositories that git itself does not cope with: the user's repository and files stay whole, and what does
//! not come home is named.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use autonoe_test_kit::TestDirectory;
use autonoe_workspace::{
    LandingRefusal, LandingTarget, Settled, SiteEvent, SiteOptions, Start, WorkspaceSite,
};

use crate::fixture::HubFixture;
use crate::landing::{landed, refusal};

/// As with `--include-uncommitted`: the commits have what the user has done to the files, too.
#[tokio::test]
async fn a_file_or_link_that_the_user_has_put_in_place_of_a_directory_lands() {
    type Put = fn(&Path);
    let puts: [Put; 3] = [
        |place| fs::write(place, "a file\n").unwrap(),
        |place| symlink("other", place).unwrap(),
        |place| symlink("missing", place).unwrap(),
    ];
    for put in puts {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        for tree in [workspace.tree(), fixture.path("")] {
            fs::create_dir(tree.join("other")).unwrap();
            fs::write(tree.join("other/b.txt"), "two\n").unwrap();
            fs::remove_dir_all(tree.join("dir")).unwrap();
            put(&tree.join("dir"));
        }
        fixture.work(&workspace, &[("new.txt", "new\n")]);
        assert_eq!(fixture.land(&workspace, &revision).await, landed("main"));
        assert_eq!(fixture.git(&["status", "--porcelain"]), "");
        assert_eq!(fixture.read("new.txt"), "new\n");
    }
}

#[tokio::test]
async fn a_link_that_no_disk_can_have_does_not_land_in_part() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    let tree = workspace.tree();
    fs::write(tree.join("target"), "/etc/passwd\0zz").unwrap();
    let object = fixture.git_in(&tree, &["hash-object", "-w", "target"]);
    fs::remove_file(tree.join("target")).unwrap();
    let entry = format!("120000,{object},z");
    fixture.git_in(&tree, &["update-index", "--add", "--cacheinfo", &entry]);
    fixture.git_in(&tree, &["commit", "-q", "-m", "a link"]);
    let why = refusal(fixture.land(&workspace, &revision).await).to_string();
    assert!(why.contains("z is a link to a name with a NUL byte"), "{why}");
    assert!(!fixture.path("z").is_symlink());
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_project_that_its_repository_ignores_is_refused() {
    let directory = TestDirectory::default();
    directory.git(&["init", "-q", "-b", "main", "."]);
    directory.commit(&[(".gitignore", "scratch/\n")]);
    directory.write("scratch/tool/SPEC.md", "# Spec\n");
    let fixture = HubFixture::of(directory, "scratch/tool").await;
    let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
    let prepared = WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await;
    let fault = prepared.map(drop).unwrap_err();
    assert!(fault.message.contains("which ignores it"), "{fault:?}");
    // What is tracked nevertheless can be worked on.
    fixture.git(&["add", "--force", "scratch/tool/SPEC.md"]);
    fixture.git(&["commit", "-q", "-m", "tracked"]);
    let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
    WorkspaceSite::prepare(hub, 2, Start::New, options, &Settled::default()).await.unwrap();
}

#[tokio::test]
async fn work_that_git_ignores_is_named_unless_checks_have_passed_without_it() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[(".gitignore", "/build/\nlib/\n*.log\n")]);
    for (is_verified, number) in [(false, 1), (true, 2)] {
        let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
        let mut site =
            WorkspaceSite::prepare(hub, number, Start::New, options, &Settled::default()).await.unwrap();
        let tree = site.workspace.tree();
        for file in ["lib/x.js", "build/x", "x.log"] {
            crate::fixture::write(&tree.join(file), "x");
        }
        let passed = ["A".to_owned()].into();
        let verified = if is_verified { ["A".to_owned()].into() } else { Default::default() };
        let settled = Settled { passed, verified, ..Settled::default() };
        let events = site.run_ended(&settled).await.unwrap();
        let named = SiteEvent::Ignored { files: vec!["lib/".to_owned()] };
        assert_eq!(events.contains(&named), !is_verified, "{events:?}");
    }
}

/// As tools do that remove files from the history.
#[tokio::test]
async fn a_repository_whose_history_was_rewritten_and_pruned_stays_whole() {
    for target in [LandingTarget::CheckedOut, LandingTarget::Branch("feat".to_owned())] {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, &[("new.txt", "new\n")]);
        for command in [
            &["checkout", "-q", "--orphan", "clean"][..],
            &["rm", "-q", "--cached", "a.txt"],
            &["commit", "-q", "-m", "clean"],
            &["branch", "-q", "-M", "clean", "main"],
            &["reflog", "expire", "--expire=now", "--all"],
            &["gc", "-q", "--prune=now"],
            &["fsck"],
        ] {
            fixture.git(command);
        }
        let landing = fixture.land_on(&workspace, &revision, &target).await;
        match target {
            LandingTarget::CheckedOut => assert_eq!(refusal(landing), LandingRefusal::Unrelated),
            LandingTarget::Branch(_) => assert_eq!(landing, landed("feat")),
        }
        // They fail if an object is missing.
        fixture.git(&["fsck"]);
        fixture.git(&["gc", "-q"]);
    }
}
