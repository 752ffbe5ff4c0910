//! What the text of a hook or script mentions: scripts of the working tree, modules, and programs that run what other files say.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path};

use crate::interpreters::{is_python, runs_go_files};
use crate::place_variables::is_acting;
use crate::shell_expansion::{HERE, expansions};

/// Programs that run what files of a project say, and the names or paths of these files, in small letters. A star stands for anything, a final
/// slash for all files in a directory.
const RUNNERS: [(&[&str], &[&str]); 31] = [
    (&["make", "gmake"], &["makefile", "gnumakefile", "*.mk"]),
    (&["npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "nx", "turbo"], &["package.json"]),
    (&["npm", "npx", "pnpm", "pnpx"], &[".npmrc", ".pnpmfile.*"]),
    (&["yarn"], &[".yarnrc", ".yarnrc.yml", ".yarn/releases/", ".yarn/plugins/"]),
    (&["bun", "bunx"], &["bunfig.toml"]),
    (&["nx"], &["nx.json", "project.json"]),
    (&["turbo"], &["turbo.json", "turbo.jsonc"]),
    (&["lint-staged"], &["package.json", ".lintstagedrc*", "lint-staged.config.*"]),
    (&["gulp"], &["gulpfile.*", "gulpfile.js/"]),
    (&["grunt"], &["gruntfile.*"]),
    (&["just"], &["justfile", ".justfile", "*.just"]),
    (&["task", "go-task"], &["taskfile.yml", "taskfile.yaml", "taskfile.dist.yml", "taskfile.dist.yaml"]),
    (&["bundle"], &["gemfile", "*.gemspec", ".bundle/"]),
    (&["rake"], &["rakefile", "rakefile.rb", "*.rake"]),
    (&["tox"], &["tox.ini", "pyproject.toml", "setup.cfg"]),
    (&["nox"], &["noxfile.py"]),
    (&["invoke", "inv"], &["tasks.py"]),
    (&["doit"], &["dodo.py", "pyproject.toml"]),
    (&["poe", "hatch", "pdm"], &["pyproject.toml"]),
    (&["scons"], &["sconstruct", "sconstruct.py", "sconscript", "sconscript.py", "site_scons/"]),
    (&["ninja", "samu"], &["*.ninja"]),
    (&["meson"], &["meson.build"]),
    (&["cmake"], &["cmakelists.txt", "cmakepresets.json", "*.cmake"]),
    (
        &["bazel", "bazelisk"],
        &["build", "workspace", "*.bazel", "*.bzl", ".bazelrc", ".bazelversion", "tools/bazel"],
    ),
    (&["composer"], &["composer.json"]),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (&["mvn", "mvnw"], &["pom.xml", ".mvn/"]),
    (
        &["gradle", "gradlew"],
        &["*.gradle", "*.gradle.kts", "gradle.properties", "gradle/wrapper/", "*.versions.toml", "buildsrc/"],
    ),
    (&["ant"], &["build.xml"]),
    (&["mage"], &["magefile.go", "magefiles/"]),
    (&["cargo"], &["build.rs", "xtask/", ".cargo/"]),
];

/// Words before a command that do not matter for what it runs.
const LEADING: [&str; 35] = [
    "bundle", "if", "then", "else", "elif", "while", "until", "do", "!", "exec", "command", "env", "time",
    "nice", "sudo", "timeout", "xargs", "nohup", "sh", "bash", "dash", "zsh", "npx", "npm", "pnpm", "yarn",
    "bun", "bunx", "uv", "poetry", "run", "dlx", "x", "eval", "return",
];

/// Ends of the names of scripts.
const SCRIPT_ENDS: [&str; 15] =
    ["sh", "bash", "zsh", "fish", "py", "rb", "pl", "php", "js", "cjs", "mjs", "ts", "mts", "lua", "awk"];

/// Whether the name is that of a script.
pub(crate) fn has_script_name(path: &str) -> bool {
    Path::new(path).extension().and_then(|end| end.to_str()).is_some_and(|end| SCRIPT_ENDS.contains(&end))
}

/// Whether a path is one of the files that a runner reads, as `files` of [`runner_files`] names them.
pub(crate) fn is_runner_file(path: &str, file: &str) -> bool {
    let path = path.to_ascii_lowercase();
    if file.ends_with('/') {
        return path.starts_with(file) || path.contains(&format!("/{file}"));
    }
    if file.contains('/') {
        return path == file || path.ends_with(&format!("/{file}"));
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    match file.split_once('*') {
        Some((beginning, end)) => name.starts_with(beginning) && name.ends_with(end),
        None => name == file,
    }
}

/// The files that the runners in a text read.
pub(crate) fn runner_files(text: &str) -> impl Iterator<Item = &'static str> {
    commands(text).flat_map(|words| {
        let words: Vec<&str> = words.collect();
        let mut found = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let word = word.rsplit('/').next().unwrap_or_default();
            if word == "go" && runs_go_files(&words[at..]) {
                found.push("*.go");
            }
            let runners = RUNNERS.iter().filter(|(programs, _)| programs.contains(&word));
            found.extend(runners.flat_map(|(_, files)| *files).copied());
            let is_leading = LEADING.contains(&word) || word.starts_with('-') || word.contains('=');
            if !is_leading {
                break;
            }
        }
        found
    })
}

/// The directories whose programs a text runs one after another with `run-parts`, whether they exist or not. The directory in which it runs is
/// `.`.
pub(crate) fn run_one_by_one(text: &str) -> Vec<String> {
    const PROGRAM: &str = "run-parts";
    if !text.contains(PROGRAM) {
        return Vec::new();
    }
    let set: HashMap<&str, String> = assignments(text).collect();
    let lines = text.lines().filter(|line| [PROGRAM, "cd ", "pushd "].iter().any(|name| line.contains(name)));
    let lines: Vec<String> =
        lines.flat_map(|line| expansions(line, &|name| set.get(name).cloned())).collect();
    let mut entered = vec![".".to_owned()];
    let mut found = Vec::new();
    for words in lines.iter().flat_map(|line| commands(line)).map(Vec::from_iter) {
        let is_program = |word: &&str| word.rsplit('/').next() == Some(PROGRAM);
        let after = |at: usize| words[at..].iter().filter(|word| !word.starts_with('-'));
        if words.first().is_some_and(|word| ["cd", "pushd"].contains(word)) {
            entered.extend(after(1).next().map(|word| (*word).to_owned()));
        }
        let Some(at) = words.iter().position(is_program) else { continue };
        for directory in after(at + 1) {
            match directory.starts_with(['/', '~']) {
                true => found.push((*directory).to_owned()),
                false => found.extend(entered.iter().map(|from| format!("{from}/{directory}"))),
            }
        }
    }
    found
}

/// Programs that run a file which is not always named in full, and what they may put behind its name.
const COMPLETED: [(&[&str], &[&str]); 4] = [
    (
        &["node", "nodejs", "bun", "deno", "ts-node", "tsx"],
        &[
            ".js",
            ".cjs",
            ".mjs",
            ".json",
            ".node",
            ".ts",
            ".cts",
            ".mts",
            ".tsx",
            ".jsx",
            "/index.js",
            "/index.cjs",
            "/index.mjs",
            "/index.json",
            "/index.node",
            "/index.ts",
            "/package.json",
        ],
    ),
    (&["ruby"], &[".rb"]),
    (&["emacs"], &[".el", ".elc"]),
    (&["python"], &["/__main__.py"]),
];

/// How many words after an interpreter may be the file that it runs: options with values can come first.
const MAX_WORDS: usize = 8;

/// The most files of a text that are followed.
const MAX_SOURCED: usize = 4000;

/// The paths that a program runs if it is given this word.
pub(crate) fn completed(program: &str, word: &str) -> Vec<String> {
    let program = if is_python(program) { "python" } else { program };
    let ends =
        COMPLETED.iter().filter(|(programs, _)| programs.contains(&program)).flat_map(|(_, ends)| *ends);
    let path = plain(word);
    ends.filter(|_| !path.is_empty()).map(|end| format!("{path}{end}")).collect()
}

/// The files that a program runs if it is given the directory in which it starts.
fn run_in_directory(program: &str) -> impl Iterator<Item = String> {
    completed(program, "x").into_iter().filter_map(|path| path.strip_prefix("x/").map(str::to_owned))
}

/// The files that a text has a shell or an interpreter read, whatever their names are.
pub(crate) fn sourced_files(text: &str) -> Vec<String> {
    const READERS: [&str; 43] = [
        ".",
        "source",
        "source_env",
        "source_env_if_exists",
        "dotenv",
        "dotenv_if_exists",
        "sh",
        "bash",
        "dash",
        "zsh",
        "fish",
        "node",
        "nodejs",
        "perl",
        "ruby",
        "bun",
        "deno",
        "ts-node",
        "tsx",
        "php",
        "lua",
        "luajit",
        "Rscript",
        "julia",
        "tclsh",
        "elixir",
        "ash",
        "expect",
        "gjs",
        "groovy",
        "guile",
        "java",
        "jshell",
        "kotlin",
        "ksh",
        "mksh",
        "osascript",
        "pwsh",
        "racket",
        "raku",
        "runghc",
        "scala",
        "xonsh",
    ];
    let mut found = HashSet::new();
    let whole = without_substitutions(text);
    for words in commands(text).map(Vec::from_iter).chain(commands(&whole).map(Vec::from_iter)) {
        for (at, reader) in words.iter().enumerate() {
            let name = reader.rsplit('/').next().unwrap_or_default();
            let is_reader = *reader == "." || READERS.contains(&name) || is_python(name);
            if !is_reader && completed(name, "x").is_empty() || found.len() > MAX_SOURCED {
                continue;
            }
            let has_subcommands = ["bun", "deno", "ts-node", "tsx"].contains(&name);
            let is_subcommand = |word: &str| has_subcommands && ["run", "watch"].contains(&word);
            let rest = || words[at + 1..].iter().filter(|word| !is_subcommand(word));
            // An editor is given files that it does not run.
            let read = rest().find(|word| !word.starts_with('-')).filter(|_| is_reader);
            found.extend(read.into_iter().flat_map(|word| with_value(word)).map(plain));
            let is_here = read.is_some_and(|word| word.trim_end_matches('/') == ".");
            found.extend(run_in_directory(name).filter(|_| is_here));
            let values = rest().take(MAX_WORDS).filter_map(|word| match word.starts_with('-') {
                true => word.split_once('=').map(|(_, value)| value),
                false => Some(*word),
            });
            found.extend(values.flat_map(with_value).flat_map(|word| completed(name, word)));
        }
    }
    found.extend(required_files(text));
    found.remove("");
    found.into_iter().collect()
}

/// What the code on a line with an interpreter loads, such as `node -e "require('./tools/x')"`.
fn required_files(text: &str) -> impl Iterator<Item = String> {
    let found = text.lines().flat_map(|line| {
        let programs = words(line).map(|word| word.rsplit('/').next().unwrap_or_default());
        let program = programs.into_iter().find(|name| !completed(name, "x").is_empty());
        let paths = words(line).filter(|word| word.contains('/'));
        paths.flat_map(move |path| program.map(|program| completed(program, path)).unwrap_or_default())
    });
    found.take(MAX_SOURCED)
}

/// A word, and what comes after a variable at its beginning: its value is usually a directory of the project.
fn with_value(word: &str) -> impl Iterator<Item = &str> {
    let below = word.strip_prefix('$').and_then(|word| word.split_once('/'));
    [word].into_iter().chain(below.map(|(_, path)| path))
}

/// The text with `$` in place of what commands in it print and of variables in braces, so that the words around them are whole.
fn without_substitutions(text: &str) -> String {
    let mut shortened = String::with_capacity(text.len());
    let mut depth = 0_usize;
    // One between backticks is like the others, except that the same sign ends it.
    let text: String = text
        .split('`')
        .enumerate()
        .map(|(at, part)| if at % 2 == 1 { format!("$({part})") } else { part.to_owned() })
        .collect();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '$' if rest.next_if(|c| ['(', '{'].contains(c)).is_some() => {
                if depth == 0 {
                    shortened.push('$');
                }
                depth += 1;
            }
            '(' | '{' if depth > 0 => depth += 1,
            ')' | '}' if depth > 0 => depth -= 1,
            c if depth == 0 => shortened.push(c),
            _ => {}
        }
    }
    shortened
}

