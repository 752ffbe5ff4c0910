//! Gives a fleet what it needs of this program: clones of the project, the command of a harness, and branches.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::money::Usd;
use autonoe_files::{DOCUMENT_LIMIT, UntrustedDir, Visibility, read_bytes_beneath, remove_tree};
use autonoe_fleet::{AtHome, FleetHost, FleetRow, HomeBranch, HomeComing, PrepareError, SubHarness};
use autonoe_harness::control::HarnessDirectory;
use autonoe_store::Project;
use autonoe_store::journal::history::History;
use autonoe_verify::last_commit;
use autonoe_workspace::{BroughtHome, CommitOnBranch, DISK_SPACE, Hub, HubLayout, ReservedSpace};
use tokio::runtime::Runtime;

use crate::environment::Environment;
use crate::open_hub::open_hub;

/// Name of a harness's roadmap among its control files.
const ROADMAP: &str = "ROADMAP.md";

/// What a person should know of a branch with the commits of several harnesses.
const NOT_CHECKED_TOGETHER: &str = "they are merged, and no check has seen them together";

/// Files of `.autonoe/` that hold for every harness, committed or not.
const SETTINGS: [&str; 2] = ["agent.json", "checks.json"];

pub struct FleetClones<'a> {
    pub project: &'a Project,
    pub environment: &'a Environment,
    pub hub: Hub,
    pub runtime: &'a Runtime,
    pub own_executable: PathBuf,
    /// Options of `autonoe harness run` for every harness.
    pub options: &'a [String],
}

