//! Our own search path: without directories of the project, since agents may have written the programs there. Commands in rooms get the
//! whole one.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Carries the whole search path to the process that goes on without directories of the project.
pub const WHOLE_PATH: &str = "AUTONOE_WHOLE_PATH";

/// Starts this program again in its place if the search path leads into the project. Everything that we start outside of rooms, and the
/// programs that we look for, is then found elsewhere.
pub fn leave_project(arguments: &[OsString]) {
    let Some(path) = env::var_os("PATH") else { return };
    let project = named_project(arguments).or_else(|| env::current_dir().ok());
    let Some(top) = project.and_then(|project| project.canonicalize().ok()).map(|project| top_of(&project))
    else {
        return;
    };
    let Some(outside) = outside(&path, &top) else { return };
    let Ok(own) = env::current_exe() else { return };
    let mut command = Command::new(own);
    command.args(arguments).env("PATH", outside).env(WHOLE_PATH, path);
    // Returns only if it fails; then this process goes on as it is.
    let _ = command.exec();
}

/// The search path without entries that are relative or below `top`; `None` if that changes nothing. An empty path is one relative entry
/// and stays as it is: otherwise this program would start itself forever where everything is below `top`, as in `/`.
fn outside(path: &OsStr, top: &Path) -> Option<OsString> {
    let is_outside = |entry: &PathBuf| {
        let real = entry.canonicalize().unwrap_or_else(|_| entry.clone());
        entry.is_absolute() && !real.starts_with(top) && !entry.starts_with(top)
    };
    let (outside, inside): (Vec<PathBuf>, Vec<PathBuf>) = env::split_paths(path).partition(is_outside);
    let outside = (!inside.is_empty()).then(|| env::join_paths(outside).ok()).flatten();
    outside.filter(|outside| outside != path)
}

/// The working tree around a project. A home directory that is one does not count: its programs are the user's.
fn top_of(project: &Path) -> PathBuf {
    let home = env::var_os("HOME").map(PathBuf::from);
    let is_home = |directory: &Path| home.as_deref().is_some_and(|home| home.starts_with(directory));
    let mut around = project.ancestors().take_while(|directory| !is_home(directory));
    around.find(|directory| directory.join(".git").exists()).unwrap_or(project).to_owned()
}

/// The value of `--project-dir`.
fn named_project(arguments: &[OsString]) -> Option<PathBuf> {
    for (index, argument) in arguments.iter().enumerate() {
        let text = argument.to_string_lossy();
        if text == "--project-dir" || text == "-p" {
            return arguments.get(index + 1).map(PathBuf::from);
        }
        if let Some(value) = text.strip_prefix("--project-dir=") {
            return Some(PathBuf::from(value));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use super::outside;

    #[test]
    fn only_directories_of_the_project_are_left_out() {
        let top = Path::new("/home/ann/project");
        let path = OsStr::new("/home/ann/project/.venv/bin:/usr/bin:bin:/home/ann/project-2/bin:/bin");
        assert_eq!(outside(path, top).as_deref(), Some(OsStr::new("/usr/bin:/home/ann/project-2/bin:/bin")));
        assert_eq!(outside(OsStr::new("/usr/bin:/bin"), top), None);
        assert_eq!(outside(OsStr::new("/usr/bin:/bin"), Path::new("/")).as_deref(), Some(OsStr::new("")));
        assert_eq!(outside(OsStr::new(""), Path::new("/")), None);
    }
}
