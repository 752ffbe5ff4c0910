//! A project with a repository in a temporary directory, and its hub.

use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_sandbox::{Bounds, RoomConfig, Sandbox, SandboxLayer};
use autonoe_test_kit::{PATH, TestDirectory, example};
use autonoe_workspace::{
    Hub, HubLayout, Landing, LandingConsent, LandingTarget, ProjectRevision, UsersMachine, Workspace,
};

pub struct HubFixture {
    directory: TestDirectory,
    pub hub: Hub,
}

impl Deref for HubFixture {
    type Target = TestDirectory;

    fn deref(&self) -> &TestDirectory {
        &self.directory
    }
}

impl HubFixture {
    /// A repository with one commit.
    pub async fn new() -> Self {
        Self::of(Self::repository(), "").await
    }

    fn repository() -> TestDirectory {
        let directory = TestDirectory::default();
        directory.git(&["init", "-q", "-b", "main", "."]);
        directory.commit(&[("a.txt", "one\n"), ("dir/b.txt", "two\n"), (".gitignore", "/build/\n")]);
        directory
    }

    /// The project is `part` of the directory's project.
    pub async fn of(directory: TestDirectory, part: &str) -> Self {
        let scratch = directory.home();
        let sandbox = Sandbox::find(&example("workspace_supervisor"), OsStr::new(PATH), &scratch).await;
        Self::in_sandbox(directory, part, sandbox.unwrap())
    }

    /// A repository with one commit. Its git runs in rooms of this layer.
    pub fn with_layer(layer: SandboxLayer) -> Self {
        let sandbox = Sandbox::with_layer(&example("workspace_supervisor"), layer, OsStr::new(PATH)).unwrap();
        Self::in_sandbox(Self::repository(), "", sandbox)
    }

    fn in_sandbox(directory: TestDirectory, part: &str, sandbox: Sandbox) -> Self {
        let state = directory.home().join("state");
        fs::create_dir(&state).unwrap();
        let room_config = RoomConfig {
            sandbox,
            bounds: Bounds::new(&state, &state, &state),
            egress: Arc::default(),
            env: vec![("PATH".to_owned(), PATH.to_owned())],
            guarded: Arc::default(),
            sessions: Default::default(),
        };
        let root = directory.path(part).canonicalize().unwrap();
        let layout = HubLayout::in_state(&state.canonicalize().unwrap());
        let hub = Hub::new(root, layout, room_config, UsersMachine::default());
        Self { directory, hub }
    }

    pub async fn workspace(&self) -> (Workspace, ProjectRevision) {
        let revision = self.hub.update().await.unwrap();
        let (workspace, _) = self.hub.workspace("1", "autonoe/1", &revision).await.unwrap();
        (workspace, revision)
    }

    /// Commits files in a workspace, as an agent would.
    pub fn work(&self, workspace: &Workspace, files: &[(&str, &str)]) -> String {
        for (name, content) in files {
            write(&workspace.tree().join(name), content);
        }
        self.git_in(&workspace.tree(), &["add", "--all"]);
        self.git_in(&workspace.tree(), &["commit", "-q", "-m", "work"]);
        self.git_in(&workspace.tree(), &["rev-parse", "HEAD"])
    }

    /// Fetches what a workspace has and lands it.
    pub async fn land(&self, workspace: &Workspace, from: &ProjectRevision) -> Landing {
        self.land_on(workspace, from, &LandingTarget::CheckedOut).await
    }

    pub async fn land_on(
        &self,
        workspace: &Workspace,
        from: &ProjectRevision,
        target: &LandingTarget,
    ) -> Landing {
        let fetched = self.hub.fetch(workspace).await.unwrap();
        let consent = LandingConsent::default();
        self.hub.land(workspace, &fetched, from, target, consent).await.unwrap()
    }

    pub fn hub_git(&self, args: &[&str]) -> String {
        let git = self.home().join("state/hub/hub.git");
        let git = format!("--git-dir={}", git.display());
        self.git_in(&self.home(), &[&[git.as_str()], args].concat())
    }
}

pub fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The files below a directory, without `.git`.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut queue = vec![directory.to_owned()];
    while let Some(next) = queue.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true if entry.file_name() == ".git" => {}
                true => queue.push(entry.path()),
                false => found.push(entry.path().strip_prefix(directory).unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}
