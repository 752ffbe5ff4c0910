//! The user's own settings of git, read as text: which files they include, which commands they have, and what they say about attributes.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_sandbox::Repository;

use crate::hook_text::words;
use crate::hub::UsersMachine;

/// The most files of settings that are read.
const MAX_FILES: usize = 128;

/// The settings of git, and the files that they include, in turn.
pub(crate) fn settings_files(
    repository: &Repository,
    home: Option<&Path>,
    more: &[PathBuf],
) -> Vec<(PathBuf, String)> {
    let own = repository.directories.iter();
    let own = own.flat_map(|directory| ["config", "config.worktree"].map(|name| directory.join(name)));
    let of_user =
        home.into_iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
    let mut queue: VecDeque<PathBuf> = own.chain(of_user).chain(more.iter().cloned()).collect();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    while let Some(file) = queue.pop_front() {
        if found.len() == MAX_FILES || !seen.insert(file.clone()) {
            continue;
        }
        let Some(text) = read_text(&file, SETTINGS_LIMIT).ok().flatten() else { continue };
        let home = |path: &PathBuf| match (path.strip_prefix("~").ok(), home) {
            (Some(below), Some(home)) => home.join(below),
            _ => path.clone(),
        };
        queue.extend(included(&file, &text).iter().map(home));
        found.push((file, text));
    }
    found
}

/// The files that the settings in `file` include; a path is relative to the file that names it.
pub(crate) fn included(file: &Path, settings: &str) -> Vec<PathBuf> {
    let pairs = settings.lines().filter_map(|line| line.split_once('='));
    let paths = pairs.filter(|(key, _)| key.trim().eq_ignore_ascii_case("path"));
    let paths = paths.map(|(_, value)| PathBuf::from(value.trim().trim_matches('"')));
    let directory = file.parent().unwrap_or(Path::new("/"));
    paths.map(|path| if path.starts_with("~") { path } else { directory.join(path) }).collect()
}

/// Settings of `core` that decide how files are written.
const OF_WRITING: [&str; 6] = ["autocrlf", "eol", "filemode", "ignorecase", "precomposeunicode", "symlinks"];

/// The user's own settings about how files are written, for all repositories, as git's settings have them.
pub(crate) fn settings_of_writing(repository: &Repository, users: &UsersMachine) -> String {
    let files = settings_files(repository, users.home.as_deref(), &users.git_settings);
    let is_own = |file: &Path| repository.directories.iter().any(|directory| file.starts_with(directory));
    let mut settings = "[core]\n".to_owned();
    // Of the usual files, the first one counts most.
    for (_, text) in files.iter().filter(|(file, _)| !is_own(file)).rev() {
        let mut is_core = false;
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                is_core =
                    section.split(']').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("core"));
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase());
            let is_plain = !value.is_empty() && value.chars().all(|c| c.is_ascii_lowercase());
            if is_core && is_plain && OF_WRITING.contains(&key.as_str()) {
                settings.push_str(&format!("{key} = {value}\n"));
            }
        }
    }
    settings
}

/// The files with what the user ignores in every repository.
pub(crate) fn ignore_files(repository: &Repository, users: &UsersMachine) -> Vec<PathBuf> {
    let usual = users.home.iter().map(|home| home.join(".config/git/ignore"));
    usual.chain(named_by("excludesfile", repository, users)).collect()
}

/// The files with attributes beside those of the project.
pub(crate) fn attribute_files(repository: &Repository, users: &UsersMachine) -> Vec<PathBuf> {
    let own = repository.directories.iter().map(|git| git.join("info/attributes"));
    let usual = users.home.iter().map(|home| home.join(".config/git/attributes"));
    let moved = users.git_settings.iter().filter(|file| file.ends_with("git/config"));
    let moved = moved.map(|file| file.with_file_name("attributes"));
    let of_machine = [PathBuf::from("/etc/gitattributes")];
    let others = usual.chain(moved).chain(of_machine);
    own.chain(others).chain(named_by("attributesfile", repository, users)).collect()
}

/// The files that a setting names.
fn named_by(key: &str, repository: &Repository, users: &UsersMachine) -> Vec<PathBuf> {
    let home = users.home.as_deref();
    let mut files = Vec::new();
    for (_, text) in settings_files(repository, home, &users.git_settings) {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        let named = pairs.filter(|(name, _)| last_word(name).eq_ignore_ascii_case(key));
        files.extend(named.map(|(_, value)| {
            let value = Path::new(value.trim().trim_matches('"'));
            match (value.strip_prefix("~"), home) {
                (Ok(below), Some(home)) => home.join(below),
                _ => value.to_owned(),
            }
        }));
    }
    files
}

/// A key may stand behind the name of its section.
fn last_word(text: &str) -> &str {
    text.trim().rsplit([' ', ']']).next().unwrap_or_default()
}

