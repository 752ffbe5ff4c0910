//! The targets of a release, and what each packager calls them.

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
