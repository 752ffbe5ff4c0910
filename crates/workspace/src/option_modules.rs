//! Modules that commands have interpreters load: by options, such as `python -Bm tools.x` and `ruby -Itools -rx`, and by code on the command line,
//! such as `python -c 'import tools.x'`.

use crate::hook_text::{commands, plain};
use crate::interpreters::is_python;
use crate::loaded_modules::files_of_python_module;

/// Options without a value, after which others may follow in the same word: `-Bm` is `-B -m`.
const PYTHON_FLAGS: &str = "bBdEhiIOPqRsStuvVx?";
const PERL_FLAGS: &str = "acfnpstTuUvwWX";
const RUBY_FLAGS: &str = "acdhlnpsSUvwy";
const LUA_FLAGS: &str = "iEvW";

/// Programs that run a module with `-m` as Python does.
const LIKE_PYTHON: [&str; 5] = ["coverage", "ipython", "ipython3", "py", "uv"];

/// Functions of Python that load a module by its name.
const LOADERS: [&str; 3] = ["__import__", "import_module", "run_module"];

/// The files of modules that the commands of a text load, whether they exist or not.
pub(crate) fn module_files(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for words in commands(text).map(Vec::from_iter) {
        if words.iter().any(is_perl) {
            found.extend(perl_modules(&words));
        }
        if words.iter().any(is_ruby) {
            found.extend(ruby_modules(&words).iter().map(|file| plain(file)));
        }
        if words.iter().any(|word| name_of(word) == "emacs") {
            found.extend(emacs_files(&words).iter().map(|file| plain(file)));
        }
        if words.iter().any(is_lua) {
            let modules = short_option(&words, 'l', LUA_FLAGS).map(|module| module.replace('.', "/"));
            found.extend(modules.flat_map(|path| [format!("{path}.lua"), format!("{path}/init.lua")]));
        }
        let is_runner = |word: &&str| is_python(name_of(word)) || LIKE_PYTHON.contains(&name_of(word));
        if let Some(at) = words.iter().position(is_runner) {
            found.extend(short_option(&words[at..], 'm', PYTHON_FLAGS).flat_map(files_of_run_module));
        }
    }
    found.extend(modules_of_code(text).iter().flat_map(|module| files_of_run_module(module)));
    found
}

/// The modules that code on the command line of Python imports.
fn modules_of_code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // The code may go on after the line with the command, also as its input.
    let mut is_within_code = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || "'\",[]()`".contains(c)).collect();
        let python = words.iter().position(|word| is_python(name_of(word)));
        let has_code = python.is_some_and(|at| {
            let is_input = |word: &&str| *word == "-" || word.starts_with("<<");
            has_short_option(&words[at..], 'c', PYTHON_FLAGS) || words[at..].iter().any(is_input)
        });
        is_within_code |= has_code;
        let begins = ["import ", "from "].iter().any(|word| line.trim_start().starts_with(word));
        if has_code || is_within_code && begins {
            found.extend(imported(line));
        }
    }
    found
}

/// The modules that statements of Python on a line import.
fn imported(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for words in commands(line).map(Vec::from_iter) {
        let mut words = words.iter().copied().skip_while(|word| !["import", "from"].contains(word));
        let package = match words.next() {
            Some("from") => words.next(),
            _ => None,
        };
        found.extend(package.map(str::to_owned));
        let names = words.filter(|word| !["import", "from", "as"].contains(word));
        // What comes from a package may be a module of it.
        found.extend(names.flat_map(|name| {
            [Some(name.to_owned()), package.map(|package| format!("{package}.{name}"))].into_iter().flatten()
        }));
    }
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let names: Vec<&str> = line.split(|c| !is_of_name(c)).filter(|name| !name.is_empty()).collect();
    let is_loader = |name: &str| LOADERS.contains(&name.rsplit('.').next().unwrap_or_default());
    found.extend(names.windows(2).filter(|pair| is_loader(pair[0])).map(|pair| pair[1].to_owned()));
    found
}

/// The files that Python may run for a module, which may be a package.
fn files_of_run_module(module: &str) -> Vec<String> {
    let main = files_of_python_module(&format!("{module}.__main__"));
    main.into_iter().filter(|path| !path.starts_with('/')).collect()
}

