//! The environment variables. Nothing else in the program reads them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::redact::SecretValues;
use autonoe_files::{FileKind, ReadError, SETTINGS_LIMIT, find_regular, read_text};
use autonoe_policy::is_command_variable;
use autonoe_sandbox::Toolchain;
use autonoe_store::{CrashPoint, CrashPointError, Project, UserConfig, check_path};
use autonoe_telemetry::TelemetrySettings;
use autonoe_workspace::is_settings_variable;

use crate::passed_names::{passed_names, remember_passed_names};
use crate::project_args::ProjectArgs;
use crate::search_path::WHOLE_PATH;

/// The only variables passed to the commands of an agent. In a sandbox, the room replaces the home directory, the temporary directory
/// and the proxies.
const PASSED_TO_CHILDREN: [&str; 20] = [
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

/// Set for every command. Git's settings come from `room_config`.
const SET_FOR_CHILDREN: [(&str, &str); 1] = [("TERM", "dumb")];

/// Variables that name a file or directory with what programs run when they start.
const STARTUP_VARIABLES: [&str; 8] = [
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "INPUTRC",
    "KAKOUNE_CONFIG_DIR",
    "PYTHONSTARTUP",
    "VIMINIT",
    "ZDOTDIR",
    "npm_config_userconfig",
];

const KEY_VARIABLES: [&str; 5] =
    ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"];

pub struct Environment {
    pub home: Option<PathBuf>,
    /// Parent of all state directories: journals, locks, trust decisions.
    pub state_home: PathBuf,
    /// The variable that names it.
    state_variable: &'static str,
    /// Directory of the user's config.toml.
    pub config_home: Option<PathBuf>,
    /// Directory of what autonoe installs for the user.
    data_home: Option<PathBuf>,
    /// `PATH`.
    pub path: OsString,
    /// The machine's HTTP proxy, and the value of `NO_PROXY`.
    pub upstream: Option<(String, String)>,
    /// Override the environment.
    overrides: BTreeMap<String, String>,
    /// `AUTONOE_NO_SANDBOX=1`.
    pub no_sandbox: bool,
    /// The complete environment of an agent's commands.
    pub for_children: Vec<(String, String)>,
    /// Crash point for tests; debug builds only.
    pub crash: Option<String>,
}

impl Environment {
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
            Fault::permanent(FaultLayer::Config, "no_home", "Neither HOME nor XDG_STATE_HOME is set.")
                .hint("Set one of them; autonoe stores its journal there.")
        })?;
        check_path("state directory", &state_home)?;
        let is_named = variable("XDG_STATE_HOME").is_some_and(|named| state_home.starts_with(named));
        let state_variable = if is_named { "XDG_STATE_HOME" } else { "HOME" };
        let config_home = directory("XDG_CONFIG_HOME", ".config");
        let data_home = directory("XDG_DATA_HOME", ".local/share");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let upstream =
            ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].into_iter().find_map(variable);
        let direct = ["NO_PROXY", "no_proxy"].into_iter().find_map(variable).unwrap_or_default();
        let mut for_children: Vec<(String, String)> = PASSED_TO_CHILDREN
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), variable(name)?)))
            .collect();
        if let Some(whole) = variable(WHOLE_PATH) {
            for_children
                .iter_mut()
                .filter(|(name, _)| name == "PATH")
                .for_each(|(_, path)| path.clone_from(&whole));
        }
        for_children.extend(SET_FOR_CHILDREN.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(Self {
            home,
            state_home,
            state_variable,
            config_home,
            data_home,
            path,
            upstream: upstream.map(|url| (url, direct)),
            overrides: BTreeMap::new(),
            no_sandbox: variable("AUTONOE_NO_SANDBOX").as_deref() == Some("1"),
            for_children,
            crash: variable("AUTONOE_CRASH_AT").filter(|_| cfg!(debug_assertions)),
        })
    }

    /// The user's development tools outside system directories.
    pub fn toolchain(&self) -> Toolchain {
        Toolchain::find(self.home.as_deref(), &self.path, |name| self.variable(name))
    }

    /// The project in `--project-dir`, or else in the current directory.
    pub fn project(&self, args: &ProjectArgs) -> Result<Project, Fault> {
        let directory = match &args.project_dir {
            Some(directory) => directory.clone(),
            None => std::env::current_dir().map_err(|error| {
                Fault::permanent(
                    FaultLayer::Config,
                    "project_directory",
                    format!("The current directory no longer exists: {error}."),
                )
                .hint("Change into the project's directory, or name it with --project-dir.")
            })?,
        };
        self.check_state_home()?;
        let project = Project::open(&directory, &self.state_home)?;
        self.check_state_outside(&project)?;
        Ok(project)
    }

    /// Fails if the state directory could never be created: something on its path is not a directory.
    fn check_state_home(&self) -> Result<(), Fault> {
        let state_home = &self.state_home;
        let Some(existing) = state_home.ancestors().find(|path| path.symlink_metadata().is_ok()) else {
            return Ok(());
        };
        let what = match find_regular(existing) {
            Err(ReadError::NotRegular(FileKind::Directory)) | Err(ReadError::Io(_)) => return Ok(()),
            Err(ReadError::NotRegular(kind)) => kind.to_string(),
            Ok(None) => "symbolic link to something that does not exist".to_owned(),
            Ok(Some(_)) | Err(ReadError::TooLarge { .. } | ReadError::NotUtf8 { .. }) => "file".to_owned(),
        };
        let message = format!(
            "The state directory {} cannot be created: {} is a {what}, not a directory.",
            state_home.display(),
            existing.display()
        );
        let variable = self.state_variable;
        Err(Fault::permanent(FaultLayer::Config, "state_directory", message).hint(format!(
            "It is named by {variable}. Set {variable} to a directory{}.",
            if variable == "HOME" { ", or XDG_STATE_HOME to one" } else { ", or leave it unset" }
        )))
    }

    /// The journal and the lock of a project must not be among its files, where agents work and git looks. A project that contains the
    /// home directory has them anyway, which is reported in its own way.
    fn check_state_outside(&self, project: &Project) -> Result<(), Fault> {
        let has_home = self.home.as_deref().is_some_and(|home| real_path(home).starts_with(project.root()));
        let state = real_path(project.state_dir());
        if has_home || !state.starts_with(project.root()) {
            return Ok(());
        }
        let message = format!("The state directory {} is inside the project.", state.display());
        Err(Fault::permanent(FaultLayer::Config, "state_directory", message)
            .hint("Set XDG_STATE_HOME to a directory outside of the project, or leave it unset."))
    }

    /// Where `autonoe init --browser` installs the browser. Not in the state directory, which rooms cannot read.
    pub fn browser_home(&self) -> Option<PathBuf> {
        self.data_home.as_ref().map(|directory| directory.join("browser"))
    }

    /// `None` for an unset or empty variable.
    pub fn variable(&self, name: &str) -> Option<String> {
        let value = self.overrides.get(name).cloned();
        value.or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
    }

    /// Unfiltered; only for the user's own helper programs.
    pub fn all(&self) -> Vec<(OsString, OsString)> {
        std::env::vars_os().collect()
    }

    /// For the user's own programs, without the keys of model providers and without these variables.
    pub fn all_but(&self, names: &[&str]) -> Vec<(OsString, OsString)> {
        let is_left_out = |name: &OsString| {
            name.to_str().is_some_and(|name| names.contains(&name) || KEY_VARIABLES.contains(&name))
        };
        self.all().into_iter().filter(|(name, _)| !is_left_out(name)).collect()
    }

    pub fn current_dir(&self) -> PathBuf {
        std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
    }

    /// Overrides a variable for this process only; children do not inherit it.
    pub fn set(&mut self, name: &str, value: String) {
        self.overrides.insert(name.to_owned(), value);
    }

    /// Values to redact: the keys in the providers' usual variables, and the variables that the user passes to commands, or has passed.
    pub fn secrets(&self) -> Vec<String> {
        let mut passed = self.user_config().map(|user| user.sandbox.env).unwrap_or_default();
        passed.extend(passed_names(&self.state_home));
        let keys = KEY_VARIABLES.iter().filter_map(|name| self.variable(name));
        keys.chain(passed.iter().filter_map(|name| self.variable(name))).collect()
    }

    /// Settings of git that variables name, and those of the machine.
    pub fn git_settings(&self) -> Vec<PathBuf> {
        let named =
            ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(|name| self.variable(name));
        let moved = self.variable("XDG_CONFIG_HOME").map(|home| format!("{home}/git/config"));
        named.chain(moved).chain(["/etc/gitconfig".to_owned()]).map(PathBuf::from).collect()
    }

    /// The values of variables that name a command, a file that a shell runs when it starts, or a place of settings, and the user's settings,
    /// which may too.
    pub fn command_variables(&self) -> Vec<String> {
        let is_one = |name: &str| {
            is_command_variable(name) || STARTUP_VARIABLES.contains(&name) || is_settings_variable(name)
        };
        let named = std::env::vars().filter(|(name, _)| is_one(name)).map(|(_, value)| value);
        // Autonoe itself runs what its settings name.
        let settings = self.config_home.as_ref().map(|directory| directory.join("config.toml"));
        let settings = settings.and_then(|file| read_text(&file, SETTINGS_LIMIT).ok().flatten());
        named.chain(settings).collect()
    }

    /// Everything in the user's environment but where the user is.
    pub fn all_variables(&self) -> Vec<(String, String)> {
        std::env::vars().filter(|(name, _)| !["PWD", "OLDPWD"].contains(&name.as_str())).collect()
    }

    /// The variables that the user passes to commands: those of the command line must be set. Their names are kept.
    pub fn passed_variables(
        &self,
        named: &[String],
        user: &UserConfig,
    ) -> Result<Vec<(String, String)>, Fault> {
        if let Some(unset) = named.iter().find(|name| self.variable(name).is_none()) {
            let message = format!("--env {unset}: this variable is not set.");
            return Err(Fault::permanent(FaultLayer::Config, "unset_variable", message)
                .hint(format!("Set it first, such as `export {unset}=…`, or leave out the option.")));
        }
        remember_passed_names(&self.state_home, named).map_err(|error| {
            let message =
                format!("--env: the names of these variables cannot be kept for later redaction: {error}.");
            Fault::transient(FaultLayer::System, "state", message)
        })?;
        let names = named.iter().chain(&user.sandbox.env);
        Ok(names.filter_map(|name| Some((name.clone(), self.variable(name)?))).collect())
    }

    pub fn user_config(&self) -> Result<UserConfig, Fault> {
        match &self.config_home {
            Some(directory) => UserConfig::load(&directory.join("config.toml"), self.home.as_deref()),
            None => Ok(UserConfig::default()),
        }
    }

    /// The standard OTEL_* variables take precedence over the user's config.toml.
    pub fn telemetry(&self, user: &UserConfig, secrets: SecretValues) -> Result<TelemetrySettings, Fault> {
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

    /// Path of this binary, which also serves as supervisor, room and relay process.
    pub fn own_executable(&self) -> Result<PathBuf, Fault> {
        std::env::current_exe().map_err(|error| {
            Fault::permanent(
                FaultLayer::System,
                "executable",
                format!("The path of the autonoe executable cannot be determined: {error}."),
            )
        })
    }

    pub fn crash_point(&self) -> Result<Option<CrashPoint>, Fault> {
        let wrong =
            |error: CrashPointError| Fault::permanent(FaultLayer::Config, "crash_point", error.to_string());
        self.crash.as_deref().map(|text| text.parse().map_err(wrong)).transpose()
    }
}

/// Resolves links in the part of a path that exists.
fn real_path(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    resolved.unwrap_or_else(|| path.to_owned())
}

fn check_home(home: &Path) -> Result<(), Fault> {
    check_path("home directory (HOME)", home)?;
    if home.is_absolute() {
        return Ok(());
    }
    let message = format!("HOME is '{}', which is not an absolute path.", home.display());
    Err(Fault::permanent(FaultLayer::Config, "no_home", message).hint("Set HOME to your home directory."))
}
