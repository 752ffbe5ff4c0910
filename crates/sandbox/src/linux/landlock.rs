//! Landlock: restricts file access and connections on machines where namespaces are not available.
//!
//! Landlock rules only allow, and a rule for a directory applies to everything below it. So it cannot keep paths inside the
//! project read-only.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};

use crate::bounds::Bounds;
use crate::credentials;
use crate::layer_unavailable::LayerUnavailable;
use crate::system_paths;
use crate::visible_parts::{VisiblePart, contains_masked, visible_parts};

/// The minimum: older versions can restrict neither truncation nor connections.
const REQUIRED: ABI = ABI::V4;
/// The newest version that we know; features that the kernel lacks are not used.
const KNOWN: ABI = ABI::V7;

/// The strictest setting that still lets a process read the memory of its descendants.
const MAX_PTRACE_SCOPE: u8 = 1;

pub(crate) fn is_available() -> Result<(), LayerUnavailable> {
    let created = ruleset().and_then(Ruleset::create);
    created.map_err(|error| LayerUnavailable::NoLandlock(error.to_string()))?;
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    // `call_guard.rs` reads the arguments of calls. Without them every chmod in the room would fail.
    if scope.trim().parse::<u8>().is_ok_and(|scope| scope > MAX_PTRACE_SCOPE) {
        return Err(LayerUnavailable::PtraceScope);
    }
    Ok(())
}

fn ruleset() -> Result<Ruleset, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED))?
        .handle_access(AccessNet::ConnectTcp | AccessNet::BindTcp)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))
}

/// Whether what a link in a directory leads to may be read too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    /// As in `/etc`, whose entries are links on many systems.
    Allowed,
    /// What it leads to needs a rule of its own.
    Ignored,
}

/// The places in which programs may change everything.
pub(crate) fn writable(bounds: &Bounds) -> impl Iterator<Item = &Path> {
    bounds.writable().chain(bounds.private())
}

/// Restricts this process and everything it starts to the bounds.
pub(crate) fn restrict(bounds: &Bounds) -> io::Result<()> {
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
    let secrets = system_paths::SECRET.map(PathBuf::from);
    let hidden = bounds.hidden.iter().filter_map(|path| path.canonicalize().ok());
    let masked: Vec<_> = secrets.into_iter().chain(hidden).chain(credentials::masked(bounds)).collect();
    let system = system_paths::SYSTEM.iter().map(|path| (PathBuf::from(path), Links::Allowed));
    for (path, links) in system.chain(bounds.read.iter().map(|path| (path.clone(), Links::Ignored))) {
        // Masked paths have no links, so this must not have any either.
        let path = path.canonicalize().unwrap_or(path);
        for part in visible_parts(&path, &masked) {
            match part {
                VisiblePart::Everything(path) => allow(&path, readable)?,
                VisiblePart::Names(path) => allow(&path, AccessFs::ReadDir.into())?,
                VisiblePart::Link(path) if links == Links::Allowed => {
                    let target = path.canonicalize().ok().filter(|target| !contains_masked(target, &masked));
                    target.map_or(Ok(()), |target| allow(&target, readable))?;
                }
                VisiblePart::Link(_) => {}
            }
        }
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
    // There is no rule for the network: `socket_call.rs` connects sockets and binds them.
    rules.restrict_self().map(drop).map_err(io::Error::other)
}
