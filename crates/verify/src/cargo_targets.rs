//! Settings of a Cargo manifest that decide what `cargo test` builds and runs. An agent may change a manifest, so only those are named that
//! lead to other files, or away from the tests.

use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_bytes_beneath};
use toml::{Table, Value};

/// The manifest that a name of [`decisive_settings`] is about.
pub(crate) fn manifest_of(setting: &str) -> Option<&str> {
    setting.split_once(" (").map(|(path, _)| path).filter(|path| is_manifest(path))
}

pub(crate) fn is_manifest(path: &str) -> bool {
    path == "Cargo.toml" || path.ends_with("/Cargo.toml")
}

/// The settings of the manifest at `path` below `root`, such as `Cargo.toml ([[test]] path = "other.rs")`.
pub(crate) fn decisive_settings(root: &Path, path: &str) -> Vec<String> {
    let text = read_bytes_beneath(root, Path::new(path), SETTINGS_LIMIT).unwrap_or_default();
    let manifest: Table = String::from_utf8_lossy(&text).parse().unwrap_or_default();
    let package = manifest.get("package").or_else(|| manifest.get("project"));
    let package = package.and_then(|package| package.get("name")?.as_str());
    let directory = root.join(path.strip_suffix("Cargo.toml").unwrap_or(path));
    let is_default = |kind: &str, target: &Table| is_default_path(kind, target, package, &directory);
    let settings = manifest.iter().flat_map(|(name, value)| match (name.as_str(), value) {
        ("package" | "project", Value::Table(package)) => named("[package]", &of_package(package)),
        ("workspace", Value::Table(workspace)) => named("[workspace]", &of_workspace(workspace)),
        ("lib", Value::Table(library)) => named("[lib]", &of_target(library, is_default(name, library))),
        ("bin" | "test", Value::Array(targets)) => {
            let targets = targets.iter().filter_map(Value::as_table);
            let settings = targets.map(|target| of_target(target, is_default(name, target)));
            settings.flat_map(|settings| named(&format!("[[{name}]]"), &settings)).collect()
        }
        ("profile", Value::Table(profiles)) => {
            let tables = profiles.iter().filter_map(|(name, profile)| Some((name, profile.as_table()?)));
            tables
                .flat_map(|(name, profile)| named(&format!("[profile.{name}]"), &of_profile(profile)))
                .collect()
        }
        ("lints", Value::Table(lints)) => named("[lints]", &lints.keys().cloned().collect::<Vec<_>>()),
        ("patch" | "replace", Value::Table(replaced)) => {
            named(&format!("[{name}]"), &replaced.keys().cloned().collect::<Vec<_>>())
        }
        _ => Vec::new(),
    });
    let own = dependency_tables(&manifest).into_iter();
    let own =
        own.flat_map(|(name, dependencies)| named(&format!("[{name}]"), &in_place_of_std(dependencies)));
    // Tests of a feature that is not there are left out.
    let features = manifest.get("features").and_then(|features| features.get("default"));
    let features = features.map_or_else(|| "[]".to_owned(), shown);
    let features = manifest.contains_key("package").then(|| format!("[features] default = {features}"));
    settings.chain(own).chain(features).map(|setting| format!("{path} ({setting})")).collect()
}

/// The crates that come with Rust.
const OWN_CRATES: [&str; 5] = ["alloc", "core", "proc_macro", "std", "test"];

/// Tables with dependencies that tests are built with, also those of a platform.
const DEPENDENCIES: [&str; 2] = ["dependencies", "dev-dependencies"];

pub(crate) fn dependency_tables(manifest: &Table) -> Vec<(String, &Table)> {
    fn of<'a>(start: &str, table: &'a Table) -> Vec<(String, &'a Table)> {
        let named = DEPENDENCIES.iter().filter_map(|name| Some((*name, table.get(*name)?.as_table()?)));
        named.map(|(name, dependencies)| (format!("{start}{name}"), dependencies)).collect()
    }
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let platforms = platforms.filter_map(|(platform, table)| Some((platform, table.as_table()?)));
    let platforms = platforms.flat_map(|(platform, table)| of(&format!("target.{platform:?}."), table));
    of("", manifest).into_iter().chain(platforms).collect()
}