impl FleetClones<'_> {
    /// Arguments of the command of a harness that works in `working_dir`.
    pub fn arguments(&self, harness: &SubHarness, working_dir: &Path) -> Vec<OsString> {
        arguments(harness, working_dir, self.project.root(), self.options)
    }

    /// What the other harnesses that have a clone and are not over will still write.
    fn reserved(&self, fleet: &FleetRow, own: &SubHarness, over: &[PathBuf]) -> ReservedSpace {
        let others = fleet.plan.harnesses.iter().filter(|harness| harness.id != own.id);
        let roots = others.map(|harness| {
            let clone = self.hub.clone_directory(&clone_name(fleet, &harness.id)).join("tree");
            clone.join(&harness.working_dir)
        });
        let clones = roots.filter_map(|root| Project::open(&root, &self.environment.state_home).ok());
        let at_work = clones.filter(|clone| !over.iter().any(|directory| directory == clone.root()));
        at_work.fold(ReservedSpace::default(), |ReservedSpace { harnesses, copies }, clone| {
            // Written as the last file of a workspace.
            let is_filled = workspaces_of(&clone).join("1/index").exists();
            ReservedSpace { harnesses: harnesses + 1, copies: copies + if is_filled { 1 } else { 2 } }
        })
    }

    /// Removes the workspaces of the agents of a harness that is over, with what they have built. Returns whether there were any.
    fn remove_workspaces(&self, working_dir: &Path) -> bool {
        let Ok(clone) = Project::open(working_dir, &self.environment.state_home) else { return false };
        let trees = fs::read_dir(workspaces_of(&clone)).into_iter().flatten().flatten();
        let removed = trees.filter(|workspace| remove_tree(&workspace.path().join("tree")).is_ok());
        removed.count() > 0
    }

    /// Removes the clones of earlier fleets and the workspaces of their agents. Their journals stay, with what they cost, and so does a clone
    /// whose commits cannot come home. Returns sentences about commits that have come home only now, or cannot.
    pub fn remove_earlier(&self, number: u32) -> Result<Vec<String>, Fault> {
        let of_earlier = |earlier: u32| ["-", "+"].map(|end| format!("fleet-{earlier}{end}"));
        let prefixes = (1..number).flat_map(of_earlier);
        let mut said = Vec::new();
        for name in prefixes.flat_map(|prefix| self.hub.clones(&prefix)) {
            if !self.hub.is_home(&name) {
                match self.runtime.block_on(self.bring(&name)) {
                    Ok(home) => {
                        let branches = home.passed.into_iter().map(|home| home.branch).chain(home.unfinished);
                        said.extend(branches.map(|branch| {
                            format!("Commits of an earlier fleet are on branch {branch} now.")
                        }));
                    }
                    Err(fault) => {
                        said.push(self.left_behind(&name, &fault));
                        continue;
                    }
                }
            }
            self.remove(&name)?;
        }
        Ok(said)
    }

    fn remove(&self, name: &str) -> Result<(), Fault> {
        for clone in self.projects_in(name) {
            // Ignored: what is left does no harm.
            let _ = remove_tree(&clone.state_dir().join("hub"));
        }
        self.hub.remove_clone(name)
    }

    /// What harnesses work on in a clone.
    fn projects_in(&self, name: &str) -> Vec<Project> {
        let clone = self.hub.clone_directory(name);
        // Projects are known by paths without links.
        let clone = clone.canonicalize().unwrap_or(clone);
        let known = Project::all_journals(&self.environment.state_home).into_iter();
        let roots = known.map(|(_, root)| PathBuf::from(root)).filter(|root| root.starts_with(&clone));
        roots.filter_map(|root| Project::open(&root, &self.environment.state_home).ok()).collect()
    }

    /// Brings home what has passed, and what has not.
    async fn bring(&self, name: &str) -> Result<AtHome, Fault> {
        let passed = self.hub.bring_home(name).await?.map(home);
        let mut unfinished = None;
        for clone in self.projects_in(name).iter().filter(|clone| may_have_unlanded(clone)) {
            for commit in open_hub(clone, self.environment).await?.leave_unlanded().await? {
                unfinished = self.hub.bring_unfinished_home(name, &commit).await?.map(|home| home.branch);
            }
        }
        Ok(AtHome { passed, unfinished })
    }

    /// Why the commits of a clone have not come home, where they are, and what to do.
    fn left_behind(&self, name: &str, fault: &Fault) -> String {
        let tree = self.hub.clone_directory(name).join("tree");
        let (tree, branch) = (tree.display(), self.hub.clone_branch(name).unwrap_or_default());
        format!(
            "{} The commits are still in {tree}. Once that is repaired, the next `autonoe fleet up` brings them home, or `git fetch {tree} {branch}` does.",
            fault.message
        )
    }

    fn make(
        &self,
        fleet: &FleetRow,
        harness: &SubHarness,
        builds_on: &[HomeBranch],
        reserved: ReservedSpace,
    ) -> Result<PathBuf, Fault> {
        let (name, branch) = (clone_name(fleet, &harness.id), branch_of(fleet, &harness.id));
        let root =
            self.runtime.block_on(self.hub.fleet_clone(&name, &branch, &commits(builds_on), reserved))?;
        let working_dir = root.join(&harness.working_dir);
        if !working_dir.is_dir() {
            let message =
                format!("The directory {} is not in your last commit.", harness.working_dir.display());
            return Err(Fault::permanent(FaultLayer::Config, "working_dir", message));
        }
        // Free of links, as the project is.
        let working_dir =
            working_dir.canonicalize().map_err(|error| unusable(&working_dir, &error.to_string()))?;
        self.copy_settings(&working_dir)?;
        let directory = HarnessDirectory::create(&working_dir, &harness.id)
            .map_err(|error| unusable(&working_dir, &error.to_string()))?;
        let roadmap = directory.path().join(ROADMAP);
        if roadmap.symlink_metadata().is_err() {
            let text = read_bytes_beneath(self.project.root(), &harness.roadmap, DOCUMENT_LIMIT)
                .map_err(|error| unusable(&harness.roadmap, &error.to_string()))?;
            write(directory.path(), ROADMAP, &text)?;
        }
        Ok(working_dir)
    }

    /// The project's settings as the user has them now, and what the user has approved of them.
    fn copy_settings(&self, working_dir: &Path) -> Result<(), Fault> {
        let instructions = fs::read_dir(self.project.autonoe_dir()).into_iter().flatten().flatten();
        let instructions = instructions
            .map(|entry| entry.file_name())
            .filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"));
        for name in SETTINGS.into_iter().map(OsString::from).chain(instructions) {
            let path = Path::new(".autonoe").join(&name);
            if let Ok(content) = read_bytes_beneath(self.project.root(), &path, DOCUMENT_LIMIT) {
                let directory = UntrustedDir::open(working_dir)
                    .and_then(|root| root.create_missing(Path::new(".autonoe"), Visibility::Everyone))
                    .and_then(|directory| directory.replace(&name, &content, Visibility::Everyone));
                directory.map_err(|error| unusable(&working_dir.join(path), &error.to_string()))?;
            }
        }
        let clone = Project::open(working_dir, &self.environment.state_home)?;
        if self.project.trust_file().is_file() {
            let copied = fs::create_dir_all(clone.state_dir())
                .and_then(|()| fs::copy(self.project.trust_file(), clone.trust_file()));
            copied.map_err(|error| unusable(&clone.trust_file(), &error.to_string()))?;
        }
        Ok(())
    }
}

