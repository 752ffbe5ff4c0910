//! Files of the working tree that the user's own git settings and hooks name: git runs or reads them by itself, whatever they are called.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::mem;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use autonoe_core::event::HookFile;
use autonoe_files::read_start;
use autonoe_sandbox::Repository;
use ignore::{DirEntry, WalkBuilder};

use crate::acting_names::{acting_names, names_of_files};
use crate::acting_settings::{ACTING_SETTINGS, included_by, lines_with_commands};
use crate::attached_values::{command_directories, with_values_apart};
use crate::command_settings::{as_file, command_settings};
use crate::computed_names::{directories_of_run_files, expanded_lines, with_own_name};
use crate::disk_links::ways_of;
use crate::found_names::{NamePattern, name_patterns, runs_composed_name};
use crate::git_settings::{
    SettingsFile, expand_home, names_commands_of_git, settings_files, settings_of_variables,
};
use crate::home_links::links_in_hidden_places;
use crate::hub::UsersMachine;
use crate::imported_modules::imported_files;
use crate::loading_options::loaded_directories;
use crate::option_modules::{is_perl, is_ruby, module_files, perl_directories};
use crate::place_variables::{is_acting, is_file_that_runs, loaded_by_options};
use crate::project_files::is_in;
use crate::reading_commands::{Printed, without_read_operands};
use crate::relative_places::{Place, RelativePlaces};
use crate::repository_places::{other_trees, places_elsewhere};
use crate::script_comments::{is_shell, without_comments};
use crate::settings_text::Setting;
use crate::shell_expansion::{HERE, expansions, lines_with_defaults, with_lines_of_shell};
use crate::tree_links::TreeLinks;

use crate::hook_text::{
    assignments, commands, completed, has_script_name, is_runner_file, mentioned, plain, run_one_by_one,
    runner_files, settings_places, sourced_files, words,
};

/// Bytes of a hook or script that are looked at, and the most hooks of a directory.
const HOOK_BYTES: u64 = 64 * 1024;
const MAX_HOOKS: usize = 64;

/// The most hooks and scripts that are looked at, the most files that they may mention, and the most settings in them.
const MAX_TEXTS: usize = 128;
const MAX_MENTIONED: usize = 20_000;
const MAX_SETTINGS: usize = 256;

/// The modes of a committed program, and of a link.
const RUNNABLE_MODES: [&str; 2] = ["100755", "120000"];

/// Directories of installed packages, whose scripts are not followed.
const INSTALLED: [&str; 4] = ["node_modules", ".venv", "vendor", "target"];

/// The names of git's hooks.
const GIT_HOOKS: [&str; 23] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// What git reads or runs in directories of its own, beside hooks.
const GIT_FILES: [&str; 8] =
    ["alternates", "attributes", "config", "config.worktree", "exclude", "grafts", "heads", "pack"];

