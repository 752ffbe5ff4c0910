//! Names of the files in a project that do not travel with the commits of agents.

/// What the user wants, which only the user writes.
pub(crate) const SPEC: &str = "SPEC.md";

/// The note that one session leaves for the next.
pub(crate) const NOTE: &str = ".autonoe-note.md";

/// The user's directory for Autonoe, which agents can read.
pub(crate) const OWN_DIRECTORY: &str = ".autonoe";
