//! Where an agent's children run: the sandbox that this machine has, and the bounds of a project in it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer as FaultLayer};
use autonoe_core::mode::Mode;
use autonoe_policy::{Permissions, PolicyOptions, Profile, registries, steering};
use autonoe_sandbox::{
    Bounds, EgressRules, HostPattern, Layer, Limits, Repository, RoomConfig, Sandbox, UpstreamProxy,
};
use autonoe_store::config::AgentConfig;
use autonoe_store::{Project, UserConfig};
use autonoe_verify::CheckoutFactory;
use tokio::process::Command;

use crate::environment::Environment;
use crate::write_fault::cannot_write;

const HOW_TO_ALLOW: &str =
    "To allow it, add it to `allow` under [network] in your config.toml (docs/configuration.md).";
const HOW_TO_ALLOW_IN_SYNC: &str = "Commands of `sync` have no network.";

/// What is hidden of a home that lies in the project.
const SECRETS_OF_A_HOME: [&str; 16] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".password-store",
    ".config/gcloud",
    ".config/gh",
    ".config/autonoe",
    ".local/share/keyrings",
    ".mozilla",
];

/// Variables that name caches of the user's, which are in the private home inside.
const CACHES: [&str; 3] = ["CARGO_HOME", "GOPATH", "GOCACHE"];

/// Checkouts outside of any run that are older were left behind by a process that was killed.
const LEFTOVER_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long git may take to say who the user is.
const IDENTITY_LIMIT: Duration = Duration::from_secs(10);

/// Who commits where the user has not said who they are.
const SOMEBODY: (&str, &str) = ("Autonoe", "autonoe@localhost");

/// What keeps the sandbox from being used, in the order of seed 002 §5.5: the flag, the variable, the user's settings.
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

/// What is looked for while a run gets ready, since each takes other programs.
pub struct Surveyed {
    /// The sandbox that this machine has.
    pub sandbox: Result<Sandbox, Fault>,
    /// Who the user is to git.
    pub identity: Identity,
}

/// Looks for a sandbox, unless there shall be none, and for the user's name, at the same time.
pub fn survey(
    project: &Project,
    environment: &Environment,
    without_sandbox: bool,
) -> Result<impl Future<Output = Surveyed> + Send + use<>, Fault> {
    let (ourselves, path) = (environment.ourselves()?, environment.path.clone());
    let (home, scratch) = (environment.home.clone(), project.state_dir().to_owned());
    Ok(async move {
        let sandbox = async {
            match without_sandbox {
                true => Ok(Sandbox::none(&ourselves)),
                false => find_sandbox(&ourselves, &path, &scratch).await,
            }
        };
        let (sandbox, identity) = tokio::join!(sandbox, Identity::ask(&path, home.as_deref()));
        Surveyed { sandbox, identity }
    })
}

/// The sandbox that this machine has. `scratch` is a directory to try it out in; nothing is made there.
pub async fn find_sandbox(ourselves: &Path, path: &OsStr, scratch: &Path) -> Result<Sandbox, Fault> {
    fs::create_dir_all(scratch)
        .map_err(|error| cannot_write(FaultLayer::System, "sandbox", scratch, &error))?;
    let found = Sandbox::find(ourselves, path, scratch).await;
    found.map_err(|error| {
        let why = error.reasons.join("; ");
        Fault::lasting(FaultLayer::Config, "no_sandbox", format!("No sandbox can be built on this machine ({why})."))
            .hint(
                "Install bubblewrap and allow user namespaces, or use Linux 6.7 or newer with Landlock; or run without, \
                 at your own risk, with --no-sandbox or AUTONOE_NO_SANDBOX=1.",
            )
    })
}

/// What a layer does not hold, as sentences for anyone who starts a run.
pub fn shortcomings(layer: Layer) -> Option<&'static str> {
    match layer {
        Layer::Bubblewrap | Layer::None => None,
        Layer::Landlock => Some(
            "bubblewrap cannot be used here, so Landlock holds the sandbox: .autonoe/, agent settings and git hooks are \
             guarded by the command policy alone, and commands cannot reach servers that they start.",
        ),
        Layer::Seatbelt => {
            Some("sandbox-exec holds the sandbox: servers on this machine can be reached from inside.")
        }
    }
}