/// The manifest without the settings by which tests are others than they seem: what leaves tests out, leads them to other files, or is used
/// under the names of Rust's own crates. What leads to other parts of the program stays, since nothing is built without it.
pub(crate) fn without_settings_for_tests(text: &str) -> String {
    let Ok(mut manifest) = text.parse::<Table>() else { return text.to_owned() };
    // Cargo finds what is in `tests` by itself.
    manifest.remove("test");
    let platforms = manifest.get_mut("target").and_then(Value::as_table_mut);
    let platforms = platforms.into_iter().flat_map(|platforms| platforms.iter_mut());
    platforms.filter_map(|(_, platform)| platform.as_table_mut()).for_each(remove_own_names);
    remove_own_names(&mut manifest);
    let profiles = manifest.get_mut("profile").and_then(Value::as_table_mut);
    for (_, profile) in profiles.into_iter().flat_map(|profiles| profiles.iter_mut()) {
        if let Some(profile) = profile.as_table_mut() {
            profile.retain(|key, _| !SEEN_IN_TESTS.contains(&key));
        }
    }
    for table in ["package", "project", "workspace", "lib"] {
        if let Some(table) = manifest.get_mut(table).and_then(Value::as_table_mut) {
            table.retain(|key, _| !LEAVE_OUT.contains(&key));
        }
    }
    manifest.to_string()
}

/// Settings of profiles that say whether tests see what is wrong.
const SEEN_IN_TESTS: [&str; 2] = ["debug-assertions", "overflow-checks"];

/// Settings of packages, workspaces and libraries that leave tests out.
const LEAVE_OUT: [&str; 6] = ["autotests", "default-members", "doctest", "exclude", "harness", "test"];

fn remove_own_names(table: &mut Table) {
    for name in DEPENDENCIES {
        if let Some(dependencies) = table.get_mut(name).and_then(Value::as_table_mut) {
            dependencies.retain(|name, _| !OWN_CRATES.contains(&name));
        }
    }
}

/// One setting for all values, since they belong together.
fn named(table: &str, values: &[String]) -> Vec<String> {
    (!values.is_empty()).then(|| format!("{table} {}", values.join(", "))).into_iter().collect()
}

/// Whether the path of a target is the one that Cargo would find by its name.
fn is_default_path(kind: &str, target: &Table, package: Option<&str>, directory: &Path) -> bool {
    let text = |key: &str| target.get(key).and_then(Value::as_str);
    let Some(path) = text("path").map(|path| path.trim_start_matches("./")) else { return true };
    let Some(name) = text("name").or(package) else { return false };
    let in_directory = |parent: &str| {
        let file = format!("{parent}/{name}.rs");
        path == file || (path == format!("{parent}/{name}/main.rs") && !directory.join(file).exists())
    };
    match kind {
        "lib" => path == "src/lib.rs",
        "bin" => in_directory("src/bin") || (Some(name) == package && path == "src/main.rs"),
        _ => in_directory("tests"),
    }
}

fn of_target(target: &Table, has_default_path: bool) -> Vec<String> {
    decisive(target, |key, value| match key {
        "path" => !has_default_path,
        "harness" | "test" | "doctest" => value.as_bool() == Some(false),
        // Without these features it is left out, and nothing says so.
        "required-features" => is_list(value),
        _ => false,
    })
}

fn of_package(package: &Table) -> Vec<String> {
    decisive(package, |key, value| match key {
        "build" => value.as_str().is_some_and(|path| path.trim_start_matches("./") != "build.rs"),
        "autotests" => value.as_bool() == Some(false),
        _ => false,
    })
}

/// Members that are left out are not tested.
fn of_workspace(workspace: &Table) -> Vec<String> {
    decisive(workspace, |key, value| ["default-members", "exclude"].contains(&key) && is_list(value))
}

/// Without these, assertions and overflows are not seen.
fn of_profile(profile: &Table) -> Vec<String> {
    decisive(profile, |key, value| SEEN_IN_TESTS.contains(&key) && value.as_bool() == Some(false))
}

/// Tests would use them under the names of Rust's own crates.
fn in_place_of_std(dependencies: &Table) -> Vec<String> {
    let is_own = |name: &&String| OWN_CRATES.contains(&name.as_str());
    dependencies.keys().filter(is_own).cloned().collect()
}

fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
}

