//! Names of the files in a project that do not travel with the commits of agents.

/// What the user wants, which only the user writes.
pub(crate) const SPEC: &str = "SPEC.md";

/// The note that one session leaves for the next.
pub(crate) const NOTE: &str = ".autonoe-note.md";

/// The user's directory for Autonoe, which agents can read.
pub(crate) const OWN_DIRECTORY: &str = ".autonoe";

/// Whether only the user and Autonoe write the file, in this project or in another part of the repository.
pub(crate) fn is_of_user_only(path: &str) -> bool {
    // A remark may follow the name.
    let name = path.rsplit('/').next().unwrap_or_default().split(" (").next().unwrap_or_default();
    [SPEC, NOTE].contains(&name) || path.split('/').any(|part| part.eq_ignore_ascii_case(OWN_DIRECTORY))
}

/// Whether `path` is `directory`, or in it.
pub(crate) fn is_in(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