/// Files and directories of a home directory with settings of the user's programs: what is in them is run, or says what is.
const USERS_OWN: [&str; 35] = [
    ".bash_aliases",
    ".bash_completion",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cargo",
    ".claude",
    ".codex",
    ".config/autonoe",
    ".config/autostart",
    ".config/direnv",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/mise",
    ".config/nvim",
    ".config/systemd",
    ".config/zsh",
    ".emacs.d",
    ".gemini",
    ".gitconfig",
    ".gnupg",
    ".inputrc",
    ".local/bin",
    ".local/lib",
    ".local/share/autonoe",
    ".npmrc",
    ".profile",
    ".ssh",
    ".vimrc",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Settings of git whose value is a path, also where it has neither a directory nor a dot, and where what is there decides what runs, what
/// is trusted or what is ignored.
const PATH_SETTINGS: [&str; 12] = [
    "allowedsignersfile",
    "attributesfile",
    "cookiefile",
    "excludesfile",
    "hookspath",
    "path",
    "revocationfile",
    "sslcainfo",
    "sslcapath",
    "sslcert",
    "templatedir",
    "worktree",
];

/// A script that direnv runs.
const ENVRC: &str = ".envrc";

/// Paths relative to the top of the working tree.
#[derive(Debug, Default)]
pub(crate) struct NamedPaths {
    /// Files and directories that settings or hooks name, whatever they are.
    named: Vec<String>,
    /// Files that hooks, or scripts that they run, mention; only scripts count.
    mentioned: HashSet<String>,
    /// Patterns of files that hooks may run.
    patterns: Vec<NamePattern>,
    /// Directories of which they select scripts by a pattern.
    script_directories: Vec<String>,
    /// Directories of programs that the user's shell searches.
    program_directories: Vec<String>,
    /// Hooks, and the files that programs in them read.
    runner_files: Vec<(String, &'static str)>,
    /// Directories that Perl searches in hooks.
    perl_directories: Vec<String>,
    relative: RelativePlaces,
    /// Settings of git that commands in texts bring with them: all, and those that are not looked at yet.
    known_of_commands: HashSet<Setting>,
    of_commands: Vec<Setting>,
    /// Files that were read.
    seen: HashSet<PathBuf>,
}

/// Where a text stands.
#[derive(Default)]
struct TextSource<'a> {
    /// The name by which it was started.
    name: Option<&'a str>,
    file: Option<&'a Path>,
    /// The path in the working tree.
    inside: Option<String>,
}

/// What the commands in git's settings are called where hooks have names.
const GIT_SETTINGS: &str = "git's settings";

/// A hook, or a script that one runs.
struct HookText {
    /// The name of the hook.
    hook: String,
    file: PathBuf,
    kind: TextKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Hook,
    Script,
    /// Settings, in which only some lines say what to run.
    Settings,
}

impl NamedPaths {
    /// Those that the settings and hooks of `repository`, whose working tree is `top`, the settings in the user's home and variables name.
    pub(crate) fn of(repository: &Repository, top: &Path, users: &UsersMachine) -> Self {
        let mut found = Self::default();
        let home = users.home.as_deref();
        let tree = WorkTree { top, home, variables: &users.variables };
        let is_no_sample = |name: &str| !name.ends_with(".sample");
        let mut texts: VecDeque<_> =
            repository.hooks().flat_map(|directory| hooks_in(&directory, is_no_sample)).collect();
        // It may be a link to a directory of the project.
        let real = repository.hooks().filter_map(|directory| directory.canonicalize().ok());
        found.named.extend(real.flat_map(|directory| tree.inside(&directory)));
        for place in places_elsewhere(repository) {
            let paths = tree.within(&place);
            if paths.iter().any(String::is_empty) {
                found.named.extend(GIT_HOOKS.iter().chain(&GIT_FILES).map(|name| (*name).to_owned()));
            }
            found.named.extend(paths.into_iter().filter(|path| !path.is_empty()));
        }
        let others = other_trees(repository);
        // They may be links into the project themselves, or the project may be the home directory.
        let of_user = home.into_iter().flat_map(|home| USERS_OWN.map(|name| home.join(name)));
        let of_user = of_user.chain(users.git_settings.iter().cloned());
        found.named.extend(of_user.flat_map(|path| tree.inside(&path)));
        for link in home.iter().flat_map(|home| links_in_hidden_places(home, top)) {
            let paths = tree.within(&link);
            if paths.iter().any(String::is_empty) {
                found.relative.add_project_itself();
            }
            found.named.extend(paths.into_iter().filter(|path| !path.is_empty()));
        }
        for value in &users.commands {
            let words: Vec<_> = tree.words(value).filter(|word| word.contains(['/', '.'])).collect();
            found.named.extend(words.iter().flat_map(|word| tree.relative(word)));
        }
        texts.extend(found.add_variables(users, tree));
        let of_variables = as_file(settings_of_variables(&users.variables), top);
        for file in settings_files(repository, home, &users.git_settings).iter().chain([&of_variables]) {
            texts.extend(found.add_settings_file(file, tree, &others));
        }
        let acting = ACTING_SETTINGS.iter().map(|name| (name, TextKind::Settings));
        let acting = acting.chain([(&ENVRC, TextKind::Script)]);
        texts.extend(acting.map(|(name, kind)| HookText {
            hook: (*name).to_owned(),
            file: top.join(name),
            kind,
        }));
        // Those of directories below act when the user goes there.
        texts.extend(below(top, ENVRC).into_iter().map(|file| HookText {
            hook: ENVRC.to_owned(),
            file,
            kind: TextKind::Script,
        }));
        found.add_texts(texts, tree);
        // Their values may be commands that have more of them.
        while let settings = mem::take(&mut found.of_commands)
            && !settings.is_empty()
        {
            let texts = found.add_settings_file(&as_file(settings, top), tree, &others);
            found.add_texts(texts.into(), tree);
        }
        found
    }

    /// Adds the links on the way of what is named, and where they lead.
    pub(crate) fn follow(&mut self, links: &TreeLinks) {
        let named: Vec<String> = self.named.iter().flat_map(|path| links.ways_of(path)).collect();
        let mentioned: Vec<String> = self.mentioned.iter().flat_map(|path| links.ways_of(path)).collect();
        self.named.extend(named);
        self.mentioned.extend(mentioned);
        self.relative.follow(links);
    }

    /// Whether a path is named, or in a directory that is. `mode` is git's.
    pub(crate) fn contains(&self, path: &str, mode: &str) -> bool {
        let is_script = has_script_name(path) || RUNNABLE_MODES.contains(&mode);
        let own = path.rsplit_once('/').unwrap_or_default().0;
        let is_selected = |directory: &String| own == directory;
        // These run without the user's doing anything that concerns them.
        let is_read = |(hook, file): &(String, &str)| {
            [ENVRC, GIT_SETTINGS].contains(&hook.as_str()) && is_runner_file(path, file)
        };
        self.named.iter().any(|named| is_in(path, named))
            || self.patterns.iter().any(|pattern| pattern.matches(path))
            || self.relative.contains(path, mode)
            || self.runner_files.iter().any(is_read)
            || is_script && (self.mentioned.contains(path) || self.script_directories.iter().any(is_selected))
    }

    /// Directories of programs that the user's shell searches because an `.envrc` says so.
    pub(crate) fn program_directories(&self) -> &[String] {
        &self.program_directories
    }

    /// Those of the changed files that programs in hooks read to know what to run.
    pub(crate) fn hook_files<'a>(&self, changed: impl IntoIterator<Item = &'a str>) -> Vec<HookFile> {
        let mut found = Vec::new();
        for path in changed {
            let hooks = self.runner_files.iter().filter(|(_, file)| is_runner_file(path, file));
            found.extend(hooks.map(|(hook, _)| HookFile { hook: hook.clone(), path: path.to_owned() }));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds what those of the user's variables name that act by themselves: as if a script set them in the working tree.
    fn add_variables(&mut self, users: &UsersMachine, tree: WorkTree) -> Vec<HookText> {
        let here = format!("{}/", tree.top.display());
        let value_of = |wanted: &str| {
            let found = users.variables.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.clone())
        };
        let mut known = HashSet::new();
        for (name, value) in &users.variables {
            // A shell joins what is quoted with what is beside it, and puts in the values of variables.
            let unquoted = value.replace(['"', '\'', '\\'], "");
            let mut values = expansions(&unquoted, &value_of);
            values.retain(|other| other != value);
            for value in values.iter().chain([value]) {
                if self.relative.add(name, value, |path| tree.within(Path::new(path))) {
                    known.insert(name.as_str());
                }
            }
        }
        let commands = users.variables.iter().filter(|(name, _)| names_commands_of_git(name));
        let commands: Vec<&str> = commands.map(|(_, value)| value.as_str()).collect();
        let mut texts =
            self.add_text(GIT_SETTINGS, &commands.join("\n"), TextKind::Hook, TextSource::default(), tree);
        let is_unknown = |name: &str| is_acting(name) && !known.contains(name);
        let of_project =
            users.variables.iter().filter(|(name, value)| is_unknown(name) && value.contains(&here));
        let mut script = String::new();
        for (name, value) in of_project {
            let relative = value.replace(&here, "./");
            let files = words(&relative).map(plain).filter(|path| tree.top.join(path).is_file());
            self.named.extend(files.filter(|path| !path.is_empty()));
            script.push_str(&format!("export {name}={}\n", value.replace(&here, "$PWD/")));
        }
        texts.extend(self.add_text(ENVRC, &script, TextKind::Script, TextSource::default(), tree));
        // What these files load in turn is loaded too.
        let files = users.variables.iter().filter(|(name, _)| is_file_that_runs(name));
        let files = files.flat_map(|(_, value)| words(value)).map(|word| word.trim_start_matches('@'));
        let files = files.flat_map(|word| {
            let path = word.strip_prefix(&here).unwrap_or(word);
            let is_elsewhere = path.starts_with(['/', '~', '-']);
            let found = completed("node", path).into_iter().chain([plain(path)]);
            found.filter(move |_| !is_elsewhere).collect::<Vec<_>>()
        });
        let files = files.map(|path| tree.top.join(path)).filter(|file| file.is_file());
        texts.extend(files.map(|file| HookText { hook: ENVRC.to_owned(), file, kind: TextKind::Script }));
        texts
    }

    /// Adds what the settings of a file name, and the hooks that they bring.
    fn add_settings_file(
        &mut self,
        file: &SettingsFile,
        tree: WorkTree,
        others: &[PathBuf],
    ) -> Vec<HookText> {
        let WorkTree { top, home, .. } = tree;
        self.add_settings(&file.settings, tree, others);
        let mut texts =
            self.add_text(GIT_SETTINGS, &file.values(), TextKind::Hook, TextSource::default(), tree);
        for (name, command) in file.aliases() {
            let hook = format!("alias.{name}");
            texts.extend(self.add_text(&hook, command, TextKind::Hook, TextSource::default(), tree));
        }
        file.alias_options().for_each(|options| self.add_command_settings(options, tree));
        self.named.extend(file.included(home).iter().flat_map(|path| tree.inside(path)));
        let of_others = others.iter().flat_map(|other| file.hook_directories(other, home));
        let of_others = of_others.filter(|directory| is_of_top(directory, top, others));
        for directory in file.hook_directories(top, home).into_iter().chain(of_others) {
            // The other files there are the project's.
            texts.extend(hooks_in(&directory, |name| GIT_HOOKS.contains(&name)));
            let of_top = GIT_HOOKS.iter().filter(|_| directory == top);
            self.named.extend(of_top.map(|name| (*name).to_owned()));
        }
        texts
    }

    /// Notes the settings of git in the commands of a text, which are looked at later.
    fn add_command_settings(&mut self, text: &str, tree: WorkTree) {
        let top = tree.top.display().to_string();
        let text = HERE.iter().fold(text.to_owned(), |text, here| text.replace(here, &top));
        for setting in command_settings(&text, tree.variables) {
            if self.known_of_commands.len() < MAX_SETTINGS && self.known_of_commands.insert(setting.clone()) {
                self.of_commands.push(setting);
            }
        }
    }

    /// Adds what settings name, also as seen from other working trees of the repository.
    fn add_settings(&mut self, settings: &[Setting], tree: WorkTree, others: &[PathBuf]) {
        for setting in settings {
            let names_a_path = PATH_SETTINGS.contains(&setting.key.as_str());
            let value = format!("{}\n{}", setting.value, with_values_apart(&setting.value, tree.top));
            let words = tree.words(&value).filter(|word| names_a_path || word.contains(['/', '.']));
            for word in words.map(|word| word.trim_start_matches('@').to_owned()) {
                self.named.extend(others.iter().flat_map(|other| tree.inside(&other.join(&word))));
                self.named.extend(tree.relative(word));
            }
        }
    }

    /// Adds what hooks name, and what the scripts that they mention mention in turn.
    fn add_texts(&mut self, mut texts: VecDeque<HookText>, tree: WorkTree) {
        while let Some(HookText { hook, file, kind }) = texts.pop_front() {
            if kind == TextKind::Hook {
                // A link may lead to what a commit brings.
                self.named.extend(tree.inside(&file));
            }
            let Some(real) = file.canonicalize().ok().filter(|_| self.seen.len() < MAX_TEXTS) else {
                continue;
            };
            let inside = real.strip_prefix(tree.top).ok().and_then(Path::to_str).map(str::to_owned);
            if !self.seen.insert(real.clone()) {
                continue;
            }
            let (text, _) = read_start(&real, HOOK_BYTES).ok().flatten().unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let name = file.file_name().and_then(|name| name.to_str());
            let source = TextSource { name, file: Some(&real), inside };
            texts.extend(self.add_text(&hook, &text, kind, source, tree));
        }
    }

    /// Adds what a text names. Returns the scripts that it runs.
    fn add_text(
        &mut self,
        hook: &str,
        text: &str,
        kind: TextKind,
        source: TextSource,
        tree: WorkTree,
    ) -> Vec<HookText> {
        let top = tree.top;
        let TextSource { name, file, inside } = source;
        let text = text.replace("\\\n", "");
        let code = without_comments(&text, file);
        let code = name.map_or_else(|| code.to_string(), |name| with_own_name(&code, name));
        let code = match kind != TextKind::Settings && is_shell(&code, file) {
            true if kind == TextKind::Hook => without_read_operands(&code, Printed::Shown),
            true => without_read_operands(&code, Printed::MaybeRun),
            false => code,
        };
        let code = match kind != TextKind::Settings && is_shell(&code, file) {
            true => with_lines_of_shell(code),
            false => code,
        };
        let code = format!("{code}\n{}", lines_with_defaults(&code));
        let text = match kind {
            TextKind::Settings => {
                let lines = lines_with_commands(&code);
                format!(
                    "{lines}\n{}\n{}",
                    lines_with_defaults(&lines),
                    expanded_lines(&lines, tree.variables)
                )
            }
            TextKind::Hook | TextKind::Script => {
                let expanded = match is_shell(&code, file) {
                    true => expanded_lines(&code, tree.variables),
                    false => String::new(),
                };
                // A shell joins what is quoted with what is beside it.
                let unquoted = format!("{code}\n{expanded}").replace(['"', '\'', '\\'], "");
                format!("{code}\n{expanded}\n{unquoted}")
            }
        };
        self.add_command_settings(&text, tree);
        let text = format!("{text}\n{}", with_values_apart(&text, top));
        self.script_directories.extend(command_directories(&text).into_iter().map(plain));
        if kind != TextKind::Settings && is_shell(&code, file) {
            self.named.extend(directories_of_run_files(&code));
        }
        if kind == TextKind::Hook {
            self.named.extend(inside.clone());
            self.named.extend(named_in_hook(&text, tree));
            let loaded = text.lines().flat_map(loaded_by_options).filter(|word| top.join(word).is_file());
            self.named.extend(loaded.map(plain));
        }
        if kind == TextKind::Settings {
            self.named.extend(included_by(&text));
        }
        // From the top, and from the directories to which it may change.
        let entered = directories_in(&text, top);
        for directory in loaded_directories(&text) {
            let paths = tree.relative(directory);
            let below =
                entered.iter().flat_map(|from| paths.iter().map(move |path| format!("{from}/{path}")));
            self.named.extend(below.collect::<Vec<_>>());
            self.named.extend(paths);
        }
        let runs_directories = text.lines().filter(|line| line.contains("run-parts"));
        self.named.extend(named_in_hook(&runs_directories.collect::<Vec<_>>().join("\n"), tree));
        for directory in run_one_by_one(&text) {
            let is_elsewhere =
                directory.starts_with(['/', '~']) && tree.within(Path::new(&directory)).is_empty();
            let paths = tree.relative(&directory);
            if paths.is_empty() && !is_elsewhere {
                self.script_directories.push(String::new());
            }
            self.named.extend(paths);
        }
        // Settings have the program and its arguments in different places.
        let as_command = match kind {
            TextKind::Settings => text.replace(['[', ']', '{', '}', ':', '\n'], " "),
            TextKind::Hook | TextKind::Script => text.clone(),
        };
        let mut loaded = Vec::new();
        for module in module_files(&as_command) {
            loaded.extend(entered.iter().map(|directory| format!("{directory}/{module}")));
            loaded.push(module);
        }
        let own = inside.as_deref().unwrap_or_default();
        if !own.is_empty() && kind != TextKind::Settings {
            loaded.extend(imported_files(&code, own, top, &self.perl_directories));
        }
        self.named.extend(loaded.iter().cloned());
        self.mentioned.extend(entered.iter().map(|directory| format!("{directory}/__main__.py")));
        let directory = inside.as_deref().and_then(|inside| inside.rsplit_once('/')).unwrap_or_default().0;
        let from: Vec<&str> = ["", directory].into_iter().chain(entered.iter().map(String::as_str)).collect();
        if kind != TextKind::Settings {
            let mut names = acting_names(&text, |name| top.join(name).is_file());
            if kind == TextKind::Hook {
                let is_file = |name: &str| from.iter().any(|from| top.join(from).join(name).is_file());
                names.extend(names_of_files(&text, is_file));
                self.patterns.extend(name_patterns(&text));
                self.script_directories.extend(runs_composed_name(&code).then(String::new));
            }
            for name in names {
                self.named.extend(from.iter().map(|from| plain(&format!("{from}/{name}"))));
            }
        }
        self.add_searched(hook, &as_command, &from, tree);
        // Programs and modules there come before others of their names.
        let path_lines = text.lines().filter(|line| line.contains("PATH"));
        // A hook runs programs of any name, a person those that are known.
        let (of_programs, of_both): (Vec<&str>, Vec<&str>) =
            path_lines.partition(|line| hook == ENVRC && has_only_programs(line));
        for (lines, directories) in [
            (of_programs.join("\n"), &mut self.program_directories),
            (of_both.join("\n"), &mut self.script_directories),
        ] {
            directories.extend(directories_in(&lines, top));
            directories.extend(new_directories(&lines));
        }
        let directories =
            if hook == ENVRC { &mut self.program_directories } else { &mut self.script_directories };
        directories.extend(direnv_programs(&text));
        if text.contains("dotenv") {
            self.named.extend([".env", ".env.local"].map(str::to_owned));
        }
        if text.contains("layout") {
            self.program_directories.push("node_modules/.bin".to_owned());
        }
        // Whatever is there acts, also what is not there yet.
        let places = settings_places(&text).into_iter();
        let places = places.filter(|word| word.contains(['/', '.']) || top.join(word).exists());
        self.named.extend(places.flat_map(|word| tree.relative(word)));
        let with_wildcard = words(&text).filter_map(|word| word.split_once('*'));
        let directories = with_wildcard.filter_map(|(before, _)| Some(before.rsplit_once('/')?.0));
        self.script_directories.extend(directories.map(plain).filter(|path| !path.is_empty()));
        self.runner_files.extend(runner_files(&text).map(|file| (hook.to_owned(), file)));
        let sourced = sourced_files(&as_command);
        let mut sourced: HashSet<String> = from
            .iter()
            .flat_map(|from| sourced.iter().map(move |path| plain(&format!("{from}/{path}"))))
            .filter(|path| !top.join(path).is_dir())
            .collect();
        let main_files: Vec<_> = sourced.iter().filter_map(|path| main_file(path, top)).collect();
        sourced.extend(main_files);
        self.named.extend(sourced.iter().cloned());
        let is_followed = |path: &str| !path.split('/').any(|part| INSTALLED.contains(&part));
        let files = loaded.iter().filter(|path| is_followed(path)).map(|path| top.join(path));
        let files = files.filter(|file| file.is_file());
        let mut scripts: Vec<HookText> =
            files.map(|file| HookText { hook: hook.to_owned(), file, kind: TextKind::Script }).collect();
        let paths = mentioned(&text, directory, entered.clone()).chain(sourced.iter().cloned());
        for path in paths {
            if self.mentioned.len() == MAX_MENTIONED {
                break;
            }
            let file = top.join(&path);
            let is_run = is_script(&file) || sourced.contains(&path);
            let is_followed = is_run && is_followed(&path);
            if self.mentioned.insert(path) && is_followed {
                scripts.push(HookText { hook: hook.to_owned(), file, kind: TextKind::Script });
            }
        }
        scripts
    }

    /// Adds the directories that programs in a text search for what they load: by variables that it sets, and by options.
    fn add_searched(&mut self, hook: &str, text: &str, from: &[&str], tree: WorkTree) {
        // These go on to where the user is.
        let is_anywhere = [ENVRC, GIT_SETTINGS].contains(&hook);
        let find = |entry: &str| match entry.starts_with(['/', '~']) {
            true => tree.within(Path::new(entry)).into_iter().map(Place::from_top).collect(),
            false if is_anywhere => vec![Place::from_anywhere(plain(entry))],
            false => from.iter().map(|from| Place::from_top(plain(&format!("{from}/{entry}")))).collect(),
        };
        let top = tree.top.display().to_string();
        let text = text.replace("${HOME}", "~").replace("$HOME", "~");
        let text = HERE.iter().fold(text, |text, here| text.replace(here, &top));
        for (name, value) in assignments(&text) {
            self.relative.add_loaded(name, &value, &find);
        }
        for words in commands(&text).map(Vec::from_iter) {
            if words.iter().any(is_perl) {
                let directories = perl_directories(&words).filter(|path| !path.starts_with(['/', '~']));
                let below = directories
                    .flat_map(|path| from.iter().map(move |from| plain(&format!("{from}/{path}"))));
                self.perl_directories.extend(below.collect::<Vec<_>>());
                self.relative.add_perl_directories(&words, &find);
            }
            if words.iter().any(is_ruby) {
                self.relative.add_ruby_directories(&words, &find);
            }
        }
    }
}

/// The changed files of the repository around `root` that programs in the user's hooks read to know what to run.
pub fn files_run_by_hooks<'a>(
    root: &Path,
    home: Option<&Path>,
    changed: impl IntoIterator<Item = &'a str>,
) -> Vec<HookFile> {
    let repository = Repository::around(root);
    let users = UsersMachine { home: home.map(Path::to_owned), ..UsersMachine::default() };
    NamedPaths::of(&repository, repository.top(root), &users).hook_files(changed)
}

