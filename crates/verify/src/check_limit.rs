//! How many checks a project may have.

/// Maximum number of checks per project. Each runs before the work begins, whenever its deliverable is
/// claimed, and at the end.
pub const MAX_CHECKS: usize = 10_000;

/// Message for too many checks, with what to do.
pub(crate) fn too_many() -> String {
    format!("a project may have at most {MAX_CHECKS} checks; let one check run a suite of tests")
}
