//! Edits of the run itself come to the user's branch, wherever the process was killed that made them.

use std::path::Path;
use std::sync::Arc;

use autonoe_core::own_edits::OwnEdits;
use autonoe_workspace::{
    LandWhen, OwnEditedFile, Settled, SiteEvent, SiteOptions, Start, Workspace, WorkspaceSite,
};

use crate::fixture::{HubFixture, write};

const FILE: &str = "PLAN.md";
const OPEN: &str = "- [ ] one\n";
const DONE: &str = "- [x] one\n";

/// The run has checked the only box.
struct Plan;

impl OwnEdits for Plan {
    fn name(&self) -> &Path {
        Path::new(FILE)
    }

    fn describe(&self, committed: &str, now: &str) -> Option<String> {
        (committed.replace("[x]", "[ ]") == now.replace("[x]", "[ ]")).then(|| "Mark one".to_owned())
    }
}

async fn start(fixture: &HubFixture, run: i64, start: Start) -> WorkspaceSite {
    let own_edits = Some(OwnEditedFile(Arc::new(Plan)));
    let options = SiteOptions { when: LandWhen::Passed, own_edits, ..SiteOptions::default() };
    WorkspaceSite::prepare(fixture.hub.clone(), run, start, options, &settled()).await.unwrap()
}

fn settled() -> Settled {
    Settled { passed: ["one".to_owned()].into(), ..Settled::default() }
}

async fn project() -> HubFixture {
    let fixture = HubFixture::new().await;
    fixture.commit(&[(FILE, OPEN)]);
    fixture
}

/// A commit as the run makes it, without what follows.
fn commit_boxes(fixture: &HubFixture, workspace: &Workspace) -> String {
    fixture.work(workspace, &[(FILE, DONE)])
}

fn assert_all_landed(fixture: &HubFixture, commit: &str) {
    assert_eq!(fixture.git(&["rev-parse", "main"]), commit);
    assert_eq!(fixture.git(&["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_commit_of_a_process_that_was_killed_before_it_was_on_record_lands() {
    let fixture = project().await;
    let site = start(&fixture, 1, Start::New).await;
    fixture.write(FILE, DONE);
    let commit = commit_boxes(&fixture, &site.workspace);
    drop(site);
    let mut site = start(&fixture, 1, Start::Resumed).await;
    assert_eq!(site.run_ended(&settled()).await.unwrap(), []);
    assert_all_landed(&fixture, &commit);
}

#[tokio::test]
async fn a_commit_of_a_process_that_was_killed_before_its_file_was_written_lands() {
    let fixture = project().await;
    let site = start(&fixture, 1, Start::New).await;
    fixture.write(FILE, DONE);
    let commit = commit_boxes(&fixture, &site.workspace);
    let tree = site.workspace.tree();
    fixture.git_in(&tree, &["reset", "-q", "HEAD^", "--", FILE]);
    write(&tree.join(FILE), OPEN);
    write(&tree.with_file_name("committing"), "");
    drop(site);
    let mut site = start(&fixture, 1, Start::Resumed).await;
    assert_eq!(site.run_ended(&settled()).await.unwrap(), []);
    assert_all_landed(&fixture, &commit);
}

/// Nobody but the run and the user may edit the file.
#[tokio::test]
async fn an_edit_of_an_agent_is_not_the_runs_own() {
    let fixture = project().await;
    for (file, content) in [(FILE, "- [ ] two\n"), ("other.txt", "x\n")] {
        let mut site = start(&fixture, 1, Start::New).await;
        fixture.work(&site.workspace, &[(FILE, DONE), (file, content)]);
        let events = site.run_ended(&settled()).await.unwrap();
        assert!(matches!(&events[..], [SiteEvent::Apart { .. }]), "{events:?}");
        assert_eq!(fixture.git(&["log", "--format=%s", "main"]).lines().count(), 2);
    }
}

#[tokio::test]
async fn commits_that_wait_are_on_one_branch_however_many_runs_find_them() {
    let fixture = project().await;
    let branches = || fixture.git(&["branch", "--format=%(refname:short)"]);
    let mut site = start(&fixture, 1, Start::New).await;
    let commit = fixture.work(&site.workspace, &[("new.txt", "x\n")]);
    site.run_ended(&settled()).await.unwrap();
    for run in [2, 3] {
        let events = start(&fixture, run, Start::New).await.run_ended(&settled()).await.unwrap();
        assert!(
            matches!(&events[..], [SiteEvent::Apart { branch, .. }] if branch == "autonoe/1"),
            "{events:?}"
        );
        assert_eq!(branches(), "autonoe/1\nmain");
    }
    // What the user has made of a branch stays; nothing else waits any more.
    fixture.git(&["merge", "-q", "autonoe/1"]);
    fixture.git(&["branch", "-q", "autonoe/mine"]);
    start(&fixture, 4, Start::New).await.run_ended(&settled()).await.unwrap();
    assert_eq!(branches(), "autonoe/mine\nmain");
    fixture.git(&["branch", "-q", "-D", "autonoe/mine"]);
    assert_all_landed(&fixture, &commit);
}
