//! The Nix flake of a release: `packaging/nix/flake.nix` with the archives of its targets and their checksums.

use std::fs;

use super::output::ReleaseFile;
use super::release::Release;
use super::target::{Processor, System, Target};
use crate::result::Result;
use crate::workspace::root;

pub const FILE: &str = "flake.nix";

pub fn text(release: &Release, targets: &[&Target], files: &[ReleaseFile]) -> Result<String> {
    let template = fs::read_to_string(root().join("packaging/nix").join(FILE))?;
    let sources: Result<Vec<String>> = targets.iter().map(|target| source(release, target, files)).collect();
    Ok(template.replace("@VERSION@", &release.version).replace("@SOURCES@", &sources?.join("\n")))
}

/// As Nix calls it.
fn system(target: &Target) -> &'static str {
    match (target.processor, target.system) {
        (Processor::X86_64, System::Linux) => "x86_64-linux",
        (Processor::Aarch64, System::Linux) => "aarch64-linux",
        (Processor::X86_64, System::MacOs) => "x86_64-darwin",
        (Processor::Aarch64, System::MacOs) => "aarch64-darwin",
    }
}

fn source(release: &Release, target: &Target, files: &[ReleaseFile]) -> Result<String> {
    let name = target.archive(release, "tar.gz");
    let file = files.iter().find(|file| file.name == name).ok_or_else(|| format!("{name} was not made."))?;
    let url = release.url(&name);
    Ok(format!(
        "        {} = {{\n          name = \"{name}\";\n          url = \"{url}\";\n          sha256 = \"{}\";\n        }};",
        system(target),
        file.sha256
    ))
}

#[cfg(test)]
mod tests {
    use super::super::release::example;
    use super::super::target::TARGETS;
    use super::{ReleaseFile, text};

    #[test]
    fn each_target_has_its_archive_and_checksum() {
        let file = |triple: &str, sha256: &str| ReleaseFile {
            name: format!("autonoe-1.2.3-{triple}.tar.gz"),
            sha256: sha256.to_owned(),
        };
        let files = [file(TARGETS[0].triple, "aaa"), file(TARGETS[1].triple, "bbb")];
        let flake = text(&example(), &[&TARGETS[0], &TARGETS[1]], &files).unwrap();
        assert!(!flake.contains('@'), "{flake}");
        let arm = flake.split("aarch64-linux = {").nth(1).unwrap();
        let url = "https://example.com/autonoe/releases/download/v1.2.3/autonoe-1.2.3-aarch64-unknown-linux-musl.tar.gz";
        assert!(arm.contains(url) && arm.contains("sha256 = \"bbb\""), "{flake}");
        let error = text(&example(), &[&TARGETS[2]], &files).unwrap_err().to_string();
        assert!(error.contains("was not made"), "{error}");
    }
}
