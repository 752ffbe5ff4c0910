//! The crates of other people that are in the binary of a target, from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::build::FEATURES;
use super::target::Target;
use crate::result::Result;
use crate::workspace::{cargo, root};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    pub name: String,
    pub version: String,
    /// As the crate states it, in the words of SPDX.
    pub licence: Option<String>,
    pub authors: Vec<String>,
    pub repository: Option<String>,
    /// Of the downloaded archive, from Cargo.lock.
    pub sha256: Option<String>,
    /// Where its source is on this machine.
    pub directory: PathBuf,
}

/// Sorted by name and version. What is used only to build or to test is not in the binary.
pub fn of_binary(target: &Target) -> Result<Vec<Dependency>> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target.triple])
        .args(["--features", FEATURES])
        .output()?;
    if !output.status.success() {
        return Err(format!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let lock: toml::Table = std::fs::read_to_string(root().join("Cargo.lock"))?.parse()?;
    from_metadata(&serde_json::from_slice(&output.stdout)?, &checksums(&lock))
}

/// By name and version.
fn checksums(lock: &toml::Table) -> BTreeMap<(String, String), String> {
    let packages = lock.get("package").and_then(|packages| packages.as_array());
    let field = |package: &toml::Value, name: &str| Some(package.get(name)?.as_str()?.to_owned());
    let entry = |package: &toml::Value| {
        Some(((field(package, "name")?, field(package, "version")?), field(package, "checksum")?))
    };
    packages.into_iter().flatten().filter_map(entry).collect()
}

fn from_metadata(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Vec<Dependency>> {
    let nodes = list(&metadata["resolve"]["nodes"]);
    let edges: BTreeMap<&str, Vec<&str>> =
        nodes.iter().map(|node| (text(&node["id"]), linked_packages(node))).collect();
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).iter().map(|package| (text(&package["id"]), package)).collect();
    let top = packages.iter().find(|(_, package)| text(&package["name"]) == "autonoe");
    let mut waiting = vec![*top.ok_or("`cargo metadata` does not list autonoe.")?.0];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if seen.insert(id) {
            waiting.extend(edges.get(id).into_iter().flatten());
        }
    }
    let others = seen.iter().filter_map(|id| packages.get(id)).filter(|package| !package["source"].is_null());
    let mut dependencies: Vec<_> = others.map(|package| dependency(package, checksums)).collect();
    dependencies.sort();
    Ok(dependencies)
}

/// What a package links, without what its build script and its tests use. A macro is not linked either, but the code it writes is.
fn linked_packages(node: &Value) -> Vec<&str> {
    let is_normal =
        |dependency: &&Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
    list(&node["deps"]).iter().filter(is_normal).map(|dependency| text(&dependency["pkg"])).collect()
}

fn dependency(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Dependency {
    let owned = |name: &str| package[name].as_str().map(str::to_owned);
    let (name, version) = (text(&package["name"]).to_owned(), text(&package["version"]).to_owned());
    let manifest = PathBuf::from(text(&package["manifest_path"]));
    Dependency {
        sha256: checksums.get(&(name.clone(), version.clone())).cloned(),
        licence: owned("license"),
        authors: list(&package["authors"]).iter().map(|author| text(author).to_owned()).collect(),
        repository: owned("repository"),
        directory: manifest.parent().map(PathBuf::from).unwrap_or_default(),
        name,
        version,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::from_metadata;

    #[test]
    fn only_what_others_wrote_and_the_binary_links_is_listed() {
        let package = |name: &str, source: Option<&str>| {
            json!({"id": name, "name": name, "version": "1.0.0", "source": source, "license": "MIT",
                "authors": [], "repository": null, "manifest_path": format!("/crates/{name}/Cargo.toml")})
        };
        let edge = |name: &str, kind: Option<&str>| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [package("autonoe", None), package("ours", None), package("linked", Some("registry")),
                package("builder", Some("registry")), package("tester", Some("registry"))],
            "resolve": {"nodes": [
                {"id": "autonoe", "deps": [edge("ours", None), edge("tester", Some("dev"))]},
                {"id": "ours", "deps": [edge("linked", None), edge("builder", Some("build"))]},
                {"id": "linked", "deps": []}, {"id": "builder", "deps": []}, {"id": "tester", "deps": []},
            ]},
        });
        let sums = BTreeMap::from([(("linked".to_owned(), "1.0.0".to_owned()), "abc".to_owned())]);
        let found = from_metadata(&metadata, &sums).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].name.as_str(), found[0].sha256.as_deref()), ("linked", Some("abc")));
        assert!(from_metadata(&json!({}), &sums).is_err());
    }
}
