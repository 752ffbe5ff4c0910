//! What a Cargo manifest says about the tests that `cargo test` builds and runs, compared with what it said when the checks were new. An agent
//! may change a manifest: more dependencies, features and programs are its work. Everything else that is gone, or other than it was, may leave
//! tests out, and nothing else would say so.

use std::collections::BTreeMap;
use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_bytes_beneath};
use toml::{Table, Value};

/// The manifest that a name of a setting is about, such as `Cargo.toml (test.suite.harness = false)`.
pub(crate) fn manifest_of(setting: &str) -> Option<&str> {
    setting.split_once(" (").map(|(path, _)| path).filter(|path| is_manifest(path))
}

pub(crate) fn is_manifest(path: &str) -> bool {
    path == "Cargo.toml" || path.ends_with("/Cargo.toml")
}

/// The manifest at `path` below `root`, without what only describes the package, and without paths that Cargo would find by itself.
pub(crate) fn manifest_text(root: &Path, path: &str) -> String {
    let text = read_bytes_beneath(root, Path::new(path), SETTINGS_LIMIT).unwrap_or_default();
    let mut manifest: Table = String::from_utf8_lossy(&text).parse().unwrap_or_default();
    let package = package_name(&manifest).map(str::to_owned);
    let directory = root.join(path.strip_suffix("Cargo.toml").unwrap_or(path));
    let is_default =
        |kind: &str, target: &Table| is_default_path(kind, target, package.as_deref(), &directory);
    for kind in TARGETS {
        let targets: Vec<&mut Table> = match manifest.get_mut(kind) {
            Some(Value::Table(target)) => vec![target],
            Some(Value::Array(targets)) => targets.iter_mut().filter_map(Value::as_table_mut).collect(),
            _ => Vec::new(),
        };
        for target in targets {
            if is_default(kind, target) {
                target.remove("path");
            }
        }
    }
    if let Some(package) = manifest.get_mut("package").and_then(Value::as_table_mut) {
        if package.get("build").and_then(Value::as_str).map(without_dot) == Some("build.rs") {
            package.remove("build");
        }
        package.retain(|key, _| !DESCRIPTIONS.contains(&key));
    }
    manifest.to_string()
}

pub(crate) fn package_name(manifest: &Table) -> Option<&str> {
    let package = manifest.get("package").or_else(|| manifest.get("project"));
    package.and_then(|package| package.get("name")?.as_str())
}

/// Tables of what Cargo builds.
const TARGETS: [&str; 5] = ["lib", "bin", "test", "bench", "example"];

/// Keys of a package that say nothing about how it is built and tested.
#[rustfmt::skip]
const DESCRIPTIONS: [&str; 16] = [
    "authors", "categories", "description", "documentation", "exclude", "homepage", "include", "keywords", "license", "license-file", "metadata",
    "publish", "readme", "repository", "rust-version", "version",
];

/// The crates that come with Rust. Tests would use a dependency of such a name in its place.
pub(crate) const OWN_CRATES: [&str; 5] = ["alloc", "core", "proc_macro", "std", "test"];

/// Settings of profiles that say whether tests see what is wrong.
pub(crate) const SEEN_IN_TESTS: [&str; 2] = ["debug-assertions", "overflow-checks"];

/// Tables with dependencies that tests are built with, also those of a platform.
pub(crate) const DEPENDENCIES: [&str; 2] = ["dependencies", "dev-dependencies"];

pub(crate) fn dependency_tables(manifest: &Table) -> impl Iterator<Item = &Table> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let platforms = platforms.filter_map(|(_, table)| table.as_table());
    let tables = [manifest].into_iter().chain(platforms);
    tables.flat_map(|table| DEPENDENCIES.iter().filter_map(|name| table.get(*name)?.as_table()))
}