/// The drivers of attributes that the user has configured, such as `diff.markdown`.
pub(crate) fn configured_drivers(repository: &Repository, users: &UsersMachine) -> HashSet<String> {
    let mut found = HashSet::new();
    for (_, text) in settings_files(repository, users.home.as_deref(), &users.git_settings) {
        found.extend(text.lines().filter_map(|line| driver_of_section(line.trim())));
    }
    let of_variables = users.variables.iter().filter(|(name, _)| name.starts_with("GIT_CONFIG_"));
    let keys = of_variables.flat_map(|(_, value)| words(value)).filter_map(|word| word.rsplit_once('.'));
    found.extend(keys.map(|(driver, _)| driver.to_owned()));
    found
}

/// `diff.markdown` for the section `[diff "markdown"]`.
fn driver_of_section(line: &str) -> Option<String> {
    let (section, _) = line.strip_prefix('[')?.split_once(']')?;
    let (kind, name) = section.split_once([' ', '\t', '.'])?;
    Some(format!("{}.{}", kind.to_ascii_lowercase(), name.trim().trim_matches('"')))
}

/// The directories with hooks that settings name. Those of Husky run the ones in the directory above.
pub(crate) fn hook_directories(settings: &str, top: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    for line in settings.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        if !key.trim().eq_ignore_ascii_case("hookspath") {
            continue;
        }
        let value = value.trim().trim_matches('"');
        let directory = match (value.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            _ => top.join(value),
        };
        let Ok(directory) = directory.canonicalize() else { continue };
        let is_of_husky = directory.file_name().is_some_and(|name| name == "_");
        directories.extend(directory.parent().filter(|_| is_of_husky).map(Path::to_owned));
        directories.push(directory);
    }
    directories
}

/// The commands in git's settings, as git reads them.
#[derive(Debug, Default)]
pub(crate) struct SettingsCommands {
    /// All values but those of aliases, which only the user's own words start.
    pub(crate) values: String,
    /// The names of aliases, and the commands that a shell runs for them.
    pub(crate) aliases: Vec<(String, String)>,
}

impl SettingsCommands {
    pub(crate) fn of(text: &str) -> Self {
        let mut found = Self::default();
        let mut section = String::new();
        for line in text.replace("\\\n", " ").lines().map(str::trim) {
            if line.starts_with('[') {
                section = line.to_ascii_lowercase();
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = value.replace("\\\"", "\u{1}").replace('"', "").replace('\u{1}', "\"");
            let value = value.replace("\\t", " ").replace("\\n", "\n").replace("\\\\", "\\");
            match (section.starts_with("[alias"), value.trim().strip_prefix('!')) {
                (true, Some(command)) => {
                    let name = key.rsplit(']').next().unwrap_or(key).trim();
                    found.aliases.push((name.to_owned(), command.to_owned()));
                }
                (true, None) => {}
                (false, _) => found.values.extend([&value, "\n"]),
            }
        }
        found
    }
}

/// Whether git, or a shell that shows its prompt, runs what the variable says.
pub(crate) fn names_commands_of_git(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "EDITOR",
        "GIT_ASKPASS",
        "GIT_CONFIG_PARAMETERS",
        "GIT_EDITOR",
        "GIT_EXTERNAL_DIFF",
        "GIT_PAGER",
        "GIT_PROXY_COMMAND",
        "GIT_SEQUENCE_EDITOR",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "PAGER",
        "PROMPT_COMMAND",
        "SSH_ASKPASS",
        "VISUAL",
    ];
    NAMES.contains(&name) || name.starts_with("GIT_CONFIG_VALUE_")
}

#[cfg(test)]
mod tests {
    use super::{SettingsCommands, driver_of_section};

    #[test]
    fn commands_of_aliases_are_told_from_other_values() {
        let text = "[core]\n\tpager = less\n[alias]\n\tst = status -sb\n\tci = \"!make \\\"x\\\" && \\\n git commit\"\n\
                    [alias] x = !npm run x\n[alias \"y\"]\n\tcommand = !sh y\n";
        let found = SettingsCommands::of(text);
        assert_eq!(found.values.trim(), "less");
        let aliases = [("ci", "make \"x\" &&   git commit"), ("x", "npm run x"), ("command", "sh y")];
        assert_eq!(found.aliases, aliases.map(|(name, command)| (name.to_owned(), command.to_owned())));
    }

    #[test]
    fn sections_name_drivers() {
        for (line, driver) in [
            ("[diff \"markdown\"]", Some("diff.markdown")),
            ("[Diff\t\"Own\"] textconv = x", Some("diff.Own")),
            ("[merge.union]", Some("merge.union")),
            ("[diff]", None),
            ("textconv = x", None),
        ] {
            assert_eq!(driver_of_section(line).as_deref(), driver, "{line}");
        }
    }
}