fn decisive(table: &Table, is_decisive: impl Fn(&str, &Value) -> bool) -> Vec<String> {
    let settings = table.iter().filter(|(key, value)| is_decisive(key, value));
    settings.map(|(key, value)| format!("{key} = {}", shown(value))).collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Boolean(value) => value.to_string(),
        Value::Array(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(", ")),
        _ => format!("{:?}", value.as_str().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{decisive_settings, manifest_of, without_settings_for_tests};

    #[test]
    fn only_what_leads_elsewhere_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = r#"
            [package]
            name = "calc"
            build = "other.rs"
            autotests = false
            [lib]
            name = "calc"
            [[bin]]
            name = "calc"
            [[test]]
            name = "suite"
            path = "fake.rs"
            harness = false
            [[test]]
            name = "plain"
            harness = true
            path = "tests/plain.rs"
            [[test]]
            name = "hidden"
            required-features = ["never"]
            [workspace]
            members = ["a", "b"]
            default-members = ["b"]
            [dependencies]
            path = { path = "x" }
            [dev-dependencies]
            std = { package = "x", path = "x" }
            [target.'cfg(unix)'.dev-dependencies]
            core.path = "x"
            [patch.crates-io]
            rand = { path = "x" }
            [profile.test]
            debug-assertions = false
            [features]
            default = ["full"]
            full = []
        "#;
        fs::create_dir(directory.path().join("a")).unwrap();
        fs::write(directory.path().join("a/Cargo.toml"), manifest).unwrap();
        let found = decisive_settings(directory.path(), "a/Cargo.toml");
        assert_eq!(
            found,
            [
                "a/Cargo.toml ([package] autotests = false, build = \"other.rs\")",
                "a/Cargo.toml ([patch] crates-io)",
                "a/Cargo.toml ([profile.test] debug-assertions = false)",
                "a/Cargo.toml ([[test]] harness = false, path = \"fake.rs\")",
                "a/Cargo.toml ([[test]] required-features = [\"never\"])",
                "a/Cargo.toml ([workspace] default-members = [\"b\"])",
                "a/Cargo.toml ([dev-dependencies] std)",
                "a/Cargo.toml ([target.\"cfg(unix)\".dev-dependencies] core)",
                "a/Cargo.toml ([features] default = [\"full\"])",
            ]
        );
        assert_eq!(manifest_of(&found[0]), Some("a/Cargo.toml"));
        assert_eq!(manifest_of("conftest.py"), None);
        // What leads to the program stays.
        fs::write(directory.path().join("a/Cargo.toml"), without_settings_for_tests(manifest)).unwrap();
        assert_eq!(
            decisive_settings(directory.path(), "a/Cargo.toml"),
            [
                "a/Cargo.toml ([package] build = \"other.rs\")",
                "a/Cargo.toml ([patch] crates-io)",
                "a/Cargo.toml ([features] default = [\"full\"])",
            ]
        );
        assert_eq!(without_settings_for_tests("not toml ["), "not toml [");
        fs::write(directory.path().join("Cargo.toml"), "not toml [").unwrap();
        assert_eq!(decisive_settings(directory.path(), "Cargo.toml"), Vec::<String>::new());
    }

    #[test]
    fn the_paths_that_cargo_finds_by_itself_lead_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        let settings = |targets: &str| {
            let manifest = format!("[package]\nname = \"calc\"\nbuild = \"build.rs\"\n{targets}");
            fs::write(directory.path().join("Cargo.toml"), manifest).unwrap();
            let mut found = decisive_settings(directory.path(), "Cargo.toml");
            assert_eq!(found.pop().as_deref(), Some("Cargo.toml ([features] default = [])"));
            found
        };
        for (table, name, path) in [
            ("[lib]", "calc", "src/lib.rs"),
            ("[[bin]]", "calc", "src/main.rs"),
            ("[[bin]]", "x", "src/bin/x.rs"),
            ("[[test]]", "x", "./tests/x.rs"),
            ("[[test]]", "x", "tests/x/main.rs"),
        ] {
            let found = settings(&format!("{table}\nname = \"{name}\"\npath = \"{path}\"\n"));
            assert_eq!(found, Vec::<String>::new(), "{table} {path}");
        }
        let other = settings("[[test]]\nname = \"x\"\npath = \"tests/y.rs\"\n");
        assert_eq!(other, ["Cargo.toml ([[test]] path = \"tests/y.rs\")"]);
        // Beside the test that Cargo would find, it leads elsewhere.
        fs::create_dir(directory.path().join("tests")).unwrap();
        fs::write(directory.path().join("tests/x.rs"), "").unwrap();
        assert_eq!(settings("[[test]]\nname = \"x\"\npath = \"tests/x/main.rs\"\n").len(), 1);
    }
}
