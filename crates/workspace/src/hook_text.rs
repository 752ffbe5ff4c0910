//! What the text of a hook or script mentions: scripts of the working tree, modules, and programs that run what other files say.

use std::path::{Component, Path};

/// Programs that run what files of a project say, and the names of these files. A star stands for anything, a final slash for all files in a
/// directory.
const RUNNERS: [(&[&str], &[&str]); 16] = [
    (&["make", "gmake"], &["makefile", "gnumakefile", "*.mk"]),
    (&["npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "nx", "turbo"], &["package.json"]),
    (&["lint-staged"], &["package.json", ".lintstagedrc*", "lint-staged.config.*"]),
    (&["just"], &["justfile", ".justfile", "*.just"]),
    (&["task", "go-task"], &["taskfile.yml", "taskfile.yaml", "taskfile.dist.yml", "taskfile.dist.yaml"]),
    (&["rake"], &["rakefile", "*.rake"]),
    (&["tox"], &["tox.ini", "pyproject.toml", "setup.cfg"]),
    (&["nox"], &["noxfile.py"]),
    (&["invoke", "inv"], &["tasks.py"]),
    (&["poe", "hatch", "pdm"], &["pyproject.toml"]),
    (&["composer"], &["composer.json"]),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (&["mvn", "mvnw"], &["pom.xml"]),
    (&["gradle", "gradlew"], &["build.gradle*", "settings.gradle*"]),
    (&["mage"], &["magefile.go", "magefiles/"]),
    (&["cargo"], &["build.rs", "xtask/", ".cargo/"]),
];

/// Words before a command that do not matter for what it runs.
const LEADING: [&str; 34] = [
    "if", "then", "else", "elif", "while", "until", "do", "!", "exec", "command", "env", "time", "nice",
    "sudo", "timeout", "xargs", "nohup", "sh", "bash", "dash", "zsh", "npx", "npm", "pnpm", "yarn", "bun",
    "bunx", "uv", "poetry", "run", "dlx", "x", "eval", "return",
];

const PYTHONS: [&str; 2] = ["python", "python3"];

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
    let name = path.rsplit('/').next().unwrap_or_default();
    match file.split_once('*') {
        Some((beginning, end)) => name.starts_with(beginning) && name.ends_with(end),
        None => name == file,
    }
}

/// The files that the runners in a text read.
pub(crate) fn runner_files(text: &str) -> impl Iterator<Item = &'static str> {
    commands(text).flat_map(|words| {
        let mut found = Vec::new();
        for word in words {
            let word = word.rsplit('/').next().unwrap_or_default();
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

/// The files of modules that a text runs with `python -m`, or imports with `python -c`.
pub(crate) fn module_files(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for words in commands(text) {
        let words: Vec<&str> = words.collect();
        if words.iter().any(is_perl) {
            found.extend(perl_modules(&words));
        }
        let python =
            words.iter().position(|word| PYTHONS.contains(&word.rsplit('/').next().unwrap_or_default()));
        let Some(words) = python.map(|at| &words[at..]) else { continue };
        let runs = words.windows(2).filter(|pair| pair[0] == "-m").map(|pair| pair[1]);
        let imports = words.iter().skip_while(|word| !["import", "from"].contains(word));
        let is_of_python = |word: &&str| ["import", "from", "as"].contains(word);
        let imports = imports.copied().filter(|word| !is_of_python(word)).filter(|_| words.contains(&"-c"));
        for path in runs.chain(imports).map(|module| module.replace('.', "/")) {
            found.extend([format!("{path}.py"), format!("{path}/__main__.py")]);
            let packages = Path::new(&path).ancestors().filter(|package| !package.as_os_str().is_empty());
            found.extend(packages.map(|package| format!("{}/__init__.py", package.display())));
        }
    }
    found
}

fn is_perl(word: &&str) -> bool {
    word.rsplit('/').next().is_some_and(|name| name.starts_with("perl"))
}

/// The files of modules that perl loads with these options, such as `-Ilib -MName`.
pub(crate) fn perl_modules(words: &[&str]) -> Vec<String> {
    let debuggers = after_option(words, "-d:").map(|name| format!("Devel::{name}"));
    let modules = after_option(words, "-M").chain(after_option(words, "-m")).map(str::to_owned);
    let files: Vec<String> = modules
        .chain(debuggers)
        .map(|module| {
            let name = module.trim_start_matches('-').split('=').next().unwrap_or_default();
            format!("{}.pm", name.replace("::", "/"))
        })
        .collect();
    let directories = perl_directories(words).chain(["lib".to_owned()]);
    let below = directories.flat_map(|directory| {
        files.iter().map(move |file| plain(&format!("{directory}/{file}"))).collect::<Vec<_>>()
    });
    below.chain(files.clone()).collect()
}

/// The directories that perl searches with these options, such as `-Ilib -Mlib=own`.
pub(crate) fn perl_directories(words: &[&str]) -> impl Iterator<Item = String> {
    let by_module = after_option(words, "-Mlib=").flat_map(|directories| directories.split(','));
    after_option(words, "-I").chain(by_module).map(str::to_owned)
}

/// The values of an option, whether they are joined to it or follow it.
fn after_option<'w>(words: &'w [&'w str], option: &'w str) -> impl Iterator<Item = &'w str> {
    let joined =
        words.iter().filter_map(move |word| word.strip_prefix(option)).filter(|rest| !rest.is_empty());
    let apart = words.windows(2).filter(move |pair| pair[0] == option).map(|pair| pair[1]);
    joined.chain(apart)
}

/// The files that a text has a shell or an interpreter read, whatever their names are.
pub(crate) fn sourced_files(text: &str) -> Vec<String> {
    const READERS: [&str; 15] = [
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
        "perl",
        "ruby",
        "bun",
    ];
    let mut found = Vec::new();
    let whole = without_substitutions(text);
    for words in commands(text).map(Vec::from_iter).chain(commands(&whole).map(Vec::from_iter)) {
        let is_reader = |word: &str| {
            let name = word.rsplit('/').next().unwrap_or_default();
            word == "." || READERS.contains(&name) || PYTHONS.contains(&name)
        };
        for (at, _) in words.iter().enumerate().filter(|(_, word)| is_reader(word)) {
            let read = words[at + 1..].iter().find(|word| !word.starts_with('-'));
            // The value of a variable at the beginning is usually a directory of the project.
            let below = read.and_then(|word| word.strip_prefix('$')?.split_once('/'));
            found.extend(read.map(|word| plain(word)));
            found.extend(below.map(|(_, path)| plain(path)));
        }
    }
    found.retain(|path| !path.is_empty());
    found
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
    ENDS.iter().any(|end| name.ends_with(end)) || PARTS.iter().any(|part| name.contains(part))
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
        let here = ["$PWD/", "${PWD}/", "$(pwd)/", "`pwd`/", "$(git rev-parse --show-toplevel)/"];
        let value = here.iter().fold(value.replace('@', ""), |value, here| value.replace(here, "./"));
        found.extend(words(&value).map(str::to_owned));
    }
    found
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
fn commands(text: &str) -> impl Iterator<Item = impl Iterator<Item = &str>> {
    let is_comment = |line: &&str| ["#", "//", "/*"].iter().any(|sign| line.trim_start().starts_with(sign));
    let lines = text.lines().filter(move |line| !is_comment(line));
    let parts = lines.flat_map(|line| line.split([';', '&', '|', '(', ')', '{', '}', '`', '[', ']']));
    parts.map(|part| {
        let words = part.split(|c: char| c.is_whitespace() || "'\",".contains(c));
        words.filter(|word| !word.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::{is_runner_file, mentioned, module_files, runner_files, settings_places, sourced_files};

    #[test]
    fn modules_of_perl_are_found() {
        let files =
            module_files("perl -Ilib -MCheck::All -e 1\n/usr/bin/perl -I t/lib -MM12=x -c y\necho -MNot\n");
        for file in ["lib/Check/All.pm", "Check/All.pm", "t/lib/M12.pm"] {
            assert!(files.iter().any(|found| found == file), "{file}: {files:?}");
        }
        assert!(!files.iter().any(|found| found.contains("Not")), "{files:?}");
    }

    #[test]
    fn sourced_files_are_found_behind_variables_and_substitutions() {
        for (text, file) in [
            (". lib/x", "lib/x"),
            (". \"$ROOT/lib/x\"", "lib/x"),
            (". \"${ROOT}/lib/x\"", "lib/x"),
            (". \"$(git rev-parse --show-toplevel)/lib/x\"", "lib/x"),
            ("cd \"$(dirname \"$(readlink -f \"$0\")\")\"; source \"$(pwd)/lib/x\"", "lib/x"),
            ("value=$(. lib/x)", "lib/x"),
            ("sh `git rev-parse --show-toplevel`/lib/x", "lib/x"),
        ] {
            let found = sourced_files(text);
            assert!(found.iter().any(|found| found == file), "{text}: {found:?}");
        }
        assert_eq!(sourced_files("echo \"$(date)/lib/x\""), Vec::<String>::new());
    }

    #[test]
    fn runners_are_recognised_where_a_command_begins() {
        for (text, path) in [
            ("#!/bin/sh\nmake lint\n", "Makefile"),
            ("set -e; cd app && make -C x all", "rules/common.mk"),
            ("if ! npm run lint; then exit 1; fi", "package.json"),
            ("npx --no-install lint-staged", ".lintstagedrc.json"),
            ("CI=1 pnpm exec tsc", "web/package.json"),
            ("exec just check", "justfile"),
            ("task lint", "Taskfile.yml"),
            ("cargo xtask lint", "xtask/src/main.rs"),
            ("sh -c 'make lint'", "GNUmakefile"),
            ("subprocess.run([\"make\", \"lint\"])", "Makefile"),
            ("poetry run poe lint", "pyproject.toml"),
            ("./gradlew check", "app/build.gradle.kts"),
        ] {
            assert!(runner_files(text).any(|file| is_runner_file(path, file)), "{text}: {path}");
        }
        for (text, path) in [
            ("echo make sure\n# make lint\n", "Makefile"),
            ("make lint", "package.json"),
            ("make lint", "src/makefile.rs"),
            ("npm test", "src/package.json.ts"),
            ("scripts/make.sh", "Makefile"),
        ] {
            assert!(!runner_files(text).any(|file| is_runner_file(path, file)), "{text}: {path}");
        }
    }

    #[test]
    fn modules_are_files_and_packages() {
        let files = module_files("exec python3 -m tools.lint --fast");
        for file in ["tools/lint.py", "tools/lint/__main__.py", "tools/lint/__init__.py", "tools/__init__.py"]
        {
            assert!(files.iter().any(|found| found == file), "{files:?}");
        }
        assert!(module_files("grep -m 1 tools.lint file").is_empty());
    }

    #[test]
    fn modules_are_found_that_python_runs_or_imports() {
        for (text, file) in [
            ("python3 -m tools.lint", "tools/lint.py"),
            ("PYTHONPATH=lib python3 -c 'import json, filter; filter.run()'", "filter.py"),
            ("python -c \"from a.b import c\"", "a/b.py"),
        ] {
            assert!(module_files(text).iter().any(|found| found == file), "{text}");
        }
        assert!(module_files("python3 tools/import.py import x").is_empty());
    }

    #[test]
    fn places_of_settings_are_found_in_what_a_script_sets() {
        for (text, place) in [
            ("export XDG_CONFIG_HOME=$PWD/.cfg", "./.cfg"),
            ("export HOME=\"$(pwd)/h\"", "./h"),
            ("ZDOTDIR=./z; export ZDOTDIR", "./z"),
            ("export LUA_INIT=@tools/init", "tools/init"),
            ("export PERL5LIB=${PWD}/perl:/usr/lib/perl", "./perl"),
        ] {
            assert!(settings_places(text).iter().any(|found| found == place), "{text}");
        }
        assert!(settings_places("export DATA_DIR=$PWD/data SOURCE=src").is_empty());
    }

    #[test]
    fn words_name_files_from_the_top_and_from_the_script() {
        for (word, file) in [
            (". ./lib.sh", "scripts/lib.sh"),
            ("sh scripts/b.sh", "scripts/b.sh"),
            ("\"$(dirname \"$0\")/c.sh\"", "scripts/c.sh"),
            ("\"${ROOT}/tools/d\" x", "tools/d"),
            ("$HERE/e.sh", "scripts/e.sh"),
            ("run(['../f.py'])", "f.py"),
            ("cd tools/git && ./g", "tools/git/g"),
        ] {
            let entered = vec!["tools/git".to_owned()];
            assert!(mentioned(word, "scripts", entered).any(|path| path == file), "{word}");
        }
    }
}
