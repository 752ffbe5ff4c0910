//! Places that variables name, relative to wherever the user is or in the project: `PYTHONPATH=.`, `LD_LIBRARY_PATH=lib`, `ZDOTDIR=dot`. What
//! programs load from there by themselves could be anywhere in the project.

use std::collections::HashSet;
use std::path::Path;

use crate::hook_text::{after_option, perl_directories, perl_modules, plain, words};
use crate::loaded_modules::{
    is_loaded_as_directory, is_loaded_by_lua, is_loaded_by_perl, is_loaded_by_python, is_loaded_by_ruby,
    starts_python,
};
use crate::tree_links::TreeLinks;

/// Variables whose value is a file, without being named like one.
#[rustfmt::skip]
const FILE_VARIABLES: &[&str] = &[
    "BASH_ENV", "ENV", "GDK_PIXBUF_MODULE_FILE", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GTK2_RC_FILES", "GTK_IM_MODULE_FILE",
    "GTK_RC_FILES", "INPUTRC", "LUA_INIT", "MAKEFILES", "OPENSSL_CONF", "PYTHONSTARTUP", "R_ENVIRON_USER", "R_PROFILE_USER",
    "VK_DRIVER_FILES", "VK_ICD_FILENAMES",
];

/// Variables whose value is a program; without a slash it is searched on the PATH.
const PROGRAM_VARIABLES: &[&str] = &["CC", "CXX", "RUSTC", "RUSTC_WRAPPER"];

/// Variables whose value is one directory or several from which programs load code or settings, beside those whose name ends with `HOME`.
#[rustfmt::skip]
const DIRECTORY_VARIABLES: &[&str] = &[
    "BASH_COMPLETION_USER_DIR", "COMPILER_PATH", "EMACSLOADPATH", "ERL_LIBS", "FPATH", "GCC_EXEC_PREFIX", "GCONV_PATH", "GEM_PATH",
    "GIO_EXTRA_MODULES", "GIO_MODULE_DIR", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GI_TYPELIB_PATH", "GST_PLUGIN_PATH",
    "GST_PLUGIN_SYSTEM_PATH", "GTK_EXE_PREFIX", "GTK_PATH", "GUILE_LOAD_COMPILED_PATH", "GUILE_LOAD_PATH", "JULIA_DEPOT_PATH",
    "JULIA_LOAD_PATH", "LIBGL_DRIVERS_PATH", "LIBVA_DRIVERS_PATH", "OCAMLPATH", "OPENSSL_ENGINES", "OPENSSL_MODULES", "PHPRC",
    "PHP_INI_SCAN_DIR", "PYTHONUSERBASE", "QML2_IMPORT_PATH", "QML_IMPORT_PATH", "QT_PLUGIN_PATH", "QT_QPA_PLATFORM_PLUGIN_PATH",
    "R_LIBS", "R_LIBS_USER", "SASL_PATH", "TCLLIBPATH", "TCL_LIBRARY", "TK_LIBRARY", "VIM", "VIMRUNTIME", "VK_ADD_LAYER_PATH",
    "VK_LAYER_PATH", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
];

/// What is loaded, beside libraries, from such a directory if it is the project itself, or wherever the user is: not everything can be held
/// back.
#[rustfmt::skip]
const CODE_ENDS: &[&str] = &[
    ".desktop", ".el", ".elc", ".ini", ".jl", ".scm", ".tcl", ".tm", ".typelib", ".vim", "gconv-modules", "tclIndex",
];

/// Variables whose words with slashes are no files, that say what runs just now, or where programs are, which the search path's own rules decide.
const OTHER_VARIABLES: &[&str] =
    &["GOINSECURE", "GONOPROXY", "GONOSUMDB", "GOPRIVATE", "PATH", "TZ", "_", "npm_lifecycle_script"];
const BEGINNINGS_OF_OTHERS: &[&str] = &["npm_package_"];

const LINK: &str = "120000";

/// The most places that are kept: scripts of the project may name many.
const MAX_PLACES: usize = 4096;

/// Directories and files that programs load from.
#[derive(Debug, Default)]
pub(crate) struct RelativePlaces(HashSet<(Loaded, Place)>);

/// What is loaded from a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Loaded {
    PythonModules,
    PerlModules,
    RubyModules,
    LuaModules,
    ZshSettings,
    Libraries,
    /// The place is a file.
    Itself,
    /// Whatever has the name of code.
    Code,
    Everything,
}

/// The path of a file or directory; empty for the directory that it is relative to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    path: String,
    origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Origin {
    /// The top of the working tree.
    Top,
    /// Any directory in which the user may be.
    Anywhere,
}

