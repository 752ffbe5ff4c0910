//! The built-in browser: Playwright's MCP server with Chromium. Both are used where they are installed and never downloaded by a run;
//! `autonoe init --browser` installs them.

use std::fs;
use std::path::{Path, PathBuf};

use autonoe_store::Project;
use autonoe_store::config::AgentConfig;
use serde_json::{Value, json};

use crate::environment::Environment;

/// Name of the server in the configuration.
pub const NAME: &str = "playwright";

const PROGRAMS: [&str; 2] = ["playwright-mcp", "mcp-server-playwright"];

/// Browsers installed on the system.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Names of the program in a browser that Playwright has downloaded.
const DOWNLOADED: [&str; 3] = ["chrome", "headless_shell", "chrome-headless-shell"];

/// How to install what is missing.
pub const INSTALL: &str = "`autonoe init --browser` installs it";

/// The server, and what must be readable for it to start.
pub struct BrowserServer {
    pub config: Value,
    pub reads: Vec<PathBuf>,
}

/// What is installed of the browser.
pub struct InstalledBrowser {
    pub server: Option<PathBuf>,
    pub browser: Option<PathBuf>,
    /// The directory of the browser's files, if it is not the system's own.
    downloads: Option<PathBuf>,
}

impl InstalledBrowser {
    /// The server of the project comes first, then the search path, then what `autonoe init --browser` has installed.
    pub fn find(project_root: &Path, environment: &Environment) -> Self {
        let path_directories =
            || std::env::split_paths(&environment.path).filter(|directory| directory.is_absolute());
        let find = |names: &[&str], directories: &mut dyn Iterator<Item = PathBuf>| {
            directories
                .flat_map(|directory| names.iter().map(move |name| directory.join(name)))
                .find(|program| program.is_file())
        };
        let of_project = project_root.join("node_modules/.bin");
        let own = environment.browser_home().map(|directory| directory.join("node_modules/.bin"));
        let server = find(&PROGRAMS, &mut std::iter::once(of_project).chain(path_directories()).chain(own));
        if let Some(browser) = find(&BROWSERS, &mut path_directories()) {
            return Self { server, browser: Some(browser), downloads: None };
        }
        let downloaded = download_directories(environment)
            .into_iter()
            .find_map(|directory| Some((downloaded_browser(&directory)?, directory)));
        let (browser, downloads) = downloaded.unzip();
        Self { server, browser, downloads }
    }

    /// What is missing, as a noun; `None` if nothing is.
    pub fn missing(&self) -> Option<&'static str> {
        match (&self.server, &self.browser) {
            (Some(_), Some(_)) => None,
            (None, Some(_)) => Some("Playwright's MCP server"),
            (Some(_), None) => Some("Chromium"),
            (None, None) => Some("Playwright's MCP server with Chromium"),
        }
    }
}

/// Where Playwright keeps its downloads, ours first.
fn download_directories(environment: &Environment) -> Vec<PathBuf> {
    let ours = environment.browser_home().map(|directory| directory.join("browsers"));
    let named =
        environment.variable("PLAYWRIGHT_BROWSERS_PATH").map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = environment.home.as_ref().map(|home| home.join(".cache/ms-playwright"));
    ours.into_iter().chain(named).chain(usual).collect()
}

/// The newest one, such as `chromium-1200/chrome-linux/chrome`.
fn downloaded_browser(directory: &Path) -> Option<PathBuf> {
    let entries = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.reverse();
        paths
    };
    let is_chromium =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("chromium"));
    let builds = entries(directory).into_iter().filter(is_chromium).flat_map(|version| entries(&version));
    builds.flat_map(|build| DOWNLOADED.map(|name| build.join(name))).find(|program| program.is_file())
}

/// The server if it is installed. `built_in` is the default configuration, which would download it; `temp` is where screenshots and
/// downloads go.
pub fn server(
    project: &Project,
    environment: &Environment,
    built_in: &Value,
    temp: Option<&Path>,
) -> Option<BrowserServer> {
    let InstalledBrowser { server, browser, downloads } = InstalledBrowser::find(project.root(), environment);
    let program = server?;
    let mut args: Vec<String> = built_in["args"]
        .as_array()
        .into_iter()
        .flatten()
        .skip(1)
        .filter_map(|arg| Some(arg.as_str()?.to_owned()))
        .collect();
    if let Some(browser) = browser {
        args.extend(["--executable-path".to_owned(), browser.display().to_string()]);
    }
    if let Some(temp) = temp {
        // The browser's own sandbox cannot be built inside ours.
        args.extend([
            "--no-sandbox".to_owned(),
            "--output-dir".to_owned(),
            temp.join(NAME).display().to_string(),
        ]);
    }
    Some(BrowserServer {
        config: json!({ "command": program, "args": args }),
        reads: downloads.into_iter().collect(),
    })
}

/// A warning if the configuration uses the browser and it is not there. Without a word about it in agent.json, a project that has no server
/// is one that needs no browser.
pub fn missing(project: &Project, environment: &Environment, config: &AgentConfig) -> Option<String> {
    let is_off = config.mcp_servers.as_ref().is_some_and(|servers| servers.is_empty());
    let own_server = config.mcp_servers.as_ref().and_then(|servers| servers.get(NAME));
    let prefix = format!("mcp__{NAME}__");
    let rules = config.allowed_tools.iter().chain(&config.permissions.allow);
    let is_named = own_server.is_some() || rules.into_iter().any(|rule| rule.starts_with(&prefix));
    let installed = InstalledBrowser::find(project.root(), environment);
    let missing = match own_server {
        // Its own program is its own business.
        Some(_) => installed.browser.is_none().then_some("Chromium"),
        None if is_named || installed.server.is_some() => installed.missing(),
        None => None,
    };
    missing.filter(|_| !is_off).map(|what| {
        format!("the configuration uses a browser, but {what} was not found, so agents cannot look at pages; {INSTALL}.")
    })
}
