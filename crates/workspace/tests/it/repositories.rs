//! Repositories of unusual kinds work, or are refused with the reason.

use std::fs;

use autonoe_test_kit::TestDirectory;
use autonoe_workspace::{Landing, Settled, SiteOptions, Start, WorkspaceSite};

use crate::fixture::{HubFixture, files};

/// The main job in a repository: commit in a workspace, land on `main`.
async fn assert_works(fixture: &HubFixture, top: &str) {
    let (workspace, revision) = fixture.workspace().await;
    let commit = fixture.work(&workspace, &[("agent.txt", "x")]);
    assert_eq!(
        fixture.land(&workspace, &revision).await,
        Landing::Landed {
            branch: "main".into(),
            ci_files: Vec::new(),
            hook_files: Vec::new(),
            filtered_files: Vec::new()
        }
    );
    let top = fixture.path(top);
    assert_eq!(fixture.git_in(&top, &["rev-parse", "main"]), commit);
    assert_eq!(fixture.git_in(&top, &["status", "--porcelain"]), "");
    assert_eq!(fs::read_to_string(top.join("agent.txt")).unwrap(), "x");
}

fn repository(init: &[&str]) -> TestDirectory {
    let directory = TestDirectory::default();
    directory.git(&[&["init", "-q", "-b", "main"], init, &["."]].concat());
    directory.commit(&[("a.txt", "one\n")]);
    directory.commit(&[("a.txt", "two\n")]);
    directory
}

#[tokio::test]
async fn sha256() {
    let fixture = HubFixture::of(repository(&["--object-format=sha256"]), "").await;
    assert_works(&fixture, "").await;
}

#[tokio::test]
async fn reftable() {
    let fixture = HubFixture::of(repository(&["--ref-format=reftable"]), "").await;
    assert_works(&fixture, "").await;
}

#[tokio::test]
async fn nothing_is_committed_yet() {
    let directory = TestDirectory::default();
    directory.git(&["init", "-q", "-b", "main", "."]);
    let fixture = HubFixture::of(directory, "").await;
    assert_works(&fixture, "").await;
}

#[tokio::test]
async fn the_project_is_part_of_a_repository() {
    let directory = repository(&[]);
    directory.commit(&[("part/b.txt", "x"), ("part/.autonoe/agent.json", "{}")]);
    let fixture = HubFixture::of(directory, "part").await;
    let (workspace, _) = fixture.workspace().await;
    assert_eq!(workspace.root(), workspace.tree().join("part"));
    assert!(workspace.root().join("b.txt").is_file());
    assert_works(&fixture, "").await;
}

#[tokio::test]
async fn shallow() {
    let directory = repository(&[]);
    let source = format!("file://{}", directory.root().display());
    directory.git(&["clone", "-q", "--depth=1", &source, "clone"]);
    let fixture = HubFixture::of(directory, "clone").await;
    assert_works(&fixture, "clone").await;
}

#[tokio::test]
async fn borrowed_objects() {
    let directory = repository(&[]);
    directory.git(&["clone", "-q", "--shared", ".", "clone"]);
    let fixture = HubFixture::of(directory, "clone").await;
    let (workspace, _) = fixture.workspace().await;
    fs::remove_dir_all(fixture.path(".git")).unwrap();
    fixture.git_in(&workspace.tree(), &["fsck", "--full"]);
}

#[tokio::test]
async fn a_linked_working_tree() {
    let directory = repository(&[]);
    directory.git(&["branch", "side"]);
    directory.git(&["switch", "-q", "side"]);
    directory.git(&["worktree", "add", "-q", "linked", "main"]);
    let fixture = HubFixture::of(directory, "linked").await;
    assert_works(&fixture, "linked").await;
}

#[tokio::test]
async fn lfs_pointers_stay_pointers() {
    let directory = repository(&[]);
    directory.git(&["config", "filter.lfs.smudge", "git-lfs smudge -- %f"]);
    directory.git(&["config", "filter.lfs.required", "true"]);
    directory.git(&["config", "filter.lfs.clean", "cat"]);
    directory.commit(&[(".gitattributes", "*.bin filter=lfs\n"), ("big.bin", "version https://git-lfs\n")]);
    let fixture = HubFixture::of(directory, "").await;
    let (workspace, _) = fixture.workspace().await;
    let pointer = fs::read_to_string(workspace.tree().join("big.bin")).unwrap();
    assert_eq!(pointer, "version https://git-lfs\n");
    assert_works(&fixture, "").await;
}

#[tokio::test]
async fn submodules_and_partial_clones_are_refused() {
    let directory = repository(&[]);
    directory.git(&["clone", "-q", ".", "library"]);
    directory.git(&["submodule", "--quiet", "add", "./library", "sub"]);
    let fixture = HubFixture::of(directory, "").await;
    let fault = fixture.hub.update().await.unwrap_err();
    assert!(fault.message.contains("it has submodules"), "{}", fault.message);

    let directory = repository(&[]);
    directory.git(&["config", "uploadpack.allowFilter", "true"]);
    let source = format!("file://{}", directory.root().display());
    directory.git(&["clone", "-q", "--filter=blob:none", &source, "clone"]);
    let fixture = HubFixture::of(directory, "clone").await;
    let fault = fixture.hub.update().await.unwrap_err();
    assert!(fault.message.contains("partial clone"), "{}", fault.message);
}

#[tokio::test]
async fn a_directory_without_a_repository_is_refused() {
    let fixture = HubFixture::of(TestDirectory::default(), "").await;
    let fault = fixture.hub.update().await.unwrap_err();
    assert!(fault.message.contains("not in a git repository"), "{}", fault.message);
    assert!(files(&fixture.root()).is_empty());
}

#[tokio::test]
async fn a_bare_repository_is_refused_and_stays_as_it_is() {
    let fixture = HubFixture::new().await;
    for name in [".git", "a.txt"] {
        let path = fixture.path(name);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }
    fixture.git(&["init", "-q", "--bare", "."]);
    let (hub, options) = (fixture.hub.clone(), SiteOptions::default());
    let refused = WorkspaceSite::prepare(hub, 1, Start::New, options, &Settled::default()).await;
    let message = refused.unwrap_err().message;
    assert!(message.contains("it is a bare repository"), "{message}");
    assert!(!fixture.path(".git").exists() && !fixture.path(".git.autonoe").exists());
}

#[tokio::test]
async fn a_last_commit_without_its_files_is_named_as_the_problem() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("more.txt", "")]);
    let tree = fixture.git(&["rev-parse", "HEAD^{tree}"]);
    fs::remove_file(fixture.path(&format!(".git/objects/{}/{}", &tree[..2], &tree[2..]))).unwrap();
    let fault = fixture.hub.update().await.unwrap_err();
    assert!(
        fault.message.ends_with("an object of the last commit is missing or damaged."),
        "{}",
        fault.message
    );
    assert!(fault.hint.is_some_and(|hint| hint.contains("git fsck --full")));
}
