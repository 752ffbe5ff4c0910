//! Places that variables name, relative to wherever the user is or in the project: `PYTHONPATH=.`, `LD_LIBRARY_PATH=lib`, `ZDOTDIR=dot`. What
//! programs load from there by themselves could be anywhere in the project.

use std::collections::{HashMap, HashSet};

use crate::hook_text::{completed, plain, words};
use crate::loaded_modules::{
    files_of_python_module, is_loaded_as_directory, is_loaded_by_lua, is_loaded_by_perl, is_loaded_by_python,
    is_loaded_by_ruby, starts_python,
};
use crate::option_modules::{perl_directories, perl_modules, ruby_directories, ruby_modules};
use crate::place_variables::{
    acting_part, has_mere_names, has_programs, is_command, is_directory, is_file, is_place,
};
use crate::tree_links::TreeLinks;

/// What is loaded, beside libraries, from such a directory if it is the project itself, or wherever the user is: not everything can be held
/// back.
#[rustfmt::skip]
const CODE_ENDS: &[&str] = &[
    ".desktop", ".el", ".elc", ".fish", ".ini", ".jl", ".lua", ".pth", ".scm", ".tcl", ".tm", ".typelib", ".vim", "gconv-modules", "tclIndex",
];

/// The programs that git and compilers look for in directories of their own, beside those whose names begin with `git-`.
#[rustfmt::skip]
const HELPERS: &[&str] = &[
    "as", "cc1", "cc1plus", "collect2", "f951", "git", "gnat1", "go1", "ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold", "lto-wrapper", "lto1",
];

/// The files that autoenv runs when the user enters or leaves a directory.
const AUTOENV_FILES: &[&str] = &[".env", ".env.leave", ".autoenv", ".autoenv.leave"];

/// Hidden files and directories of almost every project.
#[rustfmt::skip]
const OF_PROJECTS: &[&str] = &[
    ".circleci", ".dockerignore", ".editorconfig", ".env.example", ".eslintrc.json", ".gitattributes", ".github", ".gitignore", ".gitkeep",
    ".gitlab", ".gitlab-ci.yml", ".npmignore", ".prettierignore", ".prettierrc", ".prettierrc.json",
];

const LINK: &str = "120000";

/// The most places that are kept: scripts of the project may name many.
const MAX_PLACES: usize = 4096;

/// The most words of variables that are kept: one variable may have thousands, and the others count too.
const MAX_WORDS: usize = 20_000;

/// Directories and files that programs load from.
#[derive(Debug, Default)]
pub(crate) struct RelativePlaces {
    /// What is loaded, by the path of the place.
    places: HashMap<String, HashSet<(Loaded, Origin)>>,
    count: usize,
    /// Words of variables that may be files at the top of the working tree.
    words: HashSet<String>,
}

