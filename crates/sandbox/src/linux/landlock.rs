//! Landlock: restricts file access and connections on machines where namespaces are not available.
//!
//! Landlock rules only allow, and a rule for a directory applies to everything below it. So it cannot keep paths inside the
//! project read-only.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, Scope,
};

use crate::bounds::Bounds;
use crate::system_paths;

/// The minimum: older versions can restrict neither truncation nor connections.
const REQUIRED: ABI = ABI::V4;
/// The newest version that we know; features that the kernel lacks are not used.
const KNOWN: ABI = ABI::V7;

/// The strictest setting that still lets a process read the memory of its descendants.
const MAX_PTRACE_SCOPE: u8 = 1;

pub(crate) fn is_available() -> Result<(), String> {
    ruleset().and_then(Ruleset::create).map_err(|error| error.to_string())?;
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    // `attribute_guard.rs` reads the arguments of calls. Without them every chmod in the room would fail.
    if scope.trim().parse::<u8>().is_ok_and(|scope| scope > MAX_PTRACE_SCOPE) {
        return Err(
            "kernel.yama.ptrace_scope is above 1, so arguments of system calls cannot be read".to_owned()
        );
    }
    Ok(())
}

fn ruleset() -> Result<Ruleset, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED))?
        .handle_access(AccessNet::ConnectTcp)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))
}

/// The directory itself if it contains no secret, otherwise its entries without the secrets.
fn without_secrets(path: &Path) -> Vec<PathBuf> {
    let secrets: Vec<_> =
        system_paths::SECRET.map(Path::new).into_iter().filter(|secret| secret.starts_with(path)).collect();
    if secrets.is_empty() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let kept = entries.filter(|entry| !secrets.contains(&entry.as_path()));
    kept.flat_map(|entry| without_secrets(&entry)).collect()
}

/// The places in which programs may change everything.
pub(crate) fn writable(bounds: &Bounds) -> impl Iterator<Item = &Path> {
    bounds.writable().chain(bounds.private()).chain([Path::new("/dev/shm")])
}

/// Restricts this process and everything it starts to the bounds.
pub(crate) fn restrict(bounds: &Bounds, egress_port: u16) -> io::Result<()> {
    let readable = AccessFs::from_read(KNOWN);
    let everything = AccessFs::from_all(KNOWN);
    let mut rules = ruleset().and_then(Ruleset::create).map_err(io::Error::other)?;
    let mut allow = |path: &Path, access| -> io::Result<()> {
        let Ok(opened) = PathFd::new(path) else {
            // A missing path needs no rule.
            return Ok(());
        };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
        rules.as_mut().add_rule(PathBeneath::new(opened, access)).map(drop).map_err(io::Error::other)
    };
    let system = system_paths::SYSTEM.iter().flat_map(|path| without_secrets(Path::new(path)));
    for path in system.chain(bounds.read.iter().cloned()) {
        allow(&path, readable)?;
    }
    for path in system_paths::PSEUDO.map(Path::new) {
        allow(path, readable)?;
    }
    for path in system_paths::DEVICES.map(Path::new) {
        allow(path, readable | AccessFs::WriteFile | AccessFs::IoctlDev)?;
    }
    for path in writable(bounds) {
        allow(path, everything)?;
    }
    allow(&std::env::current_exe()?, readable)?;
    rules
        .add_rule(NetPort::new(egress_port, AccessNet::ConnectTcp))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map(drop)
        .map_err(io::Error::other)
}
