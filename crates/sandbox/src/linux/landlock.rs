//! Landlock: which files may be read and written and whither connections may go, where namespaces cannot be had.
//!
//! It only knows what is allowed, and what is allowed for a directory is allowed for all below it: places inside the
//! project that are to stay read-only cannot be held this way.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, Scope,
};

use crate::bounds::Bounds;
use crate::places;

/// What must be there: without it files could be emptied, or anybody be reached.
const WANTED: ABI = ABI::V4;
/// The newest that we know; what is missing of it is done without.
const KNOWN: ABI = ABI::V7;

/// Whether this kernel has what is needed.
pub(crate) fn is_available() -> Result<(), String> {
    ruleset().and_then(Ruleset::create).map(drop).map_err(|error| error.to_string())
}

fn ruleset() -> Result<Ruleset, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::ConnectTcp)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))
}

/// The parts of a directory that are nobody's secret: itself, if there is none in it.
fn without_secrets(path: &Path) -> Vec<PathBuf> {
    let secrets: Vec<_> =
        places::SECRET.map(Path::new).into_iter().filter(|secret| secret.starts_with(path)).collect();
    if secrets.is_empty() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let kept = entries.filter(|entry| !secrets.contains(&entry.as_path()));
    kept.flat_map(|entry| without_secrets(&entry)).collect()
}

/// Holds this process and all that it starts to the bounds.
pub(crate) fn restrict(bounds: &Bounds, way_out: u16) -> io::Result<()> {
    let readable = AccessFs::from_read(KNOWN);
    let everything = AccessFs::from_all(KNOWN);
    let mut rules = ruleset().and_then(Ruleset::create).map_err(io::Error::other)?;
    let mut allow = |path: &Path, access| -> io::Result<()> {
        let Ok(place) = PathFd::new(path) else {
            // What is not there needs no rule.
            return Ok(());
        };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
        rules.as_mut().add_rule(PathBeneath::new(place, access)).map(drop).map_err(io::Error::other)
    };
    let system = places::SYSTEM.iter().flat_map(|path| without_secrets(Path::new(path)));
    for path in system.chain(bounds.read.iter().cloned()) {
        allow(&path, readable)?;
    }
    for path in places::PSEUDO.map(Path::new) {
        allow(path, readable)?;
    }
    for path in places::DEVICES.map(Path::new) {
        allow(path, readable | AccessFs::WriteFile | AccessFs::IoctlDev)?;
    }
    for path in bounds.writable().chain(bounds.private()).chain([Path::new("/dev/shm")]) {
        allow(path, everything)?;
    }
    allow(&std::env::current_exe()?, readable)?;
    rules
        .add_rule(NetPort::new(way_out, AccessNet::ConnectTcp))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map(drop)
        .map_err(io::Error::other)
}