/// What is loaded from a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Loaded {
    PythonModules,
    PerlModules,
    RubyModules,
    LuaModules,
    ZshSettings,
    Libraries,
    /// Programs of git and of compilers.
    Helpers,
    /// The place is a file.
    Itself,
    /// Whatever has the name of settings.
    Settings,
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
    /// Adds those of a variable in the user's environment; says whether it is known what programs load from there. `inside` says where in the
    /// working tree an absolute path leads.
    pub(crate) fn add(&mut self, name: &str, value: &str, inside: impl Fn(&str) -> Vec<String>) -> bool {
        let find = |entry: &str| match entry.starts_with(['/', '~']) {
            true => inside(entry).into_iter().map(Place::from_top).collect(),
            false => vec![Place::from_anywhere(plain(entry))],
        };
        if self.add_loaded(name, value, &find) {
            return true;
        }
        let Some(value) = acting_part(name, value) else { return false };
        let is_command = is_command(name);
        // Options of Erlang for directories of modules.
        let mut options = value.split_whitespace().skip_while(|word| !["-pa", "-pz"].contains(word));
        let directories = options.by_ref().skip(1).take_while(|word| !word.starts_with('-'));
        self.extend(Loaded::Everything, directories.collect(), &find);
        for (at, word) in words(&value).enumerate() {
            let word = word.trim_start_matches('@');
            let option = word.strip_prefix('-').map(|option| option.trim_start_matches('-'));
            let joined = option.map(|option| option.get(1..).unwrap_or_default());
            // It may name a file or directory, which a slash shows.
            if word.contains('/') {
                if name == "NODE_OPTIONS" {
                    self.add_node_modules(joined.unwrap_or(word), &find);
                }
                let places = joined.into_iter().chain([word].into_iter().filter(|_| option.is_none()));
                for place in places.flat_map(&find).filter(|place| !place.path.is_empty()) {
                    let is_file = is_command || place.origin == Origin::Top;
                    self.insert(if is_file { Loaded::Itself } else { Loaded::Everything }, place);
                }
            } else if !(has_mere_names(name) || is_command && at == 0) {
                self.add_names([Some(word), option, joined].into_iter().flatten(), is_place(name));
            }
        }
        false
    }

    /// Adds the files that node may mean by a path without an end.
    fn add_node_modules(&mut self, path: &str, find: &impl Fn(&str) -> Vec<Place>) {
        for place in find(path) {
            for path in completed("node", &place.path) {
                self.insert(Loaded::Itself, Place { path, ..place });
            }
        }
    }

    /// Adds words without a slash: of a variable that names a place they are one, of others they may be files at the top.
    fn add_names<'w>(&mut self, words: impl Iterator<Item = &'w str>, are_places: bool) {
        for word in words.map(plain).filter(|word| !word.is_empty()) {
            match are_places {
                true => self.insert(Loaded::Everything, Place::from_anywhere(word)),
                false if self.words.len() < MAX_WORDS => drop(self.words.insert(word)),
                false => {}
            }
        }
    }

    /// Adds the project as a directory from which some program loads.
    pub(crate) fn add_project_itself(&mut self) {
        self.insert(Loaded::Code, Place::from_top(String::new()));
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
                let loaded = ruby_modules(&options);
                self.extend(Loaded::Itself, loaded.iter().map(String::as_str).collect(), find);
                self.add_ruby_directories(&options, find);
            }
            "PYTHONWARNINGS" => {
                // Python imports the module of a warning's class.
                let classes = value.split(',').filter_map(|filter| filter.split(':').nth(2));
                self.add_python_modules(classes, find);
            }
            "PYTHONBREAKPOINT" => self.add_python_modules([value].into_iter(), find),
            _ if name.starts_with("AUTOENV_") => {
                let files = words(value).chain(AUTOENV_FILES.iter().copied()).collect();
                self.extend(Loaded::Itself, files, find);
            }
            _ if is_file(name) => {
                let files = words(value).map(|file| file.trim_start_matches('@')).collect();
                self.extend(Loaded::Itself, files, find);
            }
            _ if has_programs(name) => self.extend(Loaded::Helpers, entries, find),
            _ if is_directory(name) => {
                // Here an empty entry stands for the usual directories.
                let directories = value.split(blanks).filter(|directory| !directory.is_empty());
                self.extend(Loaded::Everything, directories.collect(), find);
            }
            _ if name.ends_with("HOME") => {
                for place in find(value) {
                    // The project itself is not all settings.
                    let is_named = !place.path.is_empty();
                    self.insert(if is_named { Loaded::Everything } else { Loaded::Settings }, place);
                }
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
        self.extend(Loaded::RubyModules, ruby_directories(options).collect(), find);
    }

    /// Adds the modules of names such as `package.module.function`, wherever Python finds them.
    fn add_python_modules<'v>(
        &mut self,
        names: impl Iterator<Item = &'v str>,
        find: &impl Fn(&str) -> Vec<Place>,
    ) {
        let modules = names.filter_map(|name| name.trim().rsplit_once('.'));
        let files: Vec<String> = modules.flat_map(|(module, _)| files_of_python_module(module)).collect();
        self.extend(Loaded::Itself, files.iter().map(String::as_str).collect(), find);
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
                    Loaded::Helpers if !place.path.is_empty() => self.insert(Loaded::Everything, place),
                    loaded => self.insert(loaded, place),
                }
            }
        }
    }

    /// Adds where links lead that are at such a place, on the way to it, or loaded from it.
    pub(crate) fn follow(&mut self, links: &TreeLinks) {
        let mut by_end: HashMap<&str, Vec<&str>> = HashMap::new();
        for link in links.paths() {
            for end in starts_of(link).map(|start| &link[start..]) {
                by_end.entry(end).or_default().push(link);
            }
        }
        let mut found = Vec::new();
        for (path, all_loaded) in &self.places {
            for part in parts_of(path) {
                for link in by_end.get(part).into_iter().flatten() {
                    let is_from = |origin: Origin| origin == Origin::Anywhere || *link == part;
                    let beyond = format!("{link}{}", &path[part.len()..]);
                    let loaded: Vec<Loaded> =
                        all_loaded.iter().filter(|(_, origin)| is_from(*origin)).map(|it| it.0).collect();
                    let ways = links.ways_of(&beyond);
                    found.extend(ways.iter().flat_map(|way| loaded.iter().map(|it| (*it, way.clone()))));
                }
            }
        }
        for link in links.paths() {
            let is_loaded =
                |(loaded, _, below): (Loaded, &str, &str)| !below.is_empty() && loaded.includes_link(below);
            if self.around(link).any(is_loaded) {
                found.extend(links.ways_of(link).into_iter().map(|way| (Loaded::Everything, way)));
            }
        }
        let words = self.words.iter().flat_map(|word| links.ways_of(word));
        found.extend(words.map(|way| (Loaded::Itself, way)));
        for (loaded, path) in found {
            self.insert(loaded, Place::from_top(path));
        }
    }

    fn insert(&mut self, loaded: Loaded, place: Place) {
        if self.count < MAX_PLACES
            && self.places.entry(place.path).or_default().insert((loaded, place.origin))
        {
            self.count += 1;
        }
    }

    /// Whether a changed path of the project could be loaded from one of them. A link may lead anywhere. `mode` is git's.
    pub(crate) fn contains(&self, path: &str, mode: &str) -> bool {
        let is_loaded = |(loaded, place, below): (Loaded, &str, &str)| match mode == LINK {
            true => loaded != Loaded::Itself && !place.is_empty() || loaded.includes_link(below),
            // Wherever the user may be, a program of the project may have modules with such names.
            false if loaded == Loaded::PythonModules && place.is_empty() && below != path => {
                starts_python(below)
            }
            false => loaded.includes(below),
        };
        self.words.contains(path)
            || self.around(path).any(is_loaded)
            || mode == LINK && self.is_on_the_way(path)
            || without_platform(path).is_some_and(|path| self.contains(&path, mode))
    }

    /// What is loaded from the places that a path is, or is in, with the place and what of the path comes after it.
    fn around<'p>(&'p self, path: &'p str) -> impl Iterator<Item = (Loaded, &'p str, &'p str)> {
        let splits = starts_of(path).flat_map(move |start| {
            let path = &path[start..];
            let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            let named = ends.map(|end| (&path[..end], path[end..].trim_start_matches('/')));
            [("", path)].into_iter().chain(named).map(move |(place, below)| (start, place, below))
        });
        splits.flat_map(move |(start, place, below)| {
            let loaded = self.places.get(place).into_iter().flatten();
            let loaded = loaded.filter(move |(_, origin)| start == 0 || *origin == Origin::Anywhere);
            loaded.map(move |(loaded, _)| (*loaded, place, below))
        })
    }

    /// Whether a link is one of the places, or above one.
    fn is_on_the_way(&self, link: &str) -> bool {
        self.places.iter().any(|(path, loaded)| {
            let is_anywhere = || loaded.iter().any(|(_, origin)| *origin == Origin::Anywhere);
            parts_of(path).any(|part| match link.strip_suffix(part) {
                Some("") => true,
                Some(above) => above.ends_with('/') && is_anywhere(),
                None => false,
            })
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
                Self::Helpers => HELPERS.contains(&name) || name.starts_with("git-"),
                Self::Settings => is_settings_file(below, name),
                Self::Itself => false,
                Self::Code => CODE_ENDS.iter().any(|end| name.ends_with(end)) || is_library(name),
                Self::Everything => true,
            }
    }

    /// Whether something could be loaded through a link with this path below the place.
    fn includes_link(self, below: &str) -> bool {
        self.includes(below) || self != Self::Itself && is_loaded_as_directory(below)
    }
}

