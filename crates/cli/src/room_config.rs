//! Configures the rooms in which an agent's commands run: the machine's sandbox, file bounds, egress rules and environment.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::mode::Mode;
use autonoe_core::redact::SecretValues;
use autonoe_files::{
    PlaceError, SETTINGS_LIMIT, UntrustedDir, Visibility, credentials_within, read_text, real_place,
};
use autonoe_policy::{PermissionSet, PolicyLevel, PolicyOptions, Profile, read_only_names, registries};
use autonoe_sandbox::{
    Bounds, EgressRules, HostPattern, Repository, RepositoryProblem, RoomConfig, RoomLimits,
    RunningSandboxes, Sandbox, SandboxLayer, UpstreamProxy,
};
use autonoe_store::config::AgentConfig;
use autonoe_store::{Project, UserConfig};
use autonoe_verify::CheckoutFactory;
use autonoe_workspace::hook_places;
use tokio::process::Command;

use crate::check_room::show_only_what_is_fixed;
use crate::environment::Environment;
use crate::work_place::WorkPlace;
use crate::write_fault::cannot_write;

const HOW_TO_ALLOW: &str =
    "To allow it, add it to `allow` under [network] in your config.toml (docs/configuration.md).";
const HOW_TO_ALLOW_IN_SYNC: &str = "Commands of `sync` have no network.";

/// Removed in a sandbox, where these caches are in the room's private home.
const CACHES: [&str; 3] = ["CARGO_HOME", "GOPATH", "GOCACHE"];

/// Older checkouts were left behind by a killed process.
const LEFTOVER_AGE: Duration = Duration::from_secs(24 * 60 * 60);

const IDENTITY_LIMIT: Duration = Duration::from_secs(10);

/// Name and email for commits if the user has not configured any.
const DEFAULT_IDENTITY: (&str, &str) = ("Autonoe", "autonoe@localhost");

/// The setting that disables the sandbox, in the order of seed 002 §5.5: flag, variable, config.toml.
pub fn disabled_by(flag: bool, environment: &Environment, user: &UserConfig) -> Option<&'static str> {
    if flag {
        Some("--no-sandbox")
    } else if environment.no_sandbox {
        Some("AUTONOE_NO_SANDBOX")
    } else if !user.sandbox.enabled {
        Some("your config.toml")
    } else {
        None
    }
}

/// Properties of the machine that other programs have to be run for.
pub struct DetectedHost {
    pub sandbox: Result<Sandbox, Fault>,
    pub identity: GitIdentity,
}

/// Finds the sandbox, unless it is disabled, and the user's git identity concurrently.
pub fn detect_host(
    project: &Project,
    environment: &Environment,
    without_sandbox: bool,
) -> Result<impl Future<Output = DetectedHost> + Send + use<>, Fault> {
    let (own_executable, path) = (environment.own_executable()?, environment.path.clone());
    let (home, scratch) = (environment.home.clone(), project.state_dir().to_owned());
    let settings = Repository::around(project.root()).directories.into_iter().map(|git| git.join("config"));
    let settings: Vec<PathBuf> = settings.collect();
    Ok(async move {
        let sandbox = async {
            match without_sandbox {
                true => Ok(Sandbox::none(&own_executable)),
                false => find_sandbox(&own_executable, &path, &scratch).await,
            }
        };
        let (sandbox, identity) = tokio::join!(sandbox, GitIdentity::find(&path, home.as_deref(), &settings));
        DetectedHost { sandbox, identity }
    })
}

/// Tries the available sandboxes in `scratch`, which is left unchanged.
pub async fn find_sandbox(own_executable: &Path, path: &OsStr, scratch: &Path) -> Result<Sandbox, Fault> {
    fs::create_dir_all(scratch)
        .map_err(|error| cannot_write(FaultLayer::System, "sandbox", scratch, &error))?;
    let found = Sandbox::find(own_executable, path, scratch).await;
    found.map_err(|error| {
        let why = error.reasons.join("; ");
        Fault::permanent(FaultLayer::Config, "no_sandbox", format!("No sandbox can be built on this machine ({why})."))
            .hint(
                "Install bubblewrap and allow user namespaces, or use Linux 6.7 or newer with Landlock; or run without a \
                 sandbox, at your own risk, with --no-sandbox or AUTONOE_NO_SANDBOX=1.",
            )
    })
}