/// Where paths that the user's settings name lead.
#[derive(Clone, Copy)]
struct WorkTree<'a> {
    top: &'a Path,
    home: Option<&'a Path>,
    /// The user's environment.
    variables: &'a [(String, String)],
}

impl WorkTree<'_> {
    /// The words of a text, with `~` for the home directory.
    fn words<'t>(self, text: &'t str) -> impl Iterator<Item = String> + use<'t> {
        let text = text.replace("${HOME}", "~").replace("$HOME", "~");
        words(&text).map(str::to_owned).collect::<Vec<_>>().into_iter()
    }

    /// A word as paths of the working tree, if it can be one. What it is relative to depends on the setting, so leading `../` are left
    /// out.
    fn relative(self, word: impl AsRef<str>) -> Vec<String> {
        let word = word.as_ref();
        match Path::new(word).is_absolute() || word.starts_with("~/") {
            true => self.inside(Path::new(word)),
            false => Some(plain(word)).filter(|path| !path.is_empty()).into_iter().collect(),
        }
    }

    /// As [`Self::within`], without the top itself.
    fn inside(self, path: &Path) -> Vec<String> {
        let mut paths = self.within(path);
        paths.retain(|path| !path.is_empty());
        paths
    }

    /// The paths of the working tree, relative to its top, that a path leads to; none for what is elsewhere. A link anywhere may lead there.
    fn within(self, path: &Path) -> Vec<String> {
        let path = path.to_str().map_or_else(|| path.to_owned(), |path| expand_home(path, self.home));
        let ways = ways_of(&path).into_iter().filter(|_| path.is_absolute());
        ways.filter_map(|way| Some(way.strip_prefix(self.top).ok()?.to_str()?.to_owned())).collect()
    }
}

