//! The names of git's objects.

/// Whether a text is the hash of an object, in either format of git.
pub fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
