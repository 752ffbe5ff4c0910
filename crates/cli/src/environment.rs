//! The environment, read once. Nothing else in the program looks at it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, Layer};
use autonoe_sandbox::Toolchain;
use autonoe_store::{CrashPoint, Project, UserConfig, check_path};
use autonoe_telemetry::TelemetrySettings;

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

/// What commands see beside that; git's settings are the sandbox's business.
const SET: [(&str, &str); 1] = [("TERM", "dumb")];

/// Variables that hold keys of model providers.
const KEY_VARIABLES: [&str; 5] =
    ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"];

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
    /// The proxy between this machine and the internet, and the hosts that need none.
    pub upstream: Option<(String, String)>,
    /// Variables that we set ourselves, before those of the environment.
    set: BTreeMap<String, String>,
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
        let home = std::env::var_os("HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
        home.as_deref().map(check_home).transpose()?;
        let directory = |name: &str, below_home: &str| {
            let named = variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
            let usual = || home.as_ref().map(|home| home.join(below_home));
            named.or_else(usual).map(|path| path.join("autonoe"))
        };
        let state_home = directory("XDG_STATE_HOME", ".local/state").ok_or_else(|| {
            Fault::lasting(Layer::Config, "no_home", "Neither HOME nor XDG_STATE_HOME is set.")
                .hint("Set one of them; autonoe keeps its journal there.")
        })?;
        check_path("state directory", &state_home)?;
        let config_home = directory("XDG_CONFIG_HOME", ".config");
        let path = std::env::var_os("PATH").unwrap_or_default();
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
            upstream: upstream.map(|url| (url, direct)),
            set: BTreeMap::new(),
            no_sandbox: variable("AUTONOE_NO_SANDBOX").as_deref() == Some("1"),
            for_children,
            crash: variable("AUTONOE_CRASH_AT").filter(|_| cfg!(debug_assertions)),
        })
    }

    /// Where the user's tools are, outside the system's directories.
    pub fn toolchain(&self) -> Toolchain {
        Toolchain::find(self.home.as_deref(), &self.path, |name| self.variable(name))
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
                .hint("Change into the project's directory, or name it with --project-dir.")
            })?,
        };
        Project::open(&directory, &self.state_home)
    }

    /// The value of a variable that has one.
    pub fn variable(&self, name: &str) -> Option<String> {
        let set = self.set.get(name).cloned();
        set.or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
    }

    /// All of it, for a program of the user's own.
    pub fn all(&self) -> Vec<(OsString, OsString)> {
        std::env::vars_os().collect()
    }

    /// Where we were started.
    pub fn directory(&self) -> PathBuf {
        std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
    }

    /// Sets a variable, for us and nobody else.
    pub fn set(&mut self, name: &str, value: String) {
        self.set.insert(name.to_owned(), value);
    }

    /// What must never be shown or written down: the keys in customary variables.
    pub fn secrets(&self) -> Vec<String> {
        KEY_VARIABLES.iter().filter_map(|name| self.variable(name)).collect()
    }

    /// The user's configuration.
    pub fn user_config(&self) -> Result<UserConfig, Fault> {
        match &self.config_home {
            Some(directory) => UserConfig::load(&directory.join("config.toml"), self.home.as_deref()),
            None => Ok(UserConfig::default()),
        }
    }

    /// Where traces and metrics go: the standard variables, then what the user's configuration says.
    pub fn telemetry(&self, user: &UserConfig, secrets: Vec<String>) -> Result<TelemetrySettings, Fault> {
        let configured = &user.telemetry;
        let settings = TelemetrySettings::from_variables(|name| {
            self.variable(name).or_else(|| match name {
                "OTEL_EXPORTER_OTLP_ENDPOINT" => configured.endpoint.clone(),
                "OTEL_EXPORTER_OTLP_PROTOCOL" => configured.protocol.clone(),
                "OTEL_EXPORTER_OTLP_HEADERS" => configured.headers.clone(),
                "OTEL_SERVICE_NAME" => configured.service_name.clone(),
                "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" => {
                    configured.capture_content.then(|| "true".to_owned())
                }
                _ => None,
            })
        })?;
        Ok(TelemetrySettings { secrets, ..settings })
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

/// Whether HOME names a directory that means the same wherever we are.
fn check_home(home: &Path) -> Result<(), Fault> {
    check_path("home directory (HOME)", home)?;
    if home.is_absolute() {
        return Ok(());
    }
    let message = format!("HOME is '{}', which is not an absolute path.", home.display());
    Err(Fault::lasting(Layer::Config, "no_home", message).hint("Set HOME to your home directory."))
}
