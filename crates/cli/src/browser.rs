//! The built-in browser MCP server: Playwright's, using a browser installed on the system.

use std::path::{Path, PathBuf};

use autonoe_store::Project;
use serde_json::{Value, json};

use crate::environment::Environment;

/// Name of the server in the configuration.
pub const NAME: &str = "playwright";

const PROGRAMS: [&str; 2] = ["playwright-mcp", "mcp-server-playwright"];

/// Browsers installed on the system. Playwright's own downloads are in a cache that rooms cannot read.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The server if it is installed in the project or on the PATH; it is never downloaded. `built_in` is the default configuration, which
/// would download it; `temp` is where screenshots and downloads go.
pub fn server(
    project: &Project,
    environment: &Environment,
    built_in: &Value,
    temp: Option<&Path>,
) -> Option<Value> {
    let of_project = project.root().join("node_modules/.bin");
    let path_directories =
        || std::env::split_paths(&environment.path).filter(|directory| directory.is_absolute());
    let find = |names: &[&str], directories: &mut dyn Iterator<Item = PathBuf>| {
        directories
            .flat_map(|directory| names.iter().map(move |name| directory.join(name)))
            .find(|program| program.is_file())
    };
    let program = find(&PROGRAMS, &mut std::iter::once(of_project).chain(path_directories()))?;
    let mut args: Vec<String> = built_in["args"]
        .as_array()
        .into_iter()
        .flatten()
        .skip(1)
        .filter_map(|arg| Some(arg.as_str()?.to_owned()))
        .collect();
    if let Some(browser) = find(&BROWSERS, &mut path_directories()) {
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
    Some(json!({ "command": program, "args": args }))
}