pub(crate) fn is_perl(word: &&str) -> bool {
    name_of(word).starts_with("perl")
}

pub(crate) fn is_ruby(word: &&str) -> bool {
    ["ruby", "jruby"].contains(&name_of(word))
}

fn is_lua(word: &&str) -> bool {
    ["lua", "luajit"].contains(&name_of(word).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// The files of modules that perl loads with these options, such as `-Ilib -MName`.
pub(crate) fn perl_modules(words: &[&str]) -> Vec<String> {
    let debuggers = after_option(words, "-d:").map(|name| format!("Devel::{name}"));
    let modules = short_option(words, 'M', PERL_FLAGS).chain(short_option(words, 'm', PERL_FLAGS));
    let files: Vec<String> = modules
        .map(str::to_owned)
        .chain(debuggers)
        .map(|module| {
            let name = module.trim_start_matches('-').split('=').next().unwrap_or_default();
            format!("{}.pm", name.replace("::", "/"))
        })
        .collect();
    below(perl_directories(words).chain(["lib".to_owned()]), &files)
}

/// The directories that perl searches with these options, such as `-Ilib -Mlib=own`.
pub(crate) fn perl_directories(words: &[&str]) -> impl Iterator<Item = String> {
    let by_module = after_option(words, "-Mlib=").flat_map(|directories| directories.split(','));
    short_option(words, 'I', PERL_FLAGS).chain(by_module).map(str::to_owned)
}

/// The files that ruby loads with these options, such as `-Itools -rx`.
pub(crate) fn ruby_modules(words: &[&str]) -> Vec<String> {
    let modules = short_option(words, 'r', RUBY_FLAGS);
    let files: Vec<String> =
        modules.flat_map(|module| ["", ".rb", ".so"].map(|end| format!("{module}{end}"))).collect();
    let entered = short_option(words, 'C', RUBY_FLAGS).chain(short_option(words, 'X', RUBY_FLAGS));
    below(ruby_directories(words).chain(entered).map(str::to_owned), &files)
}

/// The directories that ruby searches with these options.
pub(crate) fn ruby_directories<'w>(words: &'w [&'w str]) -> impl Iterator<Item = &'w str> {
    short_option(words, 'I', RUBY_FLAGS).flat_map(|directories| directories.split(':'))
}

/// The files that emacs loads with these options, such as `-L own -l x`.
fn emacs_files(words: &[&str]) -> Vec<String> {
    let modules = short_option(words, 'l', "").chain(after_option(words, "--load"));
    let modules = modules.map(|module| module.trim_start_matches('='));
    let files: Vec<String> =
        modules.flat_map(|module| ["", ".el", ".elc"].map(|end| format!("{module}{end}"))).collect();
    let directories = short_option(words, 'L', "").chain(after_option(words, "--directory"));
    let directories = directories.map(|directory| directory.trim_start_matches('=').to_owned());
    below(directories, &files)
}

/// The files, and those of these names in the directories.
fn below(directories: impl Iterator<Item = String>, files: &[String]) -> Vec<String> {
    let below = directories.flat_map(|directory| {
        files.iter().map(move |file| plain(&format!("{directory}/{file}"))).collect::<Vec<_>>()
    });
    below.chain(files.iter().cloned()).collect()
}

/// The values of an option, whether they are joined to it or follow it.
fn after_option<'w>(words: &'w [&'w str], option: &'w str) -> impl Iterator<Item = &'w str> {
    let joined =
        words.iter().filter_map(move |word| word.strip_prefix(option)).filter(|rest| !rest.is_empty());
    let apart = words.windows(2).filter(move |pair| pair[0] == option).map(|pair| pair[1]);
    joined.chain(apart)
}

/// The values of an option of one letter, before which `flags` may stand in the same word.
fn short_option<'w>(words: &'w [&'w str], letter: char, flags: &'w str) -> impl Iterator<Item = &'w str> {
    words.iter().enumerate().filter_map(move |(at, word)| {
        let joined = after_letter(word, letter, flags)?;
        if joined.is_empty() { words.get(at + 1).copied() } else { Some(joined) }
    })
}

fn has_short_option(words: &[&str], letter: char, flags: &str) -> bool {
    words.iter().any(|word| after_letter(word, letter, flags).is_some())
}

/// What comes after the letter of an option in its word; `None` for another word.
fn after_letter<'w>(word: &'w str, letter: char, flags: &str) -> Option<&'w str> {
    word.strip_prefix('-')?.trim_start_matches(|c| c != letter && flags.contains(c)).strip_prefix(letter)
}

