//! The environment, read once. Nothing else in the program looks at it.

use std::ffi::OsString;
use std::path::PathBuf;

use autonoe_core::fault::{Fault, Layer};
use autonoe_model::Provider;
use autonoe_sandbox::Toolchain;
use autonoe_store::{CrashPoint, Project, UserConfig};

use crate::arguments::ProjectArgs;

/// Variables that the commands of an agent may see; everything else stays here. In a sandbox the home directory, the
/// temporary one and the proxies are the room's own.
const PASSED_ON: [&str; 20] = [
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
    "GOPATH",
    "GOCACHE",
    "JAVA_HOME",
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
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Where journals and locks live.
    pub state_home: PathBuf,
    /// Where the user's configuration lives.
    pub config_home: Option<PathBuf>,
    /// Where programs are looked up.
    pub path: OsString,
    /// Where the user's tools are, outside the system's directories.
    pub toolchain: Toolchain,
    /// The proxy between this machine and the internet, and the hosts that need none.
    pub upstream: Option<(String, String)>,
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
        let directory = |name: &str, below_home: &str| {
            let named = variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
            let usual = || home.as_ref().map(|home| home.join(below_home));
            named.or_else(usual).map(|path| path.join("autonoe"))
        };
        let state_home = directory("XDG_STATE_HOME", ".local/state").ok_or_else(|| {
            Fault::lasting(Layer::Config, "no_home", "Neither HOME nor XDG_STATE_HOME is set.")
                .hint("Set one of them; autonoe keeps its journal there.")
        })?;
        let config_home = directory("XDG_CONFIG_HOME", ".config");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let toolchain = Toolchain::find(home.as_deref(), &path, variable);
        let upstream =
            ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].into_iter().find_map(variable);
        let direct = ["NO_PROXY", "no_proxy"].into_iter().find_map(variable).unwrap_or_default();
        let mut for_children: Vec<(String, String)> =
            PASSED_ON.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?))).collect();
        for_children.extend(SET.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(Self {
            home,
            state_home,
            config_home,
            path,
            toolchain,
            upstream: upstream.map(|url| (url, direct)),
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

    /// The user's configuration.
    pub fn user_config(&self) -> Result<UserConfig, Fault> {
        match &self.config_home {
            Some(directory) => UserConfig::load(&directory.join("config.toml"), self.home.as_deref()),
            None => Ok(UserConfig::default()),
        }
    }

    /// Our own binary, which plays other parts too.
    pub fn ourselves(&self) -> Result<PathBuf, Fault> {
        std::env::current_exe().map_err(|error| {
            Fault::lasting(
                Layer::System,
                "executable",
                format!("Our own executable cannot be found: {error}."),
            )
        })
    }

    /// The crash point a test asked for.
    pub fn crash_point(&self) -> Result<Option<CrashPoint>, Fault> {
        let wrong = |message| Fault::lasting(Layer::Config, "crash_point", message);
        self.crash.as_deref().map(|text| text.parse().map_err(wrong)).transpose()
    }
}
