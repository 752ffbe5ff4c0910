//! The user's own settings of git: which files they include, which commands they have, and what they say about attributes.

use std::collections::{HashSet, VecDeque};
use std::mem;
use std::path::{Path, PathBuf};

use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_sandbox::Repository;

use crate::hook_text::words;
use crate::hub::UsersMachine;
use crate::repository_places::linked_directories;
use crate::settings_text::{Setting, parse};

/// The most files of settings that are read.
const MAX_FILES: usize = 128;

/// A file with settings of git.
#[derive(Debug)]
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    pub(crate) settings: Vec<Setting>,
}

impl SettingsFile {
    /// The files that it includes, under whatever condition; a path is relative to the file that names it.
    pub(crate) fn included(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        let is_include = |setting: &&Setting| {
            ["include", "includeif"].contains(&setting.section.as_str()) && setting.key == "path"
        };
        let paths = self.settings.iter().filter(is_include);
        paths.map(|setting| directory.join(expand_home(&setting.value, home))).collect()
    }

    /// The directories with hooks that it names. Those of Husky run the ones in the directory above.
    pub(crate) fn hook_directories(&self, top: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let mut directories = Vec::new();
        for setting in self.settings.iter().filter(|setting| setting.key == "hookspath") {
            let directory = top.join(expand_home(&setting.value, home));
            // One that is missing is found as soon as somebody makes it.
            let directory = directory.canonicalize().unwrap_or(directory);
            let is_of_husky = directory.file_name().is_some_and(|name| name == "_");
            directories.extend(directory.parent().filter(|_| is_of_husky).map(Path::to_owned));
            directories.push(directory);
        }
        directories
    }

    /// All values but those of aliases, which only the user's own words start, and addresses that are commands.
    pub(crate) fn values(&self) -> String {
        let others = self.settings.iter().filter(|setting| setting.section != "alias");
        let addresses = others.clone().map(|setting| &setting.subsection);
        let addresses = addresses.filter(|address| address.starts_with("ext::"));
        let values = others.clone().map(|setting| &setting.value).chain(addresses);
        values.map(|value| format!("{value}\n")).collect()
    }

    /// The options and arguments of aliases that git runs itself.
    pub(crate) fn alias_options(&self) -> impl Iterator<Item = &str> {
        let aliases = self.settings.iter().filter(|setting| setting.section == "alias");
        aliases.map(|setting| setting.value.trim()).filter(|value| !value.starts_with('!'))
    }

    /// The names of aliases, and the commands that a shell runs for them.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        let aliases = self.settings.iter().filter(|setting| setting.section == "alias");
        aliases.filter_map(|setting| Some((&*setting.key, setting.value.trim().strip_prefix('!')?)))
    }
}

/// The settings of git, also those of the repository's other working trees, and the files that they include, in turn.
pub(crate) fn settings_files(
    repository: &Repository,
    home: Option<&Path>,
    more: &[PathBuf],
) -> Vec<SettingsFile> {
    let own = repository.directories.iter();
    let own = own.flat_map(|directory| ["config", "config.worktree"].map(|name| directory.join(name)));
    let of_user =
        home.into_iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
    let of_trees =
        linked_directories(repository).into_iter().map(|directory| directory.join("config.worktree"));
    let mut queue: VecDeque<PathBuf> =
        own.chain(of_user).chain(more.iter().cloned()).chain(of_trees).collect();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    while let Some(path) = queue.pop_front() {
        if found.len() == MAX_FILES || !seen.insert(path.clone()) {
            continue;
        }
        let Some(text) = read_text(&path, SETTINGS_LIMIT).ok().flatten() else { continue };
        let file = SettingsFile { path, settings: parse(&text) };
        queue.extend(file.included(home));
        found.push(file);
    }
    found
}

/// A path that may begin with `~`.
pub(crate) fn expand_home(path: &str, home: Option<&Path>) -> PathBuf {
    match (Path::new(path).strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path),
    }
}

/// The files with attributes beside those of the project. A relative path is one in the working tree at `top`.
pub(crate) fn attribute_files(repository: &Repository, top: &Path, users: &UsersMachine) -> Vec<PathBuf> {
    let own = repository.directories.iter().map(|git| git.join("info/attributes"));
    let others = usual_files("attributes", users).into_iter().chain([PathBuf::from("/etc/gitattributes")]);
    let named = named_by("attributesfile", repository, users).into_iter().map(|file| top.join(file));
    own.chain(others).chain(named).collect()
}

