//! Where the agents of a run work: in the user's checkout, or in a workspace of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_sandbox::{Repository, RoomConfig};
use autonoe_store::{CheckRegistry, Project};
use autonoe_verify::{HubObjects, protected_among};
use autonoe_workspace::{Hub, HubLayout, ListProtected, SiteOptions, UsersMachine};

use crate::environment::Environment;

/// Where the agents of a run work.
#[derive(Debug, Clone)]
pub struct WorkPlace {
    /// What agents may write: the project, or the whole working tree of their workspace.
    pub tree: PathBuf,
    /// The project within `tree`.
    pub root: PathBuf,
    /// Where the user has `tree`.
    pub users_tree: PathBuf,
    /// `None` in the user's checkout.
    pub hub: Option<HubLayout>,
    /// The home directory of rooms.
    pub home: PathBuf,
    /// Where rooms have temporary files, if not in memory.
    pub temporary: PathBuf,
    /// Where tool outputs that are too long for the model are saved.
    pub outputs: PathBuf,
}

impl WorkPlace {
    pub fn in_place(project: &Project) -> Self {
        let root = project.root().to_owned();
        let (home, temporary) = (project.state_dir().join("home"), project.temporary_dir());
        let outputs = project.state_dir().join("outputs");
        Self { tree: root.clone(), users_tree: root.clone(), root, hub: None, home, temporary, outputs }
    }

    /// The workspace of one of several workers. They share nothing that they can write.
    pub fn of_worker(project: &Project, name: &str) -> Self {
        let options = SiteOptions { slot: Some(name.to_owned()), ..SiteOptions::default() };
        let own = project.state_dir().join("workers").join(name);
        let [home, temporary, outputs] = ["home", "tmp", "outputs"].map(|name| own.join(name));
        Self { home, temporary, outputs, ..Self::workspace(project, &options) }
    }

    pub fn workspace(project: &Project, options: &SiteOptions) -> Self {
        let hub = HubLayout::in_state(project.state_dir());
        let tree = hub.tree(options.workspace());
        let repository = Repository::around(project.root());
        let users_tree = repository.top(project.root()).to_owned();
        let part = project.root().strip_prefix(&users_tree).unwrap_or(Path::new(""));
        Self {
            root: if part == Path::new("") { tree.clone() } else { tree.join(part) },
            tree,
            users_tree,
            hub: Some(hub),
            home: project.state_dir().join("home"),
            temporary: project.temporary_dir(),
            outputs: project.state_dir().join("outputs"),
        }
    }

    /// Where agents have a file of the user's project. `.autonoe/` is the user's own also in a workspace.
    pub fn agents_path(&self, project: &Project, path: PathBuf) -> PathBuf {
        match path.strip_prefix(project.root()) {
            Ok(inside) if !path.starts_with(project.autonoe_dir()) => self.root.join(inside),
            _ => path,
        }
    }

    /// Where this place has a file of another one.
    pub fn moved(&self, from: &Self, path: &Path) -> PathBuf {
        path.strip_prefix(&from.root).map_or_else(|_| path.to_owned(), |inside| self.root.join(inside))
    }

    /// Object directories that the workspace borrows from.
    pub fn borrowed(&self) -> impl Iterator<Item = PathBuf> {
        self.hub.iter().flat_map(HubLayout::readable)
    }

    /// Where checks find the commits of agents.
    pub fn hub_objects(&self) -> Option<HubObjects> {
        let hub = self.hub.as_ref()?;
        Some(HubObjects { git_dir: hub.git_dir(), base: hub.base_objects() })
    }

    /// `room_config` is that of rooms for checks; `identity` has the name and email for commits.
    pub fn open_hub(
        &self,
        project: &Project,
        room_config: &RoomConfig,
        identity: [&str; 2],
        environment: &Environment,
    ) -> Option<Hub> {
        let layout = self.hub.clone()?;
        let mut room_config = room_config.clone();
        let names = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"].map(str::to_owned);
        room_config.env.extend(names.into_iter().zip(identity.map(str::to_owned)));
        let owned = project.clone();
        let list_protected = move |paths: &[PathBuf]| {
            let registry = CheckRegistry::load(&owned)?.of_user();
            let mut protected = protected_among(&registry, owned.root(), paths)?;
            // Checks do not see a new file until the user accepts it, wherever it is.
            let accepted = registry.paths_at(owned.root());
            protected.retain(|path| accepted.contains(path) || path.symlink_metadata().is_ok());
            Ok(protected)
        };
        let path = environment.for_children.iter().filter(|(name, _)| name == "PATH");
        let users = UsersMachine {
            variables: environment.all_variables(),
            home: environment.home.as_deref().and_then(|home| home.canonicalize().ok()),
            git_settings: environment.git_settings(),
            commands: environment.command_variables(),
            search_path: path.flat_map(|(_, path)| path.split(':')).map(PathBuf::from).collect(),
            list_protected: Some(ListProtected(Arc::new(list_protected))),
        };
        Some(Hub::new(project.root().to_owned(), layout, room_config, users))
    }
}
