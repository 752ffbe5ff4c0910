//! Places in the user's own variables that are relative to wherever the user is: `PYTHONPATH=.`, `LD_LIBRARY_PATH=lib`, `ZDOTDIR=dot`. What
//! programs load from there by themselves could be anywhere in the project.

use std::path::Path;

use crate::hook_text::{is_settings_variable, perl_directories, perl_modules, plain, words};

/// Modules that every Python loads when it starts, if they are found before its own.
const PYTHON_MODULES: &[&str] = &[
    "_collections_abc",
    "_sitebuiltins",
    "abc",
    "codecs",
    "encodings",
    "genericpath",
    "io",
    "os",
    "posixpath",
    "site",
    "sitecustomize",
    "stat",
    "usercustomize",
    "zipimport",
];

/// Modules that almost every Perl program loads.
const PERL_MODULES: &[&str] = &[
    "Carp.pm",
    "Config.pm",
    "Exporter.pm",
    "XSLoader.pm",
    "constant.pm",
    "feature.pm",
    "lib.pm",
    "overload.pm",
    "sitecustomize.pl",
    "strict.pm",
    "utf8.pm",
    "vars.pm",
    "warnings.pm",
];

/// Files that every Ruby loads when it starts, if they are found before its own.
const RUBY_FILES: &[&str] = &[
    "bundler.rb",
    "did_you_mean.rb",
    "error_highlight.rb",
    "monitor.rb",
    "rbconfig.rb",
    "rubygems.rb",
    "syntax_suggest.rb",
];

/// Variables whose value is a file, without being named like one.
const FILE_VARIABLES: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "INPUTRC",
    "LUA_INIT",
    "MAKEFILES",
    "PYTHONSTARTUP",
    "R_ENVIRON_USER",
    "R_PROFILE_USER",
];

/// Variables whose value is a program; without a slash it is searched on the PATH.
const PROGRAM_VARIABLES: &[&str] = &["CC", "CXX", "RUSTC", "RUSTC_WRAPPER"];

/// Variables whose value is a directory, beside those whose name ends with `HOME`.
const DIRECTORY_VARIABLES: &[&str] = &["GIT_EXEC_PATH", "GIT_TEMPLATE_DIR"];

/// Endings of files that Python loads as modules.
const PYTHON_ENDINGS: &[&str] = &[".py", ".pyc", ".so", ".pyd"];

/// Directories and files relative to any directory; an empty one is that directory itself.
#[derive(Debug, Default)]
pub(crate) struct RelativePlaces {
    python: Vec<String>,
    perl: Vec<String>,
    ruby: Vec<String>,
    zsh: Vec<String>,
    libraries: Vec<String>,
    /// These files are loaded.
    files: Vec<String>,
    /// Whatever is there is loaded.
    all: Vec<String>,
}

impl RelativePlaces {
    /// Adds those of a variable. The top of the project, if it is named by its path, counts as one.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        let entries = value.split(':').filter(|entry| !entry.starts_with(['/', '~', '$']));
        let entries = entries.filter(|_| !value.is_empty()).map(plain);
        match name {
            "PYTHONPATH" => self.python.extend(entries),
            "PERL5LIB" | "PERLLIB" => self.perl.extend(entries),
            "RUBYLIB" => self.ruby.extend(entries),
            "ZDOTDIR" => self.zsh.extend(entries),
            "LD_LIBRARY_PATH" => self.libraries.extend(entries),
            "LD_PRELOAD" | "LD_AUDIT" => {
                let files = value.split([':', ' ']).filter(|file| !file.starts_with('/')).map(plain);
                self.files.extend(files.filter(|file| !file.is_empty()));
            }
            "PERL5OPT" => {
                let words: Vec<&str> = value.split_whitespace().collect();
                self.files.extend(perl_modules(&words));
                self.perl.extend(relative(perl_directories(&words)));
            }
            "RUBYOPT" => {
                let loaded = words(value).filter_map(|word| word.strip_prefix("-r")).map(plain);
                self.files.extend(loaded.flat_map(|path| [format!("{path}.rb"), path]));
                let directories = words(value).filter_map(|word| word.strip_prefix("-I"));
                self.ruby.extend(relative(directories.map(str::to_owned)));
            }
            _ => {
                let paths = words(value).map(|word| word.trim_start_matches('@'));
                let paths = paths.filter(|word| !word.starts_with(['/', '~', '-']));
                let paths = paths.map(|word| (plain(word), word.contains('/')));
                let mut paths = paths.filter(|(path, _)| !path.is_empty()).collect::<Vec<_>>();
                let is_file = FILE_VARIABLES.contains(&name);
                let is_directory = DIRECTORY_VARIABLES.contains(&name) || name.ends_with("HOME");
                let is_program = PROGRAM_VARIABLES.contains(&name);
                paths.retain(|(_, has_slash)| is_file || is_directory || *has_slash);
                let paths = paths.into_iter().map(|(path, _)| path);
                if is_file || is_program {
                    self.files.extend(paths);
                } else if is_directory || is_settings_variable(name) {
                    self.all.extend(paths);
                }
            }
        }
    }

    /// Whether a path of the project could be loaded from one of them.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split('.').next().unwrap_or(name);
        let is_module =
            PYTHON_MODULES.contains(&stem) && PYTHON_ENDINGS.iter().any(|end| name.ends_with(end));
        let (above, package) = directory.rsplit_once('/').unwrap_or(("", directory));
        is_module && is_at(&self.python, directory)
            || PYTHON_MODULES.contains(&package) && is_at(&self.python, above)
            || PERL_MODULES.contains(&name) && is_at(&self.perl, directory)
            || RUBY_FILES.contains(&name) && is_at(&self.ruby, directory)
            || name.starts_with(".z") && is_at(&self.zsh, directory)
            || is_library(name) && self.is_in_library(directory)
            || self.all.iter().any(|place| format!("/{path}/").contains(&format!("/{place}/")))
            || self.files.iter().any(|file| format!("/{path}").ends_with(&format!("/{file}")))
    }

    /// The loader also looks in directories for some kinds of processors.
    fn is_in_library(&self, directory: &str) -> bool {
        let mut above = Path::new(directory).ancestors().filter_map(Path::to_str);
        above.any(|above| is_at(&self.libraries, above))
    }
}