impl RelativePlaces {
    /// Adds those of a variable in the user's environment. `inside` says where in the working tree an absolute path leads.
    pub(crate) fn add(&mut self, name: &str, value: &str, inside: impl Fn(&str) -> Vec<String>) {
        let find = |entry: &str| match entry.starts_with(['/', '~']) {
            true => inside(entry).into_iter().map(Place::from_top).collect(),
            false => vec![Place::from_anywhere(plain(entry))],
        };
        if self.add_loaded(name, value, &find) || is_other(name) {
            return;
        }
        // Any other variable may name a file or directory too, which a slash shows.
        for word in words(value).map(|word| word.trim_start_matches('@')) {
            let word = match word.strip_prefix('-') {
                Some(option) => option.trim_start_matches('-').get(1..).unwrap_or_default(),
                None => word,
            };
            if !word.contains('/') {
                continue;
            }
            let is_program = PROGRAM_VARIABLES.contains(&name);
            for place in find(word).into_iter().filter(|place| !place.path.is_empty()) {
                let is_file = is_program || place.origin == Origin::Top;
                self.insert(if is_file { Loaded::Itself } else { Loaded::Everything }, place);
            }
        }
    }

    /// Adds those of a variable of which it is known what programs load from there; says whether it is one. `find` says where an entry leads.
    pub(crate) fn add_loaded(&mut self, name: &str, value: &str, find: &impl Fn(&str) -> Vec<Place>) -> bool {
        let entries: Vec<&str> = value.split([':', ';']).filter(|_| !value.is_empty()).collect();
        let blanks = |c: char| c.is_whitespace() || [':', ';'].contains(&c);
        let options: Vec<&str> = value.split_whitespace().collect();
        match name {
            "PYTHONPATH" => self.extend(Loaded::PythonModules, entries, find),
            "PERL5LIB" | "PERLLIB" => self.extend(Loaded::PerlModules, entries, find),
            "RUBYLIB" => self.extend(Loaded::RubyModules, entries, find),
            "ZDOTDIR" => self.extend(Loaded::ZshSettings, entries, find),
            "LD_LIBRARY_PATH"
            | "DYLD_LIBRARY_PATH"
            | "DYLD_FALLBACK_LIBRARY_PATH"
            | "DYLD_FRAMEWORK_PATH"
            | "CAML_LD_LIBRARY_PATH" => self.extend(Loaded::Libraries, entries, find),
            "LD_PRELOAD" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES" => {
                let files = value.split(blanks).filter(|file| !file.is_empty());
                self.extend(Loaded::Itself, files.collect(), find);
            }
            "LUA_PATH" | "LUA_CPATH" => self.add_lua_patterns(value, find),
            _ if name.starts_with("LUA_PATH_5") || name.starts_with("LUA_CPATH_5") => {
                self.add_lua_patterns(value, find);
            }
            "PERL5OPT" => {
                let modules = perl_modules(&options);
                self.extend(Loaded::Itself, modules.iter().map(String::as_str).collect(), find);
                self.add_perl_directories(&options, find);
            }
            "RUBYOPT" => {
                let loaded = options.iter().filter_map(|word| word.strip_prefix("-r"));
                let loaded: Vec<String> =
                    loaded.flat_map(|path| [format!("{path}.rb"), path.to_owned()]).collect();
                self.extend(Loaded::Itself, loaded.iter().map(String::as_str).collect(), find);
                self.add_ruby_directories(&options, find);
            }
            _ if FILE_VARIABLES.contains(&name) => {
                let files = words(value).map(|file| file.trim_start_matches('@')).collect();
                self.extend(Loaded::Itself, files, find);
            }
            _ if DIRECTORY_VARIABLES.contains(&name) => {
                // Here an empty entry stands for the usual directories.
                let directories = value.split(blanks).filter(|directory| !directory.is_empty());
                self.extend(Loaded::Everything, directories.collect(), find);
            }
            _ if name.ends_with("HOME") => {
                // The project itself is not all settings.
                let find_below = |entry: &str| {
                    let mut places = find(entry);
                    places.retain(|place| !place.path.is_empty());
                    places
                };
                self.extend(Loaded::Everything, vec![value], &find_below);
            }
            _ => return false,
        }
        true
    }

    /// Adds the directories that perl searches with these options.
    pub(crate) fn add_perl_directories(&mut self, options: &[&str], find: &impl Fn(&str) -> Vec<Place>) {
        let directories: Vec<String> = perl_directories(options).collect();
        self.extend(Loaded::PerlModules, directories.iter().map(String::as_str).collect(), find);
    }

    /// Adds the directories that ruby searches with these options.
    pub(crate) fn add_ruby_directories(&mut self, options: &[&str], find: &impl Fn(&str) -> Vec<Place>) {
        self.extend(Loaded::RubyModules, after_option(options, "-I").collect(), find);
    }

    /// Adds the directories of patterns such as `./?.lua`. What is in one with a name is loaded by whatever name it has.
    fn add_lua_patterns(&mut self, value: &str, find: &impl Fn(&str) -> Vec<Place>) {
        for pattern in value.split(';').filter(|pattern| !pattern.is_empty()) {
            let directory = pattern.split('?').next().unwrap_or_default();
            let directory = directory.rsplit_once('/').map_or(".", |(directory, _)| directory);
            for place in find(directory) {
                let is_named = !place.path.is_empty();
                self.insert(if is_named { Loaded::Everything } else { Loaded::LuaModules }, place);
            }
        }
    }

    fn extend(&mut self, loaded: Loaded, entries: Vec<&str>, find: &impl Fn(&str) -> Vec<Place>) {
        for entry in entries {
            // What comes before the first slash may be a variable for a directory of the project; elsewhere its value is not known.
            let entry = match entry.strip_prefix('$') {
                Some(variable) => variable.split_once('/').map(|(_, below)| below),
                None => entry.split('$').next(),
            };
            for place in entry.into_iter().flat_map(find) {
                match loaded {
                    Loaded::Itself if place.path.is_empty() => {}
                    Loaded::Everything if place.path.is_empty() => self.insert(Loaded::Code, place),
                    loaded => self.insert(loaded, place),
                }
            }
        }
    }

    /// Adds where links lead that are at such a place, on the way to it, or loaded from it.
    pub(crate) fn follow(&mut self, links: &TreeLinks) {
        let mut found = Vec::new();
        for (loaded, place) in &self.0 {
            for link in links.paths() {
                let beyond = place.parts_after(link).map(|rest| links.ways_of(&format!("{link}{rest}")));
                found.extend(beyond.into_iter().flatten().map(|way| (*loaded, Place::from_top(way))));
                if place.below(link).any(|below| !below.is_empty() && loaded.includes_link(below)) {
                    let ways = links.ways_of(link).into_iter();
                    found.extend(ways.map(|way| (Loaded::Everything, Place::from_top(way))));
                }
            }
        }
        for (loaded, place) in found {
            self.insert(loaded, place);
        }
    }

    fn insert(&mut self, loaded: Loaded, place: Place) {
        if self.0.len() < MAX_PLACES {
            self.0.insert((loaded, place));
        }
    }

    /// Whether a changed path of the project could be loaded from one of them. A link may lead anywhere. `mode` is git's.
    pub(crate) fn contains(&self, path: &str, mode: &str) -> bool {
        self.0.iter().any(|(loaded, place)| {
            let is_loaded = |below: &str| match mode == LINK {
                true => !place.path.is_empty() || loaded.includes_link(below),
                // Wherever the user may be, a program of the project may have modules with such names.
                false if *loaded == Loaded::PythonModules && place.path.is_empty() && below != path => {
                    starts_python(below)
                }
                false => loaded.includes(below),
            };
            place.below(path).any(is_loaded) || mode == LINK && place.parts_after(path).is_some()
        })
    }
}

