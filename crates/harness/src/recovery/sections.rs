//! Puts prompts together.

/// The sections that are not empty, with a line between them.
pub(super) fn joined(parts: &[String]) -> String {
    parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("\n\n")
}
