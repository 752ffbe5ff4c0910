//! How the user has git write files: line endings, modes and links. Git itself says it, with the settings of the repository and those of the
//! user and the machine, also where they are included under a condition.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_git::GitRoom;
use autonoe_sandbox::Repository;

use crate::git_settings::{attribute_files, settings_files};
use crate::hub::UsersMachine;

/// Prints the settings for the working tree `$1`. The other arguments are variables of the user's.
const PRINT: &str = r#"top=$1; shift
keys='filemode|ignorecase|symlinks|autocrlf|eol|precomposeunicode'
env -u GIT_CONFIG_NOSYSTEM -u GIT_CONFIG_GLOBAL -u GIT_CONFIG_COUNT "$@" \
    git -c safe.directory='*' -C "$top" config -z --get-regexp "^core\.($keys)$""#;

/// The user's variables that say where settings are, or have some.
fn is_of_settings(name: &str) -> bool {
    name == "XDG_CONFIG_HOME" || name.starts_with("GIT_CONFIG")
}

/// The files with settings of the user's and the machine's, which the room of [`copy_settings`] must be able to read.
pub(crate) fn files_to_read(repository: &Repository, users: &UsersMachine) -> Vec<PathBuf> {
    let files = settings_files(repository, users.home.as_deref(), &users.git_settings);
    let is_own = |file: &Path| repository.directories.iter().any(|directory| file.starts_with(directory));
    files.into_iter().map(|file| file.path).filter(|path| path.is_absolute() && !is_own(path)).collect()
}

/// Adds the settings for the working tree `top` to those of our repository `git`, and the attributes that are not in the tree. Of these, line
/// endings have an effect; filters and drivers have none, since our repository knows none.
pub(crate) async fn copy_settings(
    room: &GitRoom,
    repository: &Repository,
    users: &UsersMachine,
    top: &Path,
    git: &Path,
) -> Result<io::Result<()>, Fault> {
    let home = users.home.iter().map(|home| format!("HOME={}", home.display()));
    let variables = users.variables.iter().filter(|(name, _)| is_of_settings(name));
    let variables = variables.map(|(name, value)| format!("{name}={value}"));
    let args = [top.display().to_string()].into_iter().chain(home).chain(variables);
    // Settings that git cannot read hold for nobody.
    let printed = room.run(PRINT, args).await?;
    let settings = printed.stdout.split_terminator('\0').fold("[core]\n".to_owned(), |mut text, setting| {
        let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        text.push_str(&format!("{} = \"{value}\"\n", key.trim_start_matches("core.")));
        text
    });
    let (own, others): (Vec<_>, Vec<_>) = attribute_files(repository, top, users)
        .into_iter()
        .partition(|file| repository.directories.iter().any(|directory| file.starts_with(directory)));
    let others_file = git.join("users-attributes");
    let settings = format!("{settings}attributesFile = \"{}\"\n", others_file.display());
    let written = || {
        fs::create_dir_all(git.join("info"))?;
        fs::write(git.join("info/attributes"), joined(&own))?;
        fs::write(&others_file, joined(&others))?;
        File::options().append(true).open(git.join("config"))?.write_all(settings.as_bytes())
    };
    Ok(written())
}

/// The texts of files, one after another. Of several lines about a path, the last one counts.
fn joined(files: &[PathBuf]) -> String {
    let texts = files.iter().rev().filter_map(|file| read_text(file, SETTINGS_LIMIT).ok().flatten());
    texts.map(|text| text + "\n").collect()
}