/// The places of a file of the user's beside the settings of git. A variable moves them.
pub(crate) fn usual_files(name: &str, users: &UsersMachine) -> Vec<PathBuf> {
    // These name other files by any name.
    let is_other = |file: &&PathBuf| {
        let is_one = |name: &str| ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].contains(&name);
        users.variables.iter().any(|(name, value)| is_one(name) && Path::new(value) == *file)
    };
    let moved = users.git_settings.iter().filter(|file| file.ends_with("git/config") && !is_other(file));
    let moved: Vec<PathBuf> = moved.map(|file| file.with_file_name(name)).collect();
    match moved.is_empty() {
        true => users.home.iter().map(|home| home.join(".config/git").join(name)).collect(),
        false => moved,
    }
}

/// The files that a setting names.
fn named_by(key: &str, repository: &Repository, users: &UsersMachine) -> Vec<PathBuf> {
    let home = users.home.as_deref();
    let files = settings_files(repository, home, &users.git_settings).into_iter();
    let settings = files.flat_map(|file| file.settings).chain(settings_of_variables(&users.variables));
    let named = settings.filter(|setting| setting.key == key);
    named.map(|setting| expand_home(&setting.value, home)).collect()
}

/// The settings in an environment, in git's order.
pub(crate) fn settings_of_variables(variables: &[(String, String)]) -> Vec<Setting> {
    const MAX_COUNT: usize = 1000;
    let variable = |wanted: &str| {
        let found = variables.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str())
    };
    let count = variable("GIT_CONFIG_COUNT").and_then(|count| count.trim().parse::<usize>().ok());
    let counted = (0..count.unwrap_or_default().min(MAX_COUNT)).filter_map(|at| {
        let key = variable(&format!("GIT_CONFIG_KEY_{at}"))?;
        setting_of(key, variable(&format!("GIT_CONFIG_VALUE_{at}")).unwrap_or_default())
    });
    let parameters = unquoted_words(variable("GIT_CONFIG_PARAMETERS").unwrap_or_default());
    let parameters = parameters.iter().filter_map(|word| {
        let (key, value) = word.split_once('=').unwrap_or((word, "true"));
        setting_of(key, value)
    });
    counted.chain(parameters).collect()
}

/// A setting with a name such as `core.pager` or `diff.markdown.textconv`.
pub(crate) fn setting_of(name: &str, value: &str) -> Option<Setting> {
    let (section, key) = name.rsplit_once('.')?;
    let (section, subsection) = section.split_once('.').unwrap_or((section, ""));
    let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
    Some(Setting { section, subsection: subsection.to_owned(), key, value: value.to_owned() })
}

/// The words of a text in which quotes and backslashes keep blanks together.
pub(crate) fn unquoted_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => word.extend(chars.next()),
            (None, c) if c.is_whitespace() => words.push(mem::take(&mut word)),
            (_, c) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The drivers of attributes that the user has configured, such as `diff.markdown`.
pub(crate) fn configured_drivers(repository: &Repository, users: &UsersMachine) -> HashSet<String> {
    let files = settings_files(repository, users.home.as_deref(), &users.git_settings).into_iter();
    let named = files.flat_map(|file| file.settings).filter(|setting| !setting.subsection.is_empty());
    let drivers = named.map(|setting| format!("{}.{}", setting.section, setting.subsection));
    let of_variables = users.variables.iter().filter(|(name, _)| name.starts_with("GIT_CONFIG_"));
    let keys = of_variables.flat_map(|(_, value)| words(value)).filter_map(|word| word.rsplit_once('.'));
    drivers.chain(keys.map(|(driver, _)| driver.to_owned())).collect()
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
    use std::path::{Path, PathBuf};

    use super::SettingsFile;
    use crate::settings_text::parse;

    fn file(text: &str) -> SettingsFile {
        SettingsFile { path: PathBuf::from("/etc/x/config"), settings: parse(text) }
    }

    #[test]
    fn commands_of_aliases_are_told_from_other_values() {
        let file = file(
            "[core]\n\tpager = less\n[alias]\n\tst = status -sb\n\tci = \"!make x\"\n\
             [alias] x = !npm run x\n[alias \"y\"]\n\tcommand = !sh y\n",
        );
        assert_eq!(file.values().trim(), "less");
        let aliases: Vec<_> = file.aliases().collect();
        assert_eq!(aliases, [("ci", "make x"), ("x", "npm run x"), ("command", "sh y")]);
    }

    #[test]
    fn only_includes_include() {
        let text = "[include] path = more\n[includeIf \"gitdir:~/w/\"]\npath = ~/w.config\n[difftool \"x\"]\npath = /no";
        let included = file(text).included(Some(Path::new("/home/u")));
        assert_eq!(included, [Path::new("/etc/x/more"), Path::new("/home/u/w.config")]);
    }
}