/// Whether a directory belongs to the working tree `top`, and not to another one within it.
fn is_of_top(directory: &Path, top: &Path, others: &[PathBuf]) -> bool {
    let mut within = others.iter().filter(|other| *other != top && other.starts_with(top));
    directory.starts_with(top) && !within.any(|other| directory.starts_with(other))
}

/// Files of a name in directories of the project, not too deep.
fn below(top: &Path, name: &str) -> Vec<PathBuf> {
    const MAX_DEPTH: usize = 4;
    let is_installed =
        |entry: &DirEntry| INSTALLED.iter().chain(&[".git"]).any(|name| entry.file_name() == *name);
    let walk = WalkBuilder::new(top)
        .standard_filters(false)
        .follow_links(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(move |entry| !is_installed(entry))
        .build();
    let found = walk.filter_map(Result::ok).take(MAX_MENTIONED).filter(|entry| entry.file_name() == name);
    found.map(DirEntry::into_path).take(MAX_HOOKS).collect()
}

/// The hooks in a directory, which have these names.
fn hooks_in(directory: &Path, is_hook_name: impl Fn(&str) -> bool) -> Vec<HookText> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let hooks = names.filter(|name| is_hook_name(name)).take(MAX_HOOKS);
    hooks.map(|hook| HookText { file: directory.join(&hook), hook, kind: TextKind::Hook }).collect()
}