/// Lays out where the children of a project's agents run.
pub fn lay_out(
    project: &Project,
    environment: &Environment,
    user: &UserConfig,
    policy: &PolicyOptions,
    sandbox: Sandbox,
    identity: &Identity,
) -> Result<RoomConfig, Fault> {
    check_git_settings(project)?;
    let bounds = bounds(project, environment, user, policy);
    let mut env = environment.for_children.clone();
    env.extend(environment.toolchain().env);
    env.extend(git_settings(project, sandbox.layer()));
    if sandbox.layer() != Layer::None {
        identity.write(&bounds.home);
        env.retain(|(name, _)| !CACHES.contains(&name.as_str()));
        // A new repository gets no hooks: they are read-only in the next session.
        env.push(("GIT_TEMPLATE_DIR".to_owned(), String::new()));
    }
    let egress = Arc::new(egress(environment, user, policy)?);
    Ok(RoomConfig { sandbox, bounds, egress, env, guarded: Arc::clone(&policy.guarded) })
}

/// Makes sure that git can read the repository's own settings: it would wait for a pipe for ever, and so would every agent.
pub fn check_git_settings(project: &Project) -> Result<(), Fault> {
    match Repository::around(project.root()).unreadable_settings() {
        None => Ok(()),
        Some((file, error)) => {
            let message = format!("{} cannot be read: {error}.", file.display());
            Err(Fault::lasting(FaultLayer::Config, "git_config", message).hint(error.advice()))
        }
    }
}