/// What the words of a text may name in the working tree, if it stands in `directory` of that tree. It may change to the directories in
/// `entered`.
pub(crate) fn mentioned<'a>(
    text: &'a str,
    directory: &'a str,
    entered: Vec<String>,
) -> impl Iterator<Item = String> + 'a {
    words(text).flat_map(move |word| {
        let whole = plain(word);
        // What comes before the first slash may be the name of a variable.
        let after_variable = word.split_once('/').map(|(_, rest)| plain(rest)).unwrap_or_default();
        let named = [whole, after_variable].into_iter().filter(|path| !path.is_empty());
        let from = [directory.to_owned()].into_iter().chain(entered.clone());
        let from: Vec<_> = from.filter(|directory| !directory.is_empty()).collect();
        named
            .flat_map(move |path| {
                let below: Vec<_> = from.iter().map(|directory| format!("{directory}/{path}")).collect();
                below.into_iter().chain([path])
            })
            .collect::<Vec<_>>()
    })
}

/// The words of a text, whatever separates them.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "'\"`;:&|()<>=,!${}[]#".contains(c);
    text.split(is_between).filter(|word| !word.is_empty())
}

/// Whether programs read their settings or code from where a variable leads.
pub fn is_settings_variable(name: &str) -> bool {
    const ENDS: [&str; 17] = [
        "HOME", "DOTDIR", "PREFIX", "INIT", "LIB", "OPT", "OPTS", "OPTIONS", "STARTUP", "ENV", "RC", "BASE",
        "PROFILE", "PRELOAD", "ASKPASS", "_EDITOR", "_PAGER",
    ];
    const PARTS: [&str; 7] = ["CONFIG", "SETTINGS", "PLUGIN", "HOOK", "TEMPLATE", "GIT_", "LESS"];
    let is_named_so =
        ENDS.iter().any(|end| name.ends_with(end)) || PARTS.iter().any(|part| name.contains(part));
    is_named_so && is_acting(name)
}