/// The settings that are not as they were `before`, such as `features.full is gone` and `test.suite.harness = false`, without those that only add
/// to what was there.
pub(crate) fn changed_settings(before: &str, now: &str) -> Vec<String> {
    let [before, now] = [before, now].map(|text| text.parse::<Table>().unwrap_or_default());
    let (old, new) = (Settings::of(&before), Settings::of(&now));
    let was_virtual = before.contains_key("workspace") && package_name(&before).is_none();
    let lost = old.0.iter().filter_map(|(path, value)| match new.0.get(path) {
        Some(other) if other == value || (is_for_more(path) && has_all(other, value)) => None,
        Some(other) => Some(format!("{} = {other}", shown(path))),
        None if is_missed(path, &new) => Some(format!("{} is gone", shown(path))),
        None => None,
    });
    let is_new = |path: &&Vec<String>| !old.0.contains_key(*path);
    let added =
        new.0.keys().filter(is_new).filter(|path| !is_harmless_addition(path, &old, &new, was_virtual));
    let added = added.map(|path| format!("{} = {}", shown(path), new.0[path]));
    lost.chain(added).collect()
}

/// Values by the keys that lead to them, without those that are as if nothing were said.
struct Settings(BTreeMap<Vec<String>, Value>);

impl Settings {
    fn of(manifest: &Table) -> Self {
        let mut found = Self(BTreeMap::new());
        for (name, value) in manifest {
            let name = if name == "project" { "package" } else { name };
            found.collect(vec![name.replace('_', "-")], value);
        }
        // An optional dependency is a feature, unless a feature names it as a dependency.
        let lists = found.0.iter().filter(|(path, _)| path[0] == "features");
        let items = lists.filter_map(|(_, list)| list.as_array()).flatten().filter_map(Value::as_str);
        let named: Vec<String> =
            items.filter_map(|item| item.strip_prefix("dep:")).map(str::to_owned).collect();
        let optional = found.0.keys().filter(|path| path.last().is_some_and(|key| key == "optional"));
        let implied =
            optional.filter_map(|path| dependency_in(path)?.last()).filter(|name| !named.contains(name));
        let implied: Vec<Vec<String>> =
            implied.map(|name| vec!["features".to_owned(), name.clone()]).collect();
        for feature in implied {
            found.0.entry(feature).or_insert_with(|| Value::Array(Vec::new()));
        }
        found
    }

    fn collect(&mut self, mut path: Vec<String>, value: &Value) {
        if says_nothing(&path, value) {
            return;
        }
        let below = |key: &str| path.iter().cloned().chain([key.to_owned()]).collect::<Vec<_>>();
        match value {
            Value::Table(table) => table.iter().for_each(|(key, value)| self.collect(below(key), value)),
            Value::Array(targets)
                if TARGETS.contains(&path[0].as_str()) && path.len() == 1 && !targets.is_empty() =>
            {
                for target in targets {
                    let name = target.get("name").and_then(Value::as_str).unwrap_or_default();
                    self.collect(below(name), target);
                }
            }
            _ => match dependency_in(&path) {
                // That there is one matters, not which version.
                Some(dependency) if is_version(&path[dependency.len()..]) => {
                    path.truncate(dependency.len());
                    path.push("version".to_owned());
                    self.0.insert(path, Value::Boolean(true));
                }
                _ => drop(self.0.insert(path, value.clone())),
            },
        }
    }

    fn has_any(&self, start: &[String]) -> bool {
        self.0.range(start.to_vec()..).next().is_some_and(|(path, _)| path.starts_with(start))
    }
}

/// The keys that lead to the dependency to which a setting belongs.
fn dependency_in(path: &[String]) -> Option<&[String]> {
    let at = path.iter().take(3).position(|key| key.ends_with("dependencies"))?;
    let is_table = at == 0 || ["target", "workspace"].contains(&path[0].as_str());
    path.get(..at + 2).filter(|_| is_table)
}

fn is_version(rest: &[String]) -> bool {
    rest.first().is_none_or(|key| ["version", "workspace"].contains(&key.as_str()))
}