#[cfg(test)]
mod tests {
    use super::module_files;

    fn assert_loads(text: &str, files: &str) {
        let found = module_files(text);
        for file in files.split_whitespace() {
            assert!(found.iter().any(|found| found == file), "{text}: {file}: {found:?}");
        }
    }

    #[test]
    fn modules_of_perl_are_found() {
        let text =
            "perl -Ilib -MCheck::All -e 1\n/usr/bin/perl -I t/lib -MM12=x -c y\nperl -wMOwn\necho -MNot\n";
        assert_loads(text, "lib/Check/All.pm Check/All.pm t/lib/M12.pm Own.pm");
        assert!(!module_files(text).iter().any(|found| found.contains("Not")));
    }

    #[test]
    fn modules_are_files_and_packages() {
        let package = "tools/__init__.py tools/lint.py tools/lint/__main__.py tools/lint/__init__.py";
        assert_loads("exec python3 -m tools.lint --fast", package);
        assert!(module_files("grep -m 1 tools.lint file").is_empty());
    }

    #[test]
    fn letters_before_an_option_do_not_hide_it() {
        for text in [
            "python3 -Bm tools.x",
            "python3 -um tools.x",
            "python3 -umtools.x",
            "/usr/bin/python3.12 -Sumtools.x -v",
            "python3 -Xdev -mtools.x",
            "python3 -X dev -W ignore -m tools.x",
            "python3 -I -Wignore -bbm tools.x",
            "uv run -m tools.x",
            "coverage run -m tools.x",
            "{\"command\": \"python3\", \"args\": [\"-Bm\", \"tools.x\"]}",
        ] {
            assert_loads(&text.replace(['[', ']', '{', '}', ':'], " "), "tools/x.py tools/__init__.py");
        }
        assert_loads("python3 -Xdev -mtools", "tools/__main__.py tools/__init__.py tools.py");
        for text in ["python3 -Xm tools.x", "python3 -W m", "python3 --m tools.x", "rm -rm tools.x"] {
            assert_eq!(module_files(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn modules_are_found_that_code_imports() {
        for (text, file) in [
            ("PYTHONPATH=lib python3 -c 'import json, filter; filter.run()'", "filter.py"),
            ("python -c \"from a.b import c\"", "a/b.py"),
            ("python -c \"from tools import x\"", "tools/x.py"),
            ("python3 -c 'import sys; import tools.x'", "tools/x.py"),
            ("python3 -Bc 'import tools.x as y'", "tools/x.py"),
            ("python3 -c '__import__(\"tools.x\")'", "tools/x.py"),
            ("python3 -c \"__import__(\\\"tools.x\\\")\"", "tools/x.py"),
            ("python3 -c 'import importlib; importlib.import_module(\"tools.x\")'", "tools/x.py"),
            ("python3 -c 'import runpy\nimport tools.x\n'", "tools/x.py"),
            ("python3 - <<END\nfrom tools.x import run\nEND\n", "tools/x.py"),
        ] {
            assert_loads(text, file);
        }
        for text in ["python3 tools/import.py import x", "import x", "echo python -x; import tools.x"] {
            assert_eq!(module_files(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn modules_of_ruby_lua_and_emacs_are_found() {
        for (text, files) in [
            ("ruby -Itools -rx -e 1", "tools/x.rb x.rb"),
            ("ruby -w -I lib:tools -r x -e 1", "tools/x.rb lib/x.rb"),
            ("ruby -wrx -Itools", "tools/x.rb"),
            ("ruby -r ./tools/x", "tools/x.rb"),
            ("ruby -Ctools -r./x", "tools/x.rb"),
            ("lua -l tools.x -e 1", "tools/x.lua tools/x/init.lua"),
            ("lua5.4 -ltools.x", "tools/x.lua"),
            ("emacs -Q --batch -L tools -l x -f run", "tools/x.el x.el tools/x.elc"),
            ("emacs --directory=tools --load=x", "tools/x.el x.el"),
        ] {
            assert_loads(text, files);
        }
        assert!(module_files("ls -rx -ltools").is_empty());
    }
}