/// What the layer does not enforce, as a sentence for the user; `None` if it enforces everything.
pub fn limitations(layer: SandboxLayer) -> Option<String> {
    let gaps = layer.gaps();
    let why = match layer {
        SandboxLayer::Landlock => {
            "bubblewrap is not usable here, so the sandbox uses Landlock, which protects partially"
        }
        SandboxLayer::Bubblewrap | SandboxLayer::Seatbelt | SandboxLayer::None => {
            "the sandbox protects partially"
        }
    };
    (!gaps.is_empty()).then(|| format!("{why}: {}.", gaps.join("; ")))
}

pub fn build(
    project: &Project,
    environment: &Environment,
    user: &UserConfig,
    policy: &PolicyOptions,
    sandbox: Sandbox,
    identity: &GitIdentity,
    place: &WorkPlace,
) -> Result<RoomConfig, Fault> {
    check_repository(project)?;
    let bounds = match place.hub {
        Some(_) => {
            let mut bounds = bounds_of_workspace(project, environment, user, policy, place);
            let is_moved = sandbox.layer().can_move()
                && bounds.leave_room_for(&place.users_tree, &project.autonoe_dir());
            bounds.shown_at = is_moved.then(|| place.users_tree.clone());
            bounds
        }
        None => bounds(project, environment, user, policy),
    };
    let mut env = environment.for_children.clone();
    env.extend(environment.toolchain().env);
    env.extend(git_settings(&bounds.shown(&place.root), sandbox.layer(), policy.level));
    if sandbox.layer() != SandboxLayer::None {
        identity.write(&bounds.home);
        env.retain(|(name, _)| !CACHES.contains(&name.as_str()));
        // A new repository gets no hooks: they are read-only in the next session.
        env.push(("GIT_TEMPLATE_DIR".to_owned(), String::new()));
        // Compiled files beside the sources would be committed with them.
        let compiled = bounds.home.join(".cache/pycache").display().to_string();
        env.push(("PYTHONPYCACHEPREFIX".to_owned(), compiled));
    }
    let egress = Arc::new(egress(environment, user, policy)?);
    let (guarded, sessions) = (Arc::clone(&policy.guarded), RunningSandboxes::default());
    Ok(RoomConfig { sandbox, bounds, egress, env, guarded, sessions })
}

/// Fails if git, and so every agent, would not work in the project or would wait forever, and names the file that is the reason.
pub fn check_repository(project: &Project) -> Result<(), Fault> {
    RepositoryProblem::find(project.root()).map_or(Ok(()), |problem| Err(unusable_git(problem)))
}

/// Like [`check_repository`], and looks at more files.
pub fn search_repository(project: &Project) -> Result<(), Fault> {
    RepositoryProblem::search(project.root()).map_or(Ok(()), |problem| Err(unusable_git(problem)))
}

fn unusable_git(RepositoryProblem { path, why, advice }: RepositoryProblem) -> Fault {
    let message = format!("git cannot use {}: {why}.", path.display());
    Fault::permanent(FaultLayer::Config, "git_config", message).hint(advice)
}