/// The words in the values of such variables that a script sets.
pub(crate) fn settings_places(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in text.split(['\n', ';', '&']) {
        let Some((before, value)) = part.split_once('=') else { continue };
        let name = before.split_whitespace().next_back().unwrap_or_default();
        let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if !is_name || !is_settings_variable(name) {
            continue;
        }
        let value =
            HERE.iter().fold(value.replace('@', ""), |value, here| value.replace(&format!("{here}/"), "./"));
        found.extend(words(&value).map(str::to_owned));
    }
    found
}

/// The variables that a text sets, with the beginnings of their values.
pub(crate) fn assignments(text: &str) -> impl Iterator<Item = (&str, String)> {
    const MAX_ASSIGNMENTS: usize = 1000;
    const MAX_CHARACTERS: usize = 1000;
    let signs = text.match_indices('=').filter_map(move |(at, _)| {
        let is_between = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let before = &text[..at];
        let before = before.strip_suffix(':').unwrap_or(before);
        let name = before.rsplit(is_between).next().filter(|name| !name.is_empty())?;
        // As a default: `${NAME:=value}`.
        let is_default = before[..before.len() - name.len()].ends_with("${");
        if before.len() < at && !is_default {
            return None;
        }
        let value = &text[at + 1..];
        let quote = value.chars().next().filter(|c| ['"', '\''].contains(c));
        let is_after = |c: &char| match quote {
            Some(quote) => *c == quote || *c == '\n',
            None if is_default => *c == '}' || *c == '\n',
            None => c.is_whitespace() || ";&|".contains(*c),
        };
        let value = value.chars().skip(usize::from(quote.is_some())).take(MAX_CHARACTERS);
        Some((name, value.take_while(|c| !is_after(c)).collect()))
    });
    signs.take(MAX_ASSIGNMENTS)
}

/// The names in a path, without `.`, `..` at its beginning, and the root.
pub(crate) fn plain(path: &str) -> String {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => parts.extend(name.to_str()),
            Component::ParentDir => drop(parts.pop()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    parts.join("/")
}

/// The words of each command in a text, as far as they can be told apart without knowing its language.
pub(crate) fn commands(text: &str) -> impl Iterator<Item = impl Iterator<Item = &str>> {
    let is_comment = |line: &&str| ["#", "//", "/*"].iter().any(|sign| line.trim_start().starts_with(sign));
    let lines = text.lines().filter(move |line| !is_comment(line));
    let parts = lines.flat_map(|line| line.split([';', '&', '|', '(', ')', '{', '}', '`', '[', ']']));
    parts.map(|part| {
        let words = part.split(|c: char| c.is_whitespace() || "'\",".contains(c));
        words.filter(|word| !word.is_empty())
    })
}

#[cfg(test)]
mod tests;