impl Place {
    pub(crate) fn from_top(path: String) -> Self {
        Self { path, origin: Origin::Top }
    }

    pub(crate) fn from_anywhere(path: String) -> Self {
        Self { path, origin: Origin::Anywhere }
    }
}

/// Where the names in a path start.
fn starts_of(path: &str) -> impl Iterator<Item = usize> {
    [0].into_iter().chain(path.match_indices('/').map(|(at, _)| at + 1))
}

/// A path and the directories above it.
fn parts_of(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end]).filter(|part| !part.is_empty())
}

/// The shorter name of a compiled module: Python takes `a.cpython-313-x86_64-linux-gnu.so` for `a.so`.
fn without_platform(path: &str) -> Option<String> {
    let start = path.rfind('/').map_or(0, |at| at + 1);
    let (name, end) = path[start..].split_once('.')?;
    end.ends_with(".so").then(|| format!("{}{name}.so", &path[..start]))
}

/// Whether a file below a home directory has the name of settings, such as `.curlrc` or `git/config`, and not of what a project has anyway.
fn is_settings_file(below: &str, name: &str) -> bool {
    let top = below.split('/').next().unwrap_or_default();
    let is_hidden = top.starts_with('.') && !OF_PROJECTS.contains(&top);
    let stem = name.split('.').next().unwrap_or_default();
    is_hidden || below.contains('/') && (stem == "config" || stem.ends_with("rc") && stem != "src")
}

fn is_library(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.") || name.ends_with(".dylib")
}

#[cfg(test)]
mod tests;