/// Git's settings for commands of agents, which hold before those of the repository. They are passed in the environment.
fn git_settings(project: &Project, layer: Layer) -> Vec<(String, String)> {
    // A repository that lies within the project's files must not be taken for one: its settings could name programs that git
    // would run.
    let mut settings = vec![("safe.bareRepository", "explicit".to_owned())];
    if layer != Layer::None {
        // Whose the project is does not matter to what is held by the sandbox: the user has chosen it.
        let top = Repository::around(project.root()).top(project.root()).display().to_string();
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

/// Where commands of agents would run, with what they write for themselves in `scratch`: nothing is made for a look.
pub fn for_a_look(
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
    env.extend(git_settings(project, sandbox.layer()));
    let egress = Arc::new(EgressRules::default());
    Ok(RoomConfig { sandbox, bounds, egress, env, guarded: Arc::default() })
}

/// Where checks run: around clean checkouts in a directory of that name, with what programs may read anywhere, and without the project itself.
pub fn check_site(
    project: &Project,
    environment: &Environment,
    user: &UserConfig,
    room_config: &RoomConfig,
    scratch: &str,
) -> CheckoutFactory {
    let mut around = room_config.clone();
    let readable = readable(environment, user).into_iter().filter_map(|place| place.canonicalize().ok());
    around.bounds.read = readable.collect();
    around.guarded = Arc::default();
    CheckoutFactory {
        root: project.root().to_owned(),
        scratch: project.state_dir().join(scratch),
        room_config: around,
        network: user.checks.network.then(|| Arc::clone(&room_config.egress)),
    }
}

/// Where checks run and the repository is looked at, outside of any run.
pub async fn site_outside_runs(
    project: &Project,
    environment: &Environment,
    no_sandbox: bool,
) -> Result<CheckoutFactory, Fault> {
    let user = environment.user_config()?;
    let without_sandbox = disabled_by(no_sandbox, environment, &user).is_some();
    let Surveyed { sandbox, identity } = survey(project, environment, without_sandbox)?.await;
    let in_force = AgentConfig::load(project)?.effective(Mode::Run);
    let policy =
        PolicyOptions { profiles: in_force.profiles, ..PolicyOptions::new(Mode::Run, project.root()) };
    let room_config = lay_out(project, environment, &user, &policy, sandbox?, &identity)?;
    let site = check_site(project, environment, &user, &room_config, "looks");
    site.forget_leftovers(LEFTOVER_AGE);
    Ok(site)
}

/// What may be read outside the project: the toolchain and what the user added.
pub fn readable(environment: &Environment, user: &UserConfig) -> Vec<PathBuf> {
    [environment.toolchain().read.as_slice(), &user.sandbox.read, &user.sandbox.write].concat()
}

/// Where programs put temporary files, which is theirs alone.
pub fn temporary(layer: Layer, project: &Project) -> Option<PathBuf> {
    match layer {
        Layer::Bubblewrap => Some(PathBuf::from("/tmp")),
        Layer::Landlock | Layer::Seatbelt => Some(project.temporary_dir()),
        Layer::None => None,
    }
}

fn bounds(project: &Project, environment: &Environment, user: &UserConfig, policy: &PolicyOptions) -> Bounds {
    let root = project.root();
    let mut bounds = Bounds::new(root, project.state_dir().join("home"), project.temporary_dir());
    bounds.records = Some(project.rooms_dir());
    // A repository around the user's home would lay all of it open; to the programs there is none, then.
    let home = environment.home.as_deref().and_then(|home| home.canonicalize().ok());
    let around_home = |above: &PathBuf| home.as_ref().is_some_and(|home| home.starts_with(above));
    let found = Repository::around(root);
    let repository =
        if found.above.as_ref().is_some_and(around_home) { Repository::default() } else { found };
    bounds.protected = steering().map(|name| root.join(name)).chain(repository.hooks()).collect();
    bounds.read = repository.above.iter().cloned().chain(policy.readable_places()).collect();
    let outside = repository.directories.into_iter().filter(|directory| !directory.starts_with(root));
    bounds.write = user.sandbox.write.iter().cloned().chain(outside).filter(|path| path.exists()).collect();
    bounds.hidden = vec![environment.state_home.clone()];
    let home = home_in_project(project, environment);
    bounds.hidden.extend(home.iter().flat_map(|home| SECRETS_OF_A_HOME.map(|name| home.join(name))));
    let usual = Limits::default();
    bounds.limits = Limits {
        processes: user.sandbox.max_processes.map_or(usual.processes, |number| number.get().into()),
        memory: user.sandbox.max_memory.map_or(usual.memory, |size| size.bytes()),
        file_size: user.sandbox.max_file_size.map_or(usual.file_size, |size| size.bytes()),
        ..usual
    };
    bounds
}

/// The user's home, if the project is around it: then it is the agent's to read and write.
pub fn home_in_project(project: &Project, environment: &Environment) -> Option<PathBuf> {
    let home = environment.home.as_deref()?.canonicalize().ok()?;
    home.starts_with(project.root()).then_some(home)
}

/// What may leave: in `run` to the registries of the profiles and to what the user added, in `sync` nothing.
fn egress(
    environment: &Environment,
    user: &UserConfig,
    policy: &PolicyOptions,
) -> Result<EgressRules, Fault> {
    let wrong = |what: String| Fault::lasting(FaultLayer::Config, "user_config", what);
    let pattern = |text: &str| {
        text.parse::<HostPattern>().map_err(|error| wrong(format!("'{text}' is not a host: {error}.")))
    };
    let mut allow = Vec::new();
    if policy.mode == Mode::Run {
        for domain in Profile::active(&policy.profiles).into_iter().flat_map(registries) {
            allow.extend([pattern(domain)?, pattern(&format!("*.{domain}"))?]);
        }
        for host in user.network.allow.iter().chain(&Permissions::new(policy).web_hosts()) {
            allow.push(pattern(host)?);
        }
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

/// Who the user is to git.
pub struct Identity {
    name: String,
    email: String,
    /// Whether git was asked and did not answer.
    is_unknown: bool,
}

impl Default for Identity {
    fn default() -> Self {
        let (name, email) = SOMEBODY;
        Self { name: name.to_owned(), email: email.to_owned(), is_unknown: false }
    }
}

impl Identity {
    /// Asks the user's own git.
    async fn ask(path: &OsStr, home: Option<&Path>) -> Self {
        let mut git = Command::new("git");
        git.args(["config", "--global", "--null", "--get-regexp", r"^user\.(name|email)$"])
            .env_clear()
            .env("PATH", path)
            .envs(home.map(|home| ("HOME", home)))
            .current_dir("/");
        let output = git.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).output();
        let Ok(output) = tokio::time::timeout(IDENTITY_LIMIT, output).await else {
            return Self { is_unknown: true, ..Self::default() };
        };
        let settings =
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let ask = |key: &str| {
            // The last of several holds.
            let value = settings
                .rsplit('\0')
                .find_map(|setting| setting.strip_prefix(key)?.strip_prefix('\n'))?
                .trim();
            // A value that could end its line could begin another setting.
            (!value.is_empty() && !value.contains(['\n', '"', '\\'])).then(|| value.to_owned())
        };
        let nobody = Self::default();
        Self {
            name: ask("user.name").unwrap_or(nobody.name),
            email: ask("user.email").unwrap_or(nobody.email),
            is_unknown: false,
        }
    }

    /// What is to be said of it before a run: that git did not answer.
    pub fn warning(&self) -> Option<String> {
        self.is_unknown.then(|| {
            format!(
                "git did not say within {} s who you are, so agents commit as {}; look at your ~/.gitconfig.",
                IDENTITY_LIMIT.as_secs(),
                self.name
            )
        })
    }

    /// Tells git in the private home; nothing else of the user's settings goes there.
    fn write(&self, home: &Path) {
        let Self { name, email, .. } = self;
        // Without it, git says itself what is missing.
        let _ = fs::create_dir_all(home).and_then(|()| {
            fs::write(
                home.join(".gitconfig"),
                format!("[user]\n\tname = \"{name}\"\n\temail = \"{email}\"\n"),
            )
        });
    }
}
