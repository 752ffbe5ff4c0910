//! A Landlock domain that no signal leaves, so that all processes in it can be killed at once.
//!
//! To kill processes one by one, one must find them first, and a process that always replaces itself by a new one may never be found.
//! The kernel can signal every process at once. Within the domain, these are exactly the processes in it.

use std::io;

use landlock::{
    AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, kill_process_group, test_kill_process};

/// The proof that signals of this process reach only the processes of its own domain.
#[derive(Debug)]
pub(crate) struct SignalScope(());

/// Whether the kernel can restrict signals.
pub(crate) fn landlock_scopes_signals() -> bool {
    ruleset().is_some()
}

/// Restricts signals only. `None` if the kernel cannot do that (before Linux 6.12).
fn ruleset() -> Option<RulesetCreated> {
    let restrict_signals = || -> Result<RulesetCreated, RulesetError> {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let created = ruleset.scope(Scope::Signal)?.handle_access(AccessFs::Refer)?.create()?;
        // A domain that says nothing about files still refuses to rename and link them between directories, in all domains within it.
        let Ok(everywhere) = PathFd::new("/") else { return Ok(created) };
        created.add_rule(PathBeneath::new(everywhere, AccessFs::Refer))
    };
    restrict_signals().ok()
}

impl SignalScope {
    /// Puts this process into a domain that restricts signals only. `None` if the kernel cannot do that (before Linux 6.12).
    pub(crate) fn enter() -> io::Result<Option<Self>> {
        let Some(ruleset) = ruleset() else {
            return Ok(None);
        };
        Self::proven_by(|| ruleset.restrict_self().map(drop).map_err(io::Error::other))
    }

    /// Runs `restrict`, which puts this process into a domain, and checks what that did to signals: our parent, which we could signal
    /// before, must be out of reach. Nothing can undo a domain, so this holds from then on.
    pub(crate) fn proven_by(restrict: impl FnOnce() -> io::Result<()>) -> io::Result<Option<Self>> {
        let parent = getppid();
        let was_reached = parent.is_some_and(|parent| test_kill_process(parent).is_ok());
        restrict()?;
        let is_refused = parent.is_some_and(|parent| test_kill_process(parent) == Err(Errno::PERM));
        Ok((was_reached && is_refused).then_some(Self(())))
    }

    /// Kills every other process of the domain in one step, even while they fork.
    pub(crate) fn kill_all(&self) {
        // Group 1 means every process that we may signal. That nobody is left is not an error for us.
        let _ = kill_process_group(Pid::INIT, Signal::KILL);
    }
}