/// The paths that a hook names. A directory counts only where its files are run one by one; elsewhere it is what a linter looks at.
fn named_in_hook(text: &str, tree: WorkTree) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let runs_all = line.contains("for ") || line.contains("run-parts");
        let is_directory = |word: &str| runs_all && tree.top.join(word).is_dir();
        let words = tree.words(line).filter(|word| word.contains('/') || is_directory(word));
        let words = words.map(|word| match word.split_once('*') {
            Some((before, _)) if runs_all => before.to_owned(),
            // A file with more options.
            _ => word.trim_start_matches('@').to_owned(),
        });
        let paths = words.flat_map(|word| tree.relative(word));
        found.extend(paths.filter(|path| runs_all || !tree.top.join(path).is_dir()));
    }
    found
}

/// Whether a line says where programs are, and not where libraries or modules are.
fn has_only_programs(line: &str) -> bool {
    let is_of_paths = |word: &&str| word.contains("PATH");
    words(line).filter(is_of_paths).all(|word| ["PATH", "PATH_add", "MANPATH"].contains(&word))
}

/// The directories of programs that functions of direnv name, whether they exist or not.
fn direnv_programs(text: &str) -> Vec<String> {
    let is_one = |line: &&str| ["PATH_add", "path_add", "load_prefix"].iter().any(|name| line.contains(name));
    let words: Vec<&str> = text.lines().filter(is_one).flat_map(words).collect();
    let named = words.iter().map(|word| plain(word)).filter(|path| !path.is_empty());
    let top = words.iter().filter(|word| matches!(**word, "." | "./")).map(|_| String::new());
    named.flat_map(|path| [format!("{path}/bin"), path]).chain(top).collect()
}