/// Git settings for agents' commands, passed in the environment so that they override those of the repository.
fn git_settings(root: &Path, layer: SandboxLayer, level: PolicyLevel) -> Vec<(String, String)> {
    // Where programs are judged by name, a bare repository among the project's files must not be used: its settings could name others that
    // git would run.
    let bare = if level == PolicyLevel::Strict { "explicit" } else { "all" };
    let mut settings = vec![("safe.bareRepository", bare.to_owned())];
    if layer != SandboxLayer::None {
        // Inside the sandbox it does not matter who owns the project: the user has chosen it.
        let top = Repository::around(root).top(root).display().to_string();
        settings.extend([("safe.directory", top.clone()), ("safe.directory", format!("{top}/*"))]);
        // The user's keys are not in the room.
        settings.extend(["commit.gpgSign", "tag.gpgSign"].map(|name| (name, "false".to_owned())));
    }
    let count = ("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
    let pairs = settings.into_iter().enumerate().flat_map(|(number, (name, value))| {
        [(format!("GIT_CONFIG_KEY_{number}"), name.to_owned()), (format!("GIT_CONFIG_VALUE_{number}"), value)]
    });
    [count].into_iter().chain(pairs).collect()
}

/// A room like those of agents' commands, but with home and temporary files in `scratch`, so that a preflight leaves nothing behind.
pub fn for_preflight(
    project: &Project,
    environment: &Environment,
    user: &UserConfig,
    sandbox: Sandbox,
    scratch: &Path,
) -> Result<RoomConfig, Fault> {
    let policy = PolicyOptions::new(Mode::Run, project.root());
    let mut bounds = bounds(project, environment, user, &policy);
    (bounds.home, bounds.temp) = (scratch.to_owned(), scratch.to_owned());
    bounds.records = None;
    let mut env = environment.for_children.clone();
    use_own_search_path(&mut env, environment);
    env.extend(git_settings(project.root(), sandbox.layer(), policy.level));
    let egress = Arc::new(EgressRules::default());
    let (guarded, sessions) = (Arc::default(), RunningSandboxes::default());
    Ok(RoomConfig { sandbox, bounds, egress, env, guarded, sessions })
}

/// Rooms for checks: on clean checkouts in the state directory's `scratch`, with the toolchain readable and without the project itself.
pub fn checkout_factory(
    project: &Project,
    environment: &Environment,
    user: &UserConfig,
    room_config: &RoomConfig,
    scratch: &str,
    place: &WorkPlace,
) -> CheckoutFactory {
    let mut check_room = room_config.clone();
    use_own_search_path(&mut check_room.env, environment);
    show_only_what_is_fixed(&mut check_room, environment, user, &written(project, environment, user));
    // Checks have a home of their own with settings for git.
    check_room.env.retain(|(name, _)| !name.starts_with("GIT_CONFIG_"));
    check_room.bounds.shown_at = None;
    check_room.guarded = Arc::default();
    CheckoutFactory {
        root: place.root.clone(),
        scratch: project.short_dir(scratch),
        history: project.state_dir().join("history"),
        room_config: check_room,
        hub: place.hub_objects(),
        repository: Repository::around(project.root()).directories.into_iter().next(),
        network: user.checks.network.then(|| Arc::clone(&room_config.egress)),
        secrets: SecretValues::from(environment.secrets()),
    }
}

/// Passes what the user names to commands. Nothing of ours is replaced.
pub fn pass_variables(room_config: &mut RoomConfig, passed: Vec<(String, String)>) {
    for (name, value) in passed {
        if room_config.env.iter().all(|(own, _)| *own != name) {
            room_config.env.push((name, value));
        }
    }
}

/// For rooms in which we start programs ourselves: without directories of the project, where agents could have written them, and without
/// relative entries, which would lead into a checkout.
fn use_own_search_path(env: &mut [(String, String)], environment: &Environment) {
    let own = environment.path.to_string_lossy();
    let absolute: Vec<&str> = own.split(':').filter(|entry| entry.starts_with('/')).collect();
    for (_, path) in env.iter_mut().filter(|(name, _)| name == "PATH") {
        *path = absolute.join(":");
    }
}

/// Rooms for checks and git outside of a run.
pub async fn checkouts_outside_runs(
    project: &Project,
    environment: &Environment,
    no_sandbox: bool,
    variables: &[String],
) -> Result<CheckoutFactory, Fault> {
    let user = environment.user_config()?;
    let passed = environment.passed_variables(variables, &user)?;
    let without_sandbox = disabled_by(no_sandbox, environment, &user).is_some();
    let DetectedHost { sandbox, identity } = detect_host(project, environment, without_sandbox)?.await;
    let in_force = AgentConfig::load(project)?.effective(Mode::Run);
    let policy =
        PolicyOptions { profiles: in_force.profiles, ..PolicyOptions::new(Mode::Run, project.root()) };
    let place = WorkPlace::in_place(project);
    let mut room_config = build(project, environment, &user, &policy, sandbox?, &identity, &place)?;
    let values: Vec<String> = passed.iter().map(|(_, value)| value.clone()).collect();
    pass_variables(&mut room_config, passed);
    let checkouts = checkout_factory(project, environment, &user, &room_config, "looks", &place);
    values.iter().for_each(|value| checkouts.secrets.add(value));
    checkouts.remove_leftovers(LEFTOVER_AGE);
    Ok(checkouts)
}

/// Readable paths outside the project: the toolchain and those in the user's config.toml.
pub fn readable(environment: &Environment, user: &UserConfig) -> Vec<PathBuf> {
    [environment.toolchain().read.as_slice(), &user.sandbox.read, &user.sandbox.write].concat()
}

/// What agents may write, now or in a run of another kind: the project with the working tree around it, and `write` of the user's
/// config.toml.
pub fn written(project: &Project, environment: &Environment, user: &UserConfig) -> Vec<PathBuf> {
    let root = project.root();
    let repository = Repository::around(root);
    let home = environment.home.as_deref().and_then(|home| home.canonicalize().ok());
    let top = Some(repository.top(root)).filter(|top| home.is_none_or(|home| !home.starts_with(top)));
    let project = [root].into_iter().chain(top).map(Path::to_owned);
    project.chain(user.sandbox.write.iter().cloned()).collect()
}

/// One sentence for each place of the user that agents may have replaced by a link to other files.
pub fn redirected(places: &[PathBuf], written: &[PathBuf]) -> Vec<String> {
    let mut sentences = Vec::new();
    for place in places {
        if let Err(why @ PlaceError::Redirected { .. }) = real_place(place, written) {
            let sentence = format!("{} {why}; it is left out of the sandbox.", place.display());
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
    }
    sentences
}

/// The places of `write` in the user's config.toml that exist and that agents did not redirect.
fn writable(user: &UserConfig, written: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    user.sandbox.write.iter().filter(|place| real_place(place, written).is_ok()).cloned()
}

/// The room's private directory for temporary files; `None` without a sandbox.
pub fn temporary(layer: SandboxLayer, place: &WorkPlace) -> Option<PathBuf> {
    match layer {
        SandboxLayer::Bubblewrap => Some(PathBuf::from("/tmp")),
        SandboxLayer::Landlock | SandboxLayer::Seatbelt => Some(place.temporary.clone()),
        SandboxLayer::None => None,
    }
}

/// A room like that of agents who work in the user's checkout.
pub fn of_checkout(
    project: &Project,
    environment: &Environment,
    user: &UserConfig,
    room_config: &RoomConfig,
) -> RoomConfig {
    let policy = PolicyOptions::new(Mode::Run, project.root());
    let mut env = environment.for_children.clone();
    use_own_search_path(&mut env, environment);
    env.extend(git_settings(project.root(), room_config.sandbox.layer(), policy.level));
    RoomConfig { bounds: bounds(project, environment, user, &policy), env, ..room_config.clone() }
}

fn bounds(project: &Project, environment: &Environment, user: &UserConfig, policy: &PolicyOptions) -> Bounds {
    let root = project.root();
    let mut bounds = Bounds::new(root, project.state_dir().join("home"), project.temporary_dir());
    bounds.records = Some(project.rooms_dir());
    bounds.is_users_checkout = true;
    // A repository that contains the user's home would expose all of it, so it is treated as absent.
    let home = environment.home.as_deref().and_then(|home| home.canonicalize().ok());
    let around_home = |above: &PathBuf| home.as_ref().is_some_and(|home| home.starts_with(above));
    let found = Repository::around(root);
    let repository =
        if found.above.as_ref().is_some_and(around_home) { Repository::default() } else { found };
    bounds.hooks =
        hook_places(&repository, repository.top(root), home.as_deref(), &environment.git_settings());
    let is_written = |place: &PathBuf| {
        [root]
            .into_iter()
            .chain(repository.directories.iter().map(PathBuf::as_path))
            .any(|written| place.starts_with(written))
    };
    bounds.hooks.retain(is_written);
    let read_only = read_only_names().map(|name| root.join(name)).chain(bounds.hooks.clone());
    bounds.protected = read_only.chain(policy.hook_files.iter().map(|file| file.path.clone())).collect();
    bounds.read =
        repository.above.iter().cloned().chain(PermissionSet::new(policy).readable_paths()).collect();
    let outside = repository.directories.into_iter().filter(|directory| !directory.starts_with(root));
    let written = written(project, environment, user);
    bounds.write = writable(user, &written).chain(outside).collect();
    bounds.hidden = vec![environment.state_home.clone()];
    let home = home_in_project(project, environment);
    bounds.hidden.extend(home.iter().flat_map(|home| credentials_within(home)));
    bounds.limits = limits(user);
    bounds.tracing = true;
    bounds
}

/// A workspace is the agents' own, and nothing of the user's project is in its room.
fn bounds_of_workspace(
    project: &Project,
    environment: &Environment,
    user: &UserConfig,
    policy: &PolicyOptions,
    place: &WorkPlace,
) -> Bounds {
    let mut bounds = Bounds::new(&place.tree, &place.home, &place.temporary);
    bounds.records = Some(project.rooms_dir());
    bounds.protected = policy.hook_files.iter().map(|file| file.path.clone()).collect();
    let is_outside = |path: &PathBuf| !path.starts_with(project.root());
    bounds.read = PermissionSet::new(policy).readable_paths().into_iter().filter(is_outside).collect();
    // What the project's agents, hooks and skills consist of.
    bounds.read.push(project.autonoe_dir());
    bounds.read.extend(place.borrowed());
    bounds.write = writable(user, &written(project, environment, user)).collect();
    bounds.hidden = vec![environment.state_home.clone()];
    bounds.limits = limits(user);
    bounds.tracing = true;
    bounds
}

fn limits(user: &UserConfig) -> RoomLimits {
    let defaults = RoomLimits::default();
    RoomLimits {
        processes: user.sandbox.max_processes.map_or(defaults.processes, |number| number.get().into()),
        memory: user.sandbox.max_memory.map_or(defaults.memory, |size| size.bytes()),
        file_size: user.sandbox.max_file_size.map_or(defaults.file_size, |size| size.bytes()),
        ..defaults
    }
}

/// The user's home if it is inside the project, where agents can read and write it.
pub fn home_in_project(project: &Project, environment: &Environment) -> Option<PathBuf> {
    let home = environment.home.as_deref()?.canonicalize().ok()?;
    home.starts_with(project.root()).then_some(home)
}

/// `run` may reach the registries of the profiles and the hosts that the user allows; `sync` has no network.
fn egress(
    environment: &Environment,
    user: &UserConfig,
    policy: &PolicyOptions,
) -> Result<EgressRules, Fault> {
    let wrong = |what: String| Fault::permanent(FaultLayer::Config, "user_config", what);
    let pattern = |text: &str| {
        text.parse::<HostPattern>().map_err(|error| wrong(format!("'{text}' is not a host: {error}.")))
    };
    let mut allow = Vec::new();
    if policy.mode == Mode::Run {
        for domain in Profile::active(&policy.profiles).into_iter().flat_map(registries) {
            allow.extend([pattern(domain)?, pattern(&format!("*.{domain}"))?]);
        }
        let permissions = PermissionSet::new(policy);
        for host in user.network.allow.iter().chain(&permissions.web_hosts()) {
            allow.push(pattern(host)?);
        }
        allow.extend(permissions.allows_any_host().then(HostPattern::any_public));
    }
    let upstream =
        environment.upstream.as_ref().map(|(url, except)| UpstreamProxy::new(url, except)).transpose();
    let how_to_allow = if policy.mode == Mode::Run { HOW_TO_ALLOW } else { HOW_TO_ALLOW_IN_SYNC };
    Ok(EgressRules {
        allow,
        routes: Vec::new(),
        sockets: Vec::new(),
        upstream: upstream.map_err(|error| wrong(format!("HTTPS_PROXY: {error}.")))?,
        how_to_allow: how_to_allow.to_owned(),
    })
}

/// The user's name and email: those of the repository, or else those of git's global configuration.
pub struct GitIdentity {
    name: String,
    email: String,
    timed_out: bool,
}

impl Default for GitIdentity {
    fn default() -> Self {
        let (name, email) = DEFAULT_IDENTITY;
        Self { name: name.to_owned(), email: email.to_owned(), timed_out: false }
    }
}

/// The name or email in the section `[user]` of a repository's own settings, which are only read: an agent may have written them.
fn own_setting(file: &Path, key: &str) -> Option<String> {
    let text = read_text(file, SETTINGS_LIMIT).ok().flatten()?;
    let mut is_in_section = false;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_in_section = line.eq_ignore_ascii_case("[user]");
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_in_section)
            && name.trim().eq_ignore_ascii_case(key)
        {
            let value = value.trim().trim_matches('"');
            found = (!value.is_empty() && !value.contains(['"', '\\', '#', ';'])).then(|| value.to_owned());
        }
    }
    found
}

