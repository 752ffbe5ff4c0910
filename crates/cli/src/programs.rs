//! Finds installed programs and the directories that must be readable for them to start.

use std::fs;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// Looks a program up on the PATH and resolves links, which npm installs there.
pub fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    let mut directories =
        std::env::split_paths(&environment.path).filter(|directory| directory.is_absolute());
    let program = directories
        .find_map(|directory| directory.join(name).canonicalize().ok().filter(|program| program.is_file()))?;
    Some(codex_binary(&program).unwrap_or(program))
}

/// npm's `codex` is a script, `bin/codex.js` of `@openai/codex`, that starts the real binary, `vendor/TARGET/bin/codex` of
/// `@openai/codex-SYSTEM`. Killing the script would leave the binary running, so the binary is started directly.
fn codex_binary(script: &Path) -> Option<PathBuf> {
    if !script.ends_with("@openai/codex/bin/codex.js") {
        return None;
    }
    let package = script.parent()?.parent()?;
    let entries = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    // Next to the package, or nested in it where npm could not hoist it.
    let packages = [package.parent()?.to_owned(), package.join("node_modules/@openai")];
    let packages = packages.iter().flat_map(|directory| entries(directory));
    let targets = packages.flat_map(|package| entries(&package.join("vendor")));
    targets.map(|target| target.join("bin/codex")).find(|program| program.is_file())
}

/// The path that must be readable for a program to start: its `node_modules`, or its directory; only the program itself if that
/// directory contains the user's home.
pub fn installation(program: &Path, environment: &Environment) -> PathBuf {
    let packages = program
        .ancestors()
        .filter(|directory| directory.file_name().is_some_and(|name| name == "node_modules"));
    let directory = packages.last().or_else(|| program.parent()).unwrap_or(program);
    let home = environment.home.as_ref().and_then(|home| home.canonicalize().ok());
    let contains_home = home.is_some_and(|home| home.starts_with(directory));
    if contains_home { program.to_owned() } else { directory.to_owned() }
}
