//! Programs of the user's: where they are, and what must be readable for them to start.

use std::fs;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// A program on the search path, by its real name: what npm puts there are links.
pub fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    let mut places = std::env::split_paths(&environment.path).filter(|place| place.is_absolute());
    let program =
        places.find_map(|place| place.join(name).canonicalize().ok().filter(|program| program.is_file()))?;
    Some(behind_the_script(&program).unwrap_or(program))
}

/// npm's `codex` is a script that starts the program proper, from a package of its own: `bin/codex.js` of
/// `@openai/codex`, and `vendor/TARGET/bin/codex` of `@openai/codex-SYSTEM`. Who ends the script leaves the program running.
fn behind_the_script(script: &Path) -> Option<PathBuf> {
    if !script.ends_with("@openai/codex/bin/codex.js") {
        return None;
    }
    let package = script.parent()?.parent()?;
    let entries = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    // Beside it, or below it where npm could not share.
    let packages = [package.parent()?.to_owned(), package.join("node_modules/@openai")];
    let packages = packages.iter().flat_map(|place| entries(place));
    let targets = packages.flat_map(|package| entries(&package.join("vendor")));
    targets.map(|target| target.join("bin/codex")).find(|program| program.is_file())
}

/// What must be readable for a program to start: the packages it was installed with, or the directory it is in; of a
/// directory that holds the user's home, the program alone.
pub fn installation(program: &Path, environment: &Environment) -> PathBuf {
    let packages =
        program.ancestors().filter(|place| place.file_name().is_some_and(|name| name == "node_modules"));
    let directory = packages.last().or_else(|| program.parent()).unwrap_or(program);
    let home = environment.home.as_ref().and_then(|home| home.canonicalize().ok());
    let holds_home = home.is_some_and(|home| home.starts_with(directory));
    if holds_home { program.to_owned() } else { directory.to_owned() }
}