impl GitIdentity {
    async fn find(path: &OsStr, home: Option<&Path>, repository: &[PathBuf]) -> Self {
        let mut git = Command::new("git");
        git.args(["config", "--global", "--null", "--get-regexp", r"^user\.(name|email)$"])
            .env_clear()
            .env("PATH", path)
            .envs(home.map(|home| ("HOME", home)))
            .current_dir("/");
        let output = git.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).output();
        let Ok(output) = tokio::time::timeout(IDENTITY_LIMIT, output).await else {
            return Self { timed_out: true, ..Self::default() };
        };
        let settings =
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let setting = |key: &str| {
            // The last value wins.
            let value =
                settings.rsplit('\0').find_map(|entry| entry.strip_prefix(key)?.strip_prefix('\n'))?.trim();
            // A value that ends its line could start another setting.
            (!value.is_empty() && !value.contains(['\n', '"', '\\'])).then(|| value.to_owned())
        };
        let default = Self::default();
        let own = |key: &str| repository.iter().find_map(|file| own_setting(file, key));
        Self {
            name: own("name").or_else(|| setting("user.name")).unwrap_or(default.name),
            email: own("email").or_else(|| setting("user.email")).unwrap_or(default.email),
            timed_out: false,
        }
    }

    /// Name and email.
    pub fn as_pair(&self) -> [&str; 2] {
        [&self.name, &self.email]
    }

    pub fn warning(&self) -> Option<String> {
        self.timed_out.then(|| {
            format!(
                "git did not report your identity within {} s, so agents commit as {}; check your ~/.gitconfig.",
                IDENTITY_LIMIT.as_secs(),
                self.name
            )
        })
    }

    /// Writes the .gitconfig of the room's private home; no other settings of the user go there.
    fn write(&self, home: &Path) {
        let Self { name, email, .. } = self;
        let text = format!("[user]\n\tname = \"{name}\"\n\temail = \"{email}\"\n");
        let write = || {
            fs::create_dir_all(home)?;
            // An agent may have made it read-only.
            fs::set_permissions(home, fs::Permissions::from_mode(0o700))?;
            // Agents write this directory: what is there may be a pipe, a directory or a link to the user's files.
            let home = UntrustedDir::open(home)?;
            home.replace(OsStr::new(".gitconfig"), text.as_bytes(), Visibility::Everyone)
        };
        // If this fails, git itself reports the missing identity.
        let _: io::Result<()> = write();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use autonoe_policy::PolicyLevel;
    use autonoe_sandbox::SandboxLayer;

    use super::git_settings;

    #[test]
    fn bare_repositories_are_used_where_every_program_may_run() {
        for (level, expected) in [(PolicyLevel::Contained, "all"), (PolicyLevel::Strict, "explicit")] {
            let settings = git_settings(Path::new("/p"), SandboxLayer::None, level);
            assert!(settings.contains(&("GIT_CONFIG_KEY_0".to_owned(), "safe.bareRepository".to_owned())));
            assert!(settings.contains(&("GIT_CONFIG_VALUE_0".to_owned(), expected.to_owned())), "{level:?}");
        }
    }
}