fn is_library(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.") || name.ends_with(".dylib")
}

fn relative(directories: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    directories.filter(|path| !path.starts_with('/')).map(|path| plain(&path))
}

/// Whether a directory can be one of the places, seen from some directory.
fn is_at(places: &[String], directory: &str) -> bool {
    places.iter().any(|place| place.is_empty() || format!("/{directory}").ends_with(&format!("/{place}")))
}

#[cfg(test)]
mod tests {
    use super::RelativePlaces;

    #[test]
    fn what_is_loaded_from_relative_places_is_known() {
        for (name, value, loaded, others) in [
            (
                "PYTHONPATH",
                ".",
                "sitecustomize.py a/usercustomize.py sitecustomize/__init__.py encodings/utf_8.py",
                "main.py a/json.py website/a.py videos/b.py site.css io.md",
            ),
            ("PYTHONPATH", "/opt/y:", "sitecustomize.py", "customize.py"),
            ("PYTHONPATH", "src", "src/sitecustomize.py a/src/os.py", "sitecustomize.py src/a.py"),
            ("PYTHONPATH", "/opt/src", "", "sitecustomize.py src/sitecustomize.py"),
            ("LD_LIBRARY_PATH", "/opt/x:.", "libz.so.1 a/libz.so", "main.c libz.c x.sol a.source.js"),
            ("LD_LIBRARY_PATH", "lib", "lib/libz.so.1 lib/glibc-hwcaps/x86-64-v2/libc.so.6", "libz.so.1"),
            ("LD_PRELOAD", "./x.so", "x.so a/x.so", "y.so"),
            ("LD_PRELOAD", "/opt/a.so ./x.so", "x.so", "a.so"),
            ("ZDOTDIR", "dot", "dot/.zshenv", "dotted/.zshenv"),
            ("PERL5OPT", "-Ilib -MFoo::Bar", "lib/Foo/Bar.pm lib/strict.pm", "lib/Foo.pm strict.pm"),
            ("PERL5OPT", "-Mlib=own -MCarp=verbose", "Carp.pm own/strict.pm", "strict.pm"),
            ("PERL5OPT", "-d:Trace", "Devel/Trace.pm", "Trace.pm"),
            ("ENV", "test", "test", "test/a.js"),
            ("ENV", "./rc.sh", "rc.sh", "a.sh"),
            ("CC", "gcc", "", "gcc gcc/a.c"),
            ("CC", "ccache ./gcc", "gcc", "gcc/a.c"),
            ("ZDOTDIR", ".", ".zprofile a/.zshrc", "zprofile"),
            ("RUBYOPT", "-r./r/x", "r/x.rb", "x.rb"),
            ("RUBYOPT", "-Ilib -rboot", "lib/boot.rb lib/rubygems.rb", "lib/other.rb"),
            ("RUBYLIB", "lib", "lib/rubygems.rb", "lib/app.rb rubygems.rb"),
            ("PYTHONHOME", "py", "py/lib/python3/os.py", "os.py"),
            ("CARGO_HOME", "ch", "ch/config.toml", "config.toml"),
            ("GIT_TEMPLATE_DIR", "tpl", "tpl/hooks/post-checkout", "post-checkout"),
            ("LUA_INIT", "@d9/i.lua", "d9/i.lua", "i.lua"),
            ("MAKEFILES", "more.mk", "more.mk", "Makefile"),
            ("NODE_ENV", "test", "", "test/a.js"),
            ("AWS_PROFILE", "dev", "", "dev/a.sh"),
            ("NODE_OPTIONS", "--require ./hook.js", "hook.js", "other.js"),
        ] {
            let mut places = RelativePlaces::default();
            places.add(name, value);
            for path in loaded.split_whitespace() {
                assert!(places.contains(path), "{name}={value}: {path}");
            }
            for path in others.split_whitespace() {
                assert!(!places.contains(path), "{name}={value}: {path}");
            }
        }
    }
}
