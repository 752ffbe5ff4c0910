//! `autonoe init --browser`: installs Playwright's MCP server and Chromium where runs find them, with the user's own npm and npx.

use std::fs;
use std::path::Path;
use std::process::Command;

use autonoe_core::fault::{Fault, FaultLayer};

use crate::browser::InstalledBrowser;
use crate::environment::Environment;
use crate::present;
use crate::programs::find_program;
use crate::write_fault::cannot_write;

const SERVER_PACKAGE: &str = "@playwright/mcp";

/// Installs what is missing, outside of the project, and says what it uses.
pub fn install(project_root: &Path, environment: &Environment) -> Result<(), Fault> {
    let found = InstalledBrowser::find(project_root, environment);
    if found.missing().is_some() {
        let directory = environment.browser_home().ok_or_else(|| {
            fault("Neither HOME nor XDG_DATA_HOME is set.".to_owned()).hint("Set one of them.")
        })?;
        fs::create_dir_all(&directory)
            .map_err(|error| cannot_write(FaultLayer::System, "browser", &directory, &error))?;
        if found.server.is_none() {
            run(
                &["npm", "install", "--no-audit", "--no-fund", "--prefix", ".", SERVER_PACKAGE],
                &directory,
                environment,
            )?;
        }
        if found.browser.is_none() {
            run(&["npx", "--yes", "playwright", "install", "chromium"], &directory, environment)?;
        }
    }
    let found = InstalledBrowser::find(project_root, environment);
    match (found.missing(), found.server, found.browser) {
        (None, Some(server), Some(browser)) => {
            present::print(&format!("browser: {}, with {}\n", browser.display(), server.display()));
            Ok(())
        }
        (missing, _, _) => {
            let what = missing.unwrap_or("the browser");
            Err(fault(format!("{what} was not found after the installation.")).hint(
                "Install Chromium with your system's package manager, and `npm install -g @playwright/mcp`.",
            ))
        }
    }
}

/// Runs a program of the user's as the user would, in the directory of the browser.
fn run(words: &[&str], directory: &Path, environment: &Environment) -> Result<(), Fault> {
    let shown = words.join(" ");
    let [program, args @ ..] = words else { return Ok(()) };
    if find_program(program, environment).is_none() {
        return Err(fault(format!(
            "{program} was not found on the PATH, so the browser cannot be installed."
        ))
        .hint("Install Node.js, which has it."));
    }
    present::print(&format!("$ {shown}\n"));
    // By its name: what is on the PATH may be a link whose name matters.
    let status = Command::new(program)
        .args(args)
        .current_dir(directory)
        .env("PLAYWRIGHT_BROWSERS_PATH", directory.join("browsers"))
        .status();
    let why = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(fault(format!("`{shown}` failed: {why}."))
        .hint("Its output says why. Start again once that is resolved."))
}

fn fault(message: String) -> Fault {
    Fault::permanent(FaultLayer::Config, "browser", message)
}
