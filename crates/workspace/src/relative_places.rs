//! Places in the user's own variables that are relative to wherever the user is: `PYTHONPATH=.`, `LD_LIBRARY_PATH=lib`, `ZDOTDIR=dot`. What
//! programs load from there by themselves could be anywhere in the project.

use std::path::Path;

use crate::hook_text::{is_settings_variable, plain, words};

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

/// Variables whose value is a file or a directory, without being named like one.
const PATH_VALUES: &[&str] = &[
    "BASH_ENV",
    "CC",
    "CXX",
    "ENV",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "INPUTRC",
    "LUA_INIT",
    "MAKEFILES",
    "PYTHONSTARTUP",
    "RUSTC",
    "RUSTC_WRAPPER",
    "R_ENVIRON_USER",
    "R_PROFILE_USER",
];

/// Directories and files relative to any directory; an empty one is that directory itself.
#[derive(Debug, Default)]
pub(crate) struct RelativePlaces {
    python: Vec<String>,
    perl: Vec<String>,
    ruby: Vec<String>,
    zsh: Vec<String>,
    libraries: Vec<String>,
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
            "LD_LIBRARY_PATH" | "LD_PRELOAD" | "LD_AUDIT" => self.libraries.extend(entries),
            "PERL5OPT" => {
                let modules = value.split_whitespace().filter_map(|word| word.strip_prefix("-M"));
                self.all.extend(modules.map(|module| format!("{}.pm", module.replace("::", "/"))));
                let directories = words(value).filter_map(|word| word.strip_prefix("-I"));
                self.perl.extend(directories.filter(|path| !path.starts_with('/')).map(plain));
            }
            "RUBYOPT" => {
                let loaded = words(value).filter_map(|word| word.strip_prefix("-r")).map(plain);
                self.all.extend(loaded.flat_map(|path| {
                    let script = format!("{path}.rb");
                    [path, script]
                }));
                let directories = words(value).filter_map(|word| word.strip_prefix("-I"));
                self.ruby.extend(directories.filter(|path| !path.starts_with('/')).map(plain));
            }
            _ if PATH_VALUES.contains(&name) || is_settings_variable(name) => {
                let is_path = PATH_VALUES.contains(&name) || name.ends_with("HOME");
                let paths = words(value).map(|word| word.trim_start_matches('@'));
                let paths = paths.filter(|word| !word.starts_with(['/', '~', '-']));
                let paths = paths.filter(|word| word.contains('/') || is_path);
                self.all.extend(paths.map(plain).filter(|path| !path.is_empty()));
            }
            _ => {}
        }
    }

    /// Whether a path of the project could be loaded from one of them.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        // The file or directory that makes up a module.
        let (package, module) = match name.starts_with("__init__.") || name.ends_with(".pyc") {
            true => directory.rsplit_once('/').unwrap_or(("", directory)),
            false => (directory, name.split('.').next().unwrap_or(name)),
        };
        let is_python = PYTHON_MODULES.contains(&module) && is_at(&self.python, package);
        let is_part = PYTHON_MODULES.iter().any(|module| {
            let above = directory.strip_suffix(module).map(|above| above.trim_end_matches('/'));
            above.is_some_and(|above| is_at(&self.python, above))
        });
        is_python
            || is_part
            || PERL_MODULES.contains(&name) && is_at(&self.perl, directory)
            || RUBY_FILES.contains(&name) && is_at(&self.ruby, directory)
            || name.starts_with(".z") && is_at(&self.zsh, directory)
            || (name.contains(".so") || name.ends_with(".dylib")) && self.is_in_library(directory)
            || self.all.iter().any(|place| format!("/{path}/").contains(&format!("/{place}/")))
            || self.libraries.iter().any(|file| format!("/{path}").ends_with(&format!("/{file}")))
    }
}

impl RelativePlaces {
    /// The loader also looks in directories for some kinds of processors.
    fn is_in_library(&self, directory: &str) -> bool {
        let mut above = Path::new(directory).ancestors().filter_map(Path::to_str);
        above.any(|above| is_at(&self.libraries, above))
    }
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
                "main.py a/json.py",
            ),
            ("PYTHONPATH", "/opt/y:", "sitecustomize.py", "customize.py"),
            ("PYTHONPATH", "src", "src/sitecustomize.py a/src/os.py", "sitecustomize.py src/a.py"),
            ("PYTHONPATH", "/opt/src", "", "sitecustomize.py src/sitecustomize.py"),
            ("LD_LIBRARY_PATH", "/opt/x:.", "libz.so.1 a/libz.so", "main.c libz.c"),
            ("LD_LIBRARY_PATH", "lib", "lib/libz.so.1 lib/glibc-hwcaps/x86-64-v2/libc.so.6", "libz.so.1"),
            ("LD_PRELOAD", "./x.so", "x.so a/x.so", "y.so"),
            ("ZDOTDIR", "dot", "dot/.zshenv", "dotted/.zshenv"),
            ("PERL5OPT", "-Ilib -MFoo::Bar", "lib/Foo/Bar.pm lib/strict.pm", "lib/Foo.pm strict.pm"),
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
