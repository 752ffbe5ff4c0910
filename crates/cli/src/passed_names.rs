//! The names of variables that were passed to commands (`--env`), kept for all projects: what a command shows later may contain their values.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use autonoe_files::{SETTINGS_LIMIT, read_text};

fn file(state_home: &Path) -> PathBuf {
    state_home.join("passed-variables")
}

/// The names so far. A list that cannot be read is empty: it only adds to what is redacted.
pub fn passed_names(state_home: &Path) -> Vec<String> {
    let text = read_text(&file(state_home), SETTINGS_LIMIT).ok().flatten().unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Adds the names that are new.
pub fn remember_passed_names(state_home: &Path, names: &[String]) -> io::Result<()> {
    let known = passed_names(state_home);
    let new: String =
        names.iter().filter(|name| !known.contains(name)).map(|name| format!("{name}\n")).collect();
    if new.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(state_home)?;
    File::options().append(true).create(true).open(file(state_home))?.write_all(new.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{passed_names, remember_passed_names};

    #[test]
    fn each_name_is_kept_once() {
        let state = tempfile::tempdir().unwrap();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(passed_names(state.path()), names(&[]));
        remember_passed_names(state.path(), &names(&["A", "B"])).unwrap();
        remember_passed_names(state.path(), &names(&["B", "C"])).unwrap();
        assert_eq!(passed_names(state.path()), names(&["A", "B", "C"]));
    }
}