/// The directories that lines with search paths name, whether they exist or not. Before the first slash there may be a variable.
fn new_directories(path_lines: &str) -> Vec<String> {
    let named = words(path_lines).filter(|word| word.contains('/'));
    let named = named.flat_map(|word| [word, word.split_once('/').unwrap_or_default().1]);
    named.map(plain).filter(|path| !path.is_empty()).collect()
}

/// The directories of the working tree that a text names, to which it may change.
fn directories_in(text: &str, top: &Path) -> Vec<String> {
    const MAX_DIRECTORIES: usize = 16;
    // What comes before the first slash may be the name of a variable.
    let named = words(text).flat_map(|word| [word, word.split_once('/').unwrap_or_default().1]);
    let named = named.map(plain).filter(|path| !path.is_empty() && top.join(path).is_dir());
    named.take(MAX_DIRECTORIES).collect()
}

/// The file that node runs because of a `package.json`; `None` for other files, and if it does not say.
fn main_file(path: &str, top: &Path) -> Option<String> {
    let directory = path.strip_suffix("package.json")?;
    let (text, _) = read_start(&top.join(path), HOOK_BYTES).ok().flatten()?;
    let package: serde_json::Value = serde_json::from_slice(&text).ok()?;
    Some(plain(&format!("{directory}{}", package.get("main")?.as_str()?)))
}

/// Whether a path is a file that can be run.
fn is_script(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| {
        metadata.is_file()
            && (metadata.permissions().mode() & 0o111 != 0 || path.to_str().is_some_and(has_script_name))
    })
}

#[cfg(test)]
mod tests;
