use autonoe_core::profile::Profile;

use super::source_dir::SourceDir;
use super::{FoundLanguage, TestSuite};

const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

pub fn find(directory: &SourceDir) -> Option<FoundLanguage> {
    let manifest = directory.has("Cargo.toml").then(|| directory.toml("Cargo.toml"))?;
    let command = if manifest.contains_key("workspace") { "cargo test --workspace" } else { "cargo test" };
    let vendored = directory.text(".cargo/config.toml").contains("vendored-sources");
    Some(FoundLanguage {
        name: "Rust",
        file: "Cargo.toml".to_owned(),
        tool: "cargo",
        profiles: &[Profile::Rust],
        commands: &[],
        hosts: &[],
        tests: Some(TestSuite {
            command: command.to_owned(),
            needs_network: !vendored && has_packages(directory, &manifest),
        }),
    })
}

/// The lock file knows what the whole workspace needs.
fn has_packages(directory: &SourceDir, manifest: &toml::Table) -> bool {
    if directory.has("Cargo.lock") {
        return directory.text("Cargo.lock").lines().any(|line| line.starts_with("source = "));
    }
    let is_fetched = |dependency: &toml::Value| dependency.get("path").is_none();
    let mut tables = DEPENDENCIES.iter().filter_map(|name| manifest.get(*name)?.as_table());
    manifest.contains_key("workspace") || tables.any(|table| table.values().any(is_fetched))
}
