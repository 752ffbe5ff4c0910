//! The targets of a release, and what each packager calls them.

use super::release::Release;
use crate::result::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    X86_64,
    Aarch64,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// As Rust calls it.
    pub triple: &'static str,
    pub system: System,
    pub processor: Processor,
}

/// Linux is built with musl: such a binary needs nothing of the system that it runs on.
pub const TARGETS: [Target; 4] = [
    Target { triple: "x86_64-unknown-linux-musl", system: System::Linux, processor: Processor::X86_64 },
    Target { triple: "aarch64-unknown-linux-musl", system: System::Linux, processor: Processor::Aarch64 },
    Target { triple: "x86_64-apple-darwin", system: System::MacOs, processor: Processor::X86_64 },
    Target { triple: "aarch64-apple-darwin", system: System::MacOs, processor: Processor::Aarch64 },
];

pub fn find(triple: &str) -> Result<&'static Target> {
    TARGETS.iter().find(|target| target.triple == triple).ok_or_else(|| {
        let known: Vec<_> = TARGETS.iter().map(|target| target.triple).collect();
        format!("`{triple}` is not a target of releases. Choose from: {}.", known.join(", ")).into()
    })
}

/// macOS needs Apple's libraries, which only a Mac has.
pub fn released_from_linux() -> Vec<&'static Target> {
    TARGETS.iter().filter(|target| target.system == System::Linux).collect()
}

impl Target {
    /// The directory that is in its archives, such as autonoe-1.2.3-x86_64-unknown-linux-musl.
    pub fn directory(&self, release: &Release) -> String {
        format!("autonoe-{}-{}", release.version, self.triple)
    }

    /// The name of a file about it, such as an archive with the ending tar.gz.
    pub fn archive(&self, release: &Release, ending: &str) -> String {
        format!("{}.{ending}", self.directory(release))
    }

    pub fn runs_here(&self) -> bool {
        let system = match self.system {
            System::Linux => "linux",
            System::MacOs => "macos",
        };
        let processor = match self.processor {
            Processor::X86_64 => "x86_64",
            Processor::Aarch64 => "aarch64",
        };
        (std::env::consts::OS, std::env::consts::ARCH) == (system, processor)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::release::example;
    use super::TARGETS;
    use crate::workspace::root;

    /// The manifest tells cargo-binstall where the archives are.
    #[test]
    fn binstall_finds_the_archives_and_the_binary_in_them() {
        let manifest = fs::read_to_string(root().join("crates/cli/Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let binstall = &manifest["package"]["metadata"]["binstall"];
        for target in &TARGETS {
            let expanded = |field: &str| {
                let release = example();
                let values = [
                    ("{ repo }", release.repository.as_str()),
                    ("{ version }", &release.version),
                    ("{ target }", target.triple),
                    ("{ bin }", "autonoe"),
                    ("{ binary-ext }", ""),
                ];
                let text = binstall[field].as_str().unwrap().to_owned();
                values.iter().fold(text, |text, (name, value)| text.replace(name, value))
            };
            let archive = target.archive(&example(), "tar.gz");
            assert_eq!(expanded("pkg-url"), example().url(&archive));
            assert_eq!(expanded("bin-dir"), format!("{}/bin/autonoe", target.directory(&example())));
        }
        assert_eq!(binstall["pkg-fmt"].as_str(), Some("tgz"));
    }
}
