//! The npm packages: one for each platform, with nothing but the binary, and `autonoe`, which depends on all of them optionally. npm installs
//! the one that fits by its fields `os` and `cpu`, so that no script has to run when it is installed.

use std::fs;

use serde_json::{Value, json};

use super::archive::{gzip, tar};
use super::file_tree::FileTree;
use super::release::Release;
use super::target::{Processor, System, Target};
use crate::result::Result;
use crate::workspace::root;

const DESCRIPTION: &str = "Turns a written specification into software that has been checked";

const LICENCES: &str = "THIRD-PARTY-LICENCES.txt";

/// As node calls it, such as linux-x64.
pub fn platform(target: &Target) -> String {
    let (system, processor) = names(target);
    format!("{system}-{processor}")
}

/// What `npm pack` would call it.
pub fn platform_file(release: &Release, target: &Target) -> String {
    format!("autonoe-{}-{}.tgz", platform(target), release.version)
}

pub fn launcher_file(release: &Release) -> String {
    format!("autonoe-{}.tgz", release.version)
}

/// `licences` are those of everything in the binary, which come with it.
pub fn platform_package(
    release: &Release,
    target: &Target,
    program: Vec<u8>,
    licences: &str,
) -> Result<Vec<u8>> {
    let (system, processor) = names(target);
    let mut manifest = manifest(release, &format!("@autonoe/{}", platform(target)));
    manifest["os"] = json!([system]);
    manifest["cpu"] = json!([processor]);
    let mut tree = FileTree::default();
    tree.add_program("bin/autonoe", program);
    tree.add(LICENCES, licences);
    pack(release, tree, &manifest)
}

pub fn launcher_package(release: &Release, targets: &[&Target]) -> Result<Vec<u8>> {
    let mut manifest = manifest(release, "autonoe");
    manifest["bin"] = json!({"autonoe": "bin/autonoe.js"});
    manifest["files"] = json!(["bin"]);
    let platforms =
        targets.iter().map(|target| (format!("@autonoe/{}", platform(target)), json!(release.version)));
    manifest["optionalDependencies"] = Value::Object(platforms.collect());
    let mut tree = FileTree::default();
    tree.add_program("bin/autonoe.js", fs::read(root().join("packaging/npm/launcher.js"))?);
    tree.add("README.md", fs::read(root().join("README.md"))?);
    pack(release, tree, &manifest)
}

fn manifest(release: &Release, name: &str) -> Value {
    json!({
        "name": name,
        "version": release.version,
        "description": DESCRIPTION,
        "license": "MIT OR Apache-2.0",
        "repository": {"type": "git", "url": format!("git+{}.git", release.repository)},
        "engines": {"node": ">=18"},
        "files": ["bin", LICENCES],
    })
}

fn pack(release: &Release, mut tree: FileTree, manifest: &Value) -> Result<Vec<u8>> {
    tree.add("package.json", format!("{}\n", serde_json::to_string_pretty(manifest)?));
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        tree.add(name, fs::read(root().join(name))?);
    }
    gzip(&tar(&tree, "package/", release.seconds)?)
}

fn names(target: &Target) -> (&'static str, &'static str) {
    let system = match target.system {
        System::Linux => "linux",
        System::MacOs => "darwin",
    };
    let processor = match target.processor {
        Processor::X86_64 => "x64",
        Processor::Aarch64 => "arm64",
    };
    (system, processor)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use serde_json::{Value, json};

    use super::super::archive::read_gzip_member;
    use super::super::release::example;
    use super::super::target::TARGETS;
    use super::{launcher_package, platform_package};

    #[test]
    fn the_same_files_make_the_same_packages() {
        let make = || {
            let platform =
                platform_package(&example(), &TARGETS[0], b"program".to_vec(), "licences").unwrap();
            (platform, launcher_package(&example(), &[&TARGETS[0], &TARGETS[1]]).unwrap())
        };
        assert_eq!(make(), make());
    }

    /// They ask to be passed on with the binary.
    #[test]
    fn the_licences_come_with_the_binary() {
        let package = platform_package(&example(), &TARGETS[0], b"program".to_vec(), "all of them").unwrap();
        let text = read_gzip_member(&package, "package/THIRD-PARTY-LICENCES.txt").unwrap();
        assert_eq!(text, b"all of them");
        let manifest = read_gzip_member(&package, "package/package.json").unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        assert_eq!(manifest["files"], json!(["bin", "THIRD-PARTY-LICENCES.txt"]));
    }

    /// Unpacks a package to where npm would install it.
    fn install(modules: &Path, name: &str, package: &[u8]) {
        let directory = modules.join(name);
        fs::create_dir_all(&directory).unwrap();
        let file = directory.join("package.tgz");
        fs::write(&file, package).unwrap();
        let mut tar = Command::new("tar");
        tar.args(["--strip-components=1", "-xzf"]).arg(&file).arg("-C").arg(&directory);
        assert!(tar.status().unwrap().success());
    }

    #[test]
    fn the_launcher_starts_the_program_of_the_platform() {
        if Command::new("node").arg("--version").output().is_err() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let modules = directory.path().join("node_modules");
        let here = TARGETS.iter().find(|target| target.runs_here()).unwrap();
        install(&modules, "autonoe", &launcher_package(&example(), &[here]).unwrap());
        let run = || {
            let mut node = Command::new("node");
            node.arg(modules.join("autonoe/bin/autonoe.js")).args(["run", "a b"]);
            let output = node.output().unwrap();
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            (output.status.code(), text)
        };
        let (code, text) = run();
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("is not installed. Either there is no build for this platform"), "{text}");
        let script = "#!/bin/sh\necho \"$# $2\"\nexit 7\n";
        let package = platform_package(&example(), here, script.into(), "licences").unwrap();
        install(&modules, &format!("@autonoe/{}", super::platform(here)), &package);
        assert_eq!(run(), (Some(7), "2 a b\n".to_owned()));
    }
}
