//! The built-in MCP server for a browser: Playwright's, with a browser of the system.

use std::path::{Path, PathBuf};

use autonoe_store::Project;
use serde_json::{Value, json};

use crate::environment::Environment;

/// What the server is called in the configuration.
pub const NAME: &str = "playwright";

/// What its program is called.
const PROGRAMS: [&str; 2] = ["playwright-mcp", "mcp-server-playwright"];

/// What browsers of the system are called. The ones that Playwright brings are in a cache that no room sees.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The server, if it is installed in the project or on the search path: it is not fetched anew for each session. `built_in` is
/// how it would be fetched; `temp` is where it may put pictures and downloads.
pub fn server(
    project: &Project,
    environment: &Environment,
    built_in: &Value,
    temp: Option<&Path>,
) -> Option<Value> {
    let of_project = project.root().join("node_modules/.bin");
    let places = || std::env::split_paths(&environment.path).filter(|place| place.is_absolute());
    let find = |names: &[&str], places: &mut dyn Iterator<Item = PathBuf>| {
        places
            .flat_map(|place| names.iter().map(move |name| place.join(name)))
            .find(|program| program.is_file())
    };
    let program = find(&PROGRAMS, &mut std::iter::once(of_project).chain(places()))?;
    let mut args: Vec<String> = built_in["args"]
        .as_array()
        .into_iter()
        .flatten()
        .skip(1)
        .filter_map(|arg| Some(arg.as_str()?.to_owned()))
        .collect();
    if let Some(browser) = find(&BROWSERS, &mut places()) {
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