/// Whether it is a description, is said elsewhere, or is what Cargo does anyway.
fn says_nothing(path: &[String], value: &Value) -> bool {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    match (keys.as_slice(), value) {
        (["badges"] | ["workspace", "members" | "metadata"], _) => true,
        (["package", key, ..] | ["workspace", "package", key, ..], _) if DESCRIPTIONS.contains(key) => true,
        (["package", key], Value::Boolean(value)) if key.starts_with("auto") => *value,
        (["lib", key] | ["bin" | "test" | "bench" | "example", _, key], Value::Boolean(value)) => {
            match *key {
                "harness" => *value,
                "test" => *value == ["lib", "bin", "test"].contains(&keys[0]),
                "bench" => *value == ["lib", "bin", "bench"].contains(&keys[0]),
                "doctest" => *value == (keys[0] == "lib"),
                key => key == "doc",
            }
        }
        (["features", name], Value::Array(list)) => *name == "default" && list.is_empty(),
        ([_, .., "optional"], Value::Boolean(value)) => !value,
        ([_, .., "default-features"], Value::Boolean(value)) => *value,
        ([_, .., "exclude" | "required-features"], Value::Array(list)) => list.is_empty(),
        _ => false,
    }
}

/// Lists to which something can be added.
fn is_for_more(path: &[String]) -> bool {
    match path {
        [first, name] if first == "features" => name != "default",
        _ => dependency_in(path).is_some() && path.last().is_some_and(|key| key == "features"),
    }
}

fn has_all(now: &Value, before: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let now = list(now);
    list(before).iter().all(|item| now.contains(item))
}

/// Whether something may be left out without it. What no longer leads to other packages is named with them.
fn is_missed(path: &[String], now: &Settings) -> bool {
    let is_package_name = path.len() == 2 && path[0] == "package" && path[1] == "name";
    match dependency_in(path) {
        // Nothing is built without what it needs.
        Some(dependency) => {
            now.has_any(dependency) && !["path", "version"].contains(&path[path.len() - 1].as_str())
        }
        None => !is_package_name,
    }
}

/// Whether it only adds to what was there.
fn is_harmless_addition(path: &[String], before: &Settings, now: &Settings, was_virtual: bool) -> bool {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    if let Some(dependency) = dependency_in(path) {
        let is_own = || dependency.last().is_some_and(|name| OWN_CRATES.contains(&name.as_str()));
        return match before.has_any(dependency) {
            true => ["features", "version"].contains(&keys[keys.len() - 1]),
            false => !is_own(),
        };
    }
    // Cargo of 2015 looks for no others beside a target that is named.
    let are_others_found = || now.has_any(&["package".to_owned(), "edition".to_owned()]);
    match keys.as_slice() {
        ["features", name] => *name != "default",
        // In the root of a workspace, `cargo test` then leaves the members out.
        ["package", "name"] => !was_virtual,
        ["package", "default-run" | "edition" | "links" | "resolver", ..] => true,
        ["lib", "name" | "proc-macro"] => true,
        ["bin", _, "name"] => true,
        ["test" | "bench" | "example", _, "name"] => are_others_found(),
        // Tests see less with the settings of a release.
        ["profile", "dev" | "test", "inherits"] => false,
        ["profile", .., key] => !SEEN_IN_TESTS.contains(key),
        ["workspace", "package" | "resolver", ..] => true,
        _ => false,
    }
}

fn shown(path: &[String]) -> String {
    let is_plain =
        |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let keys = path.iter().map(|key| if is_plain(key) { key.clone() } else { format!("{key:?}") });
    keys.collect::<Vec<_>>().join(".")
}

fn without_dot(path: &str) -> &str {
    path.trim_start_matches("./")
}

/// Whether the path of a target is the one that Cargo would find by its name.
fn is_default_path(kind: &str, target: &Table, package: Option<&str>, directory: &Path) -> bool {
    let text = |key: &str| target.get(key).and_then(Value::as_str);
    let Some(path) = text("path").map(without_dot) else { return true };
    let Some(name) = text("name").or(package) else { return false };
    let in_directory = |parent: &str| {
        let file = format!("{parent}/{name}.rs");
        path == file || (path == format!("{parent}/{name}/main.rs") && !directory.join(file).exists())
    };
    match kind {
        "lib" => path == "src/lib.rs",
        "bin" => in_directory("src/bin") || (Some(name) == package && path == "src/main.rs"),
        "bench" => in_directory("benches"),
        "example" => in_directory("examples"),
        _ => in_directory("tests"),
    }
}

#[cfg(test)]
mod tests;