impl Loaded {
    /// Whether a file is loaded that has this path below the place; it is empty for the place itself.
    fn includes(self, below: &str) -> bool {
        let name = below.rsplit('/').next().unwrap_or_default();
        // A place may also be an archive.
        below.is_empty()
            || match self {
                Self::PythonModules => is_loaded_by_python(below),
                Self::PerlModules => is_loaded_by_perl(below),
                Self::RubyModules => is_loaded_by_ruby(below),
                Self::LuaModules => is_loaded_by_lua(below),
                Self::ZshSettings => below.starts_with(".z") && !below.contains('/'),
                // The loader also looks in directories for some kinds of processors.
                Self::Libraries => is_library(name),
                Self::Itself => false,
                Self::Code => CODE_ENDS.iter().any(|end| name.ends_with(end)) || is_library(name),
                Self::Everything => true,
            }
    }

    /// Whether something could be loaded through a link with this path below the place.
    fn includes_link(self, below: &str) -> bool {
        self.includes(below) || is_loaded_as_directory(below)
    }
}

impl Place {
    pub(crate) fn from_top(path: String) -> Self {
        Self { path, origin: Origin::Top }
    }

    pub(crate) fn from_anywhere(path: String) -> Self {
        Self { path, origin: Origin::Anywhere }
    }

    /// What of a path comes after the place, wherever that can be; empty if the path is the place.
    fn below<'p>(&self, path: &'p str) -> impl Iterator<Item = &'p str> {
        let starts =
            path.match_indices('/').map(|(at, _)| at + 1).filter(|_| self.origin == Origin::Anywhere);
        [0].into_iter().chain(starts).filter_map(|start| {
            let path = &path[start..];
            match self.path.is_empty() {
                true => Some(path),
                false => {
                    let rest = path.strip_prefix(&self.path)?;
                    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
                }
            }
        })
    }

    /// What of the place comes after a link that is the place or above it, from the slash on.
    fn parts_after(&self, link: &str) -> Option<&str> {
        let above =
            Path::new(&self.path).ancestors().filter_map(Path::to_str).filter(|part| !part.is_empty());
        let is_link = |part: &&str| match self.origin {
            Origin::Top => link == *part,
            Origin::Anywhere => format!("/{link}").ends_with(&format!("/{part}")),
        };
        above.into_iter().find(is_link).map(|part| &self.path[part.len()..])
    }
}

fn is_other(name: &str) -> bool {
    OTHER_VARIABLES.contains(&name)
        || BEGINNINGS_OF_OTHERS.iter().any(|beginning| name.starts_with(beginning))
}

fn is_library(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.") || name.ends_with(".dylib")
}

#[cfg(test)]
mod tests;
