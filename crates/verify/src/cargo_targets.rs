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
    let settings = manifest.iter().flat_map(|(name, value)| match (name.as_str(), value) {
        ("package" | "project", Value::Table(package)) => named("[package]", &of_package(package)),
        ("lib", Value::Table(library)) => named("[lib]", &of_target(library)),
        ("bin" | "test", Value::Array(targets)) => {
            let targets = targets.iter().filter_map(Value::as_table);
            targets.flat_map(|target| named(&format!("[[{name}]]"), &of_target(target))).collect()
        }
        _ => Vec::new(),
    });
    settings.map(|setting| format!("{path} ({setting})")).collect()
}

/// One setting for all values, since they belong together.
fn named(table: &str, values: &[String]) -> Vec<String> {
    (!values.is_empty()).then(|| format!("{table} {}", values.join(", "))).into_iter().collect()
}

fn of_target(target: &Table) -> Vec<String> {
    let is_decisive = |(key, value): &(&String, &Value)| match key.as_str() {
        "path" => true,
        "harness" | "test" | "doctest" => value.as_bool() == Some(false),
        _ => false,
    };
    target.iter().filter(is_decisive).map(|(key, value)| shown(key, value)).collect()
}

fn of_package(package: &Table) -> Vec<String> {
    let is_decisive = |(key, value): &(&String, &Value)| match key.as_str() {
        "build" => value.is_str(),
        "autotests" => value.as_bool() == Some(false),
        _ => false,
    };
    package.iter().filter(is_decisive).map(|(key, value)| shown(key, value)).collect()
}

fn shown(key: &str, value: &Value) -> String {
    match value {
        Value::Boolean(value) => format!("{key} = {value}"),
        _ => format!("{key} = {:?}", value.as_str().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{decisive_settings, manifest_of};

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
            [dependencies]
            path = { path = "x" }
        "#;
        fs::create_dir(directory.path().join("a")).unwrap();
        fs::write(directory.path().join("a/Cargo.toml"), manifest).unwrap();
        let found = decisive_settings(directory.path(), "a/Cargo.toml");
        assert_eq!(
            found,
            [
                "a/Cargo.toml ([package] autotests = false, build = \"other.rs\")",
                "a/Cargo.toml ([[test]] harness = false, path = \"fake.rs\")",
            ]
        );
        assert_eq!(manifest_of(&found[0]), Some("a/Cargo.toml"));
        assert_eq!(manifest_of("conftest.py"), None);
        fs::write(directory.path().join("Cargo.toml"), "not toml [").unwrap();
        assert_eq!(decisive_settings(directory.path(), "Cargo.toml"), Vec::<String>::new());
    }
}
