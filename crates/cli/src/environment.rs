//! The environment, read once. Nothing else in the program looks at it.

use std::path::PathBuf;

use autonoe_core::fault::{Fault, Layer};
use autonoe_model::Provider;
use autonoe_sandbox::Launcher;
use autonoe_store::{CrashPoint, Project};

use crate::arguments::ProjectArgs;

/// Variables that the commands of an agent may see; everything else stays here.
const PASSED_ON: [&str; 23] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOCACHE",
    "JAVA_HOME",
    "PYENV_ROOT",
    "NVM_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "https_proxy",
    "no_proxy",
];

/// What commands see beside that. A repository that lies within the project's files must not be taken for one: its
/// settings could name programs that git would run.
const SET: [(&str, &str); 4] = [
    ("TERM", "dumb"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_0", "explicit"),
];

/// Shorter values are too common to be blotted out.
const MIN_SECRET_LENGTH: usize = 6;

/// What the environment says.
pub struct Environment {
    /// Where journals and locks live.
    pub state_home: PathBuf,
    /// The Anthropic key, if there is one.
    pub anthropic_key: Option<String>,
    /// Where the Anthropic API is, if not at its usual place.
    pub anthropic_base_url: Option<String>,
    /// `AUTONOE_NO_SANDBOX=1`.
    pub no_sandbox: bool,
    /// The whole environment of an agent's commands.
    pub for_children: Vec<(String, String)>,
    /// Where to kill ourselves, in tests of debug builds.
    pub crash: Option<String>,
}

impl Environment {
    /// Reads the environment.
    pub fn read() -> Result<Self, Fault> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let home = variable("HOME").map(PathBuf::from);
        let state_home = variable("XDG_STATE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| home.map(|home| home.join(".local/state")))
            .ok_or_else(|| {
                Fault::lasting(Layer::Config, "no_home", "Neither HOME nor XDG_STATE_HOME is set.")
                    .hint("Set one of them; autonoe keeps its journal there.")
            })?;
        let mut for_children: Vec<(String, String)> =
            PASSED_ON.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?))).collect();
        for_children.extend(SET.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(Self {
            state_home: state_home.join("autonoe"),
            anthropic_key: variable("ANTHROPIC_API_KEY"),
            anthropic_base_url: variable("ANTHROPIC_BASE_URL"),
            no_sandbox: variable("AUTONOE_NO_SANDBOX").as_deref() == Some("1"),
            for_children,
            crash: variable("AUTONOE_CRASH_AT").filter(|_| cfg!(debug_assertions)),
        })
    }

    /// Finds the project that was named, or the one we stand in.
    pub fn project(&self, args: &ProjectArgs) -> Result<Project, Fault> {
        let directory = match &args.project_dir {
            Some(directory) => directory.clone(),
            None => std::env::current_dir().map_err(|error| {
                Fault::lasting(
                    Layer::Config,
                    "project_directory",
                    format!("The current directory is gone: {error}."),
                )
            })?,
        };
        Project::open(&directory, &self.state_home)
    }

    /// The model provider, if it can be used.
    pub fn provider(&self) -> Result<Provider, Fault> {
        let api_key = self.anthropic_key.clone().ok_or_else(|| {
            Fault::lasting(Layer::Config, "provider_not_configured", "ANTHROPIC_API_KEY is not set.")
                .hint("Set it to your key, or see the main job without one: `autonoe demo`.")
        })?;
        Ok(Provider { base_url: self.anthropic_base_url.clone(), api_key })
    }

    /// What must never be shown or written down.
    pub fn secrets(&self) -> Vec<String> {
        self.anthropic_key.iter().filter(|key| key.len() >= MIN_SECRET_LENGTH).cloned().collect()
    }

    /// Starts children under the keeper, which is this very binary.
    pub fn launcher(&self) -> Result<Launcher, Fault> {
        let ourselves = std::env::current_exe().map_err(|error| {
            Fault::lasting(
                Layer::System,
                "executable",
                format!("Our own executable cannot be found: {error}."),
            )
        })?;
        Ok(Launcher::new(ourselves))
    }

    /// The crash point a test asked for.
    pub fn crash_point(&self) -> Result<Option<CrashPoint>, Fault> {
        let wrong = |message| Fault::lasting(Layer::Config, "crash_point", message);
        self.crash.as_deref().map(|text| text.parse().map_err(wrong)).transpose()
    }
}