impl FleetHost for FleetClones<'_> {
    fn prepare(
        &self,
        fleet: &FleetRow,
        harness: &SubHarness,
        builds_on: &[HomeBranch],
        over: &[PathBuf],
    ) -> Result<PathBuf, PrepareError> {
        let reserved = self.reserved(fleet, harness, over);
        let mut over = over.iter();
        loop {
            let fault = match self.make(fleet, harness, builds_on, reserved) {
                Ok(working_dir) => return Ok(working_dir),
                Err(fault) if fault.code == DISK_SPACE => fault,
                Err(fault) => return Err(PrepareError::Other(fault.message)),
            };
            let mut removed = over.by_ref().map(|working_dir| self.remove_workspaces(working_dir));
            if !removed.any(|has_removed| has_removed) {
                return Err(PrepareError::NoSpace(fault.message));
            }
        }
    }

    fn command(&self, harness: &SubHarness, working_dir: &Path, max_cost: Option<Usd>) -> Command {
        let mut command = Command::new(&self.own_executable);
        command.args(self.arguments(harness, working_dir)).current_dir(working_dir);
        command.args(max_cost.map(|cost| format!("--max-cost={}", cost.0)));
        command
    }

    fn spent(&self, working_dir: &Path) -> Option<Usd> {
        let clone = Project::open(working_dir, &self.environment.state_home).ok()?;
        let Some(history) = History::open(&clone.journal_file()).ok()? else { return Some(Usd::default()) };
        let sessions = history.session_costs().ok()?;
        sessions.iter().map(|session| session.usd.map(Usd)).sum()
    }

    fn bring_home(&self, fleet: &FleetRow, harness: &SubHarness) -> HomeComing {
        let name = clone_name(fleet, &harness.id);
        self.runtime.block_on(self.bring(&name)).map_err(|fault| self.left_behind(&name, &fault))
    }

    fn merge_all(&self, fleet: &FleetRow, branches: &[HomeBranch]) -> Result<HomeBranch, String> {
        if let [one] = branches {
            return Ok(one.clone());
        }
        let name = format!("fleet-{}+merged", fleet.number);
        let branch = format!("autonoe/{}-merged", fleet.plan.name);
        let merged = self.runtime.block_on(async {
            self.hub.fleet_clone(&name, &branch, &commits(branches), ReservedSpace::default()).await?;
            self.hub.bring_home(&name).await
        });
        let merged = merged.map_err(|fault| format!("The branches are not merged: {}", fault.message))?;
        let merged = merged.map(|merged| {
            let note = merged.note.into_iter().chain([NOT_CHECKED_TOGETHER.to_owned()]);
            HomeBranch {
                branch: merged.branch,
                commit: merged.commit,
                note: Some(note.collect::<Vec<_>>().join("; ")),
            }
        });
        merged.ok_or_else(|| "The branches are not merged: they have nothing to merge.".to_owned())
    }
}

/// Arguments of `autonoe harness run` for one harness.
pub fn arguments(
    harness: &SubHarness,
    working_dir: &Path,
    project: &Path,
    options: &[String],
) -> Vec<OsString> {
    let roadmap = working_dir.join(".harness").join(&harness.id).join(ROADMAP);
    let mut arguments: Vec<OsString> = vec!["harness".into(), "run".into(), roadmap.into()];
    arguments.extend(["--project-dir".into(), working_dir.into(), "--id".into(), harness.id.clone().into()]);
    arguments.extend(["--in-fleet".into(), project.into()]);
    if let Some((first, others)) = harness.cli.split_first() {
        arguments.extend(["--backend".into(), first.into()]);
        arguments.extend(others.iter().flat_map(|other| ["--fallback".into(), other.into()]));
    }
    if let Some(model) = &harness.model {
        arguments.extend(["--model".into(), model.into()]);
    }
    let is_loud = |option: &String| {
        ["--verbose", "-v", "--debug", "-d", "--json", "--quiet", "-q"].contains(&option.as_str())
    };
    if !options.iter().any(is_loud) {
        arguments.push("--quiet".into());
    }
    arguments.extend(options.iter().map(OsString::from));
    arguments
}

/// Whether a harness may have made commits that have not landed in its clone.
fn may_have_unlanded(clone: &Project) -> bool {
    let hub = HubLayout::in_state(clone.state_dir());
    let head = last_commit(clone.root());
    hub.has_commits_in_workspace() || hub.runs().any(|tip| Some(tip.commit) != head)
}

/// Where the agents of a harness work.
fn workspaces_of(clone: &Project) -> PathBuf {
    clone.state_dir().join("hub/workspaces")
}

fn clone_name(fleet: &FleetRow, id: &str) -> String {
    format!("fleet-{}-{id}", fleet.number)
}

fn branch_of(fleet: &FleetRow, id: &str) -> String {
    format!("autonoe/{}/{id}", fleet.plan.name)
}

fn home(brought: BroughtHome) -> HomeBranch {
    HomeBranch { branch: brought.branch, commit: brought.commit, note: brought.note }
}

fn commits(branches: &[HomeBranch]) -> Vec<CommitOnBranch<'_>> {
    branches.iter().map(|home| (home.commit.as_str(), home.branch.as_str())).collect()
}

fn write(directory: &Path, name: &str, content: &[u8]) -> Result<(), Fault> {
    let written = UntrustedDir::open(directory)
        .and_then(|directory| directory.replace(name.as_ref(), content, Visibility::OwnerOnly));
    written.map_err(|error| unusable(&directory.join(name), &error.to_string()))
}

fn unusable(path: &Path, why: &str) -> Fault {
    Fault::permanent(FaultLayer::System, "fleet_clone", format!("{} cannot be used: {why}.", path.display()))
}
