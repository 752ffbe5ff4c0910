//! How a circle of dependencies is shown.

/// Names of a circle that are shown; the rest is counted.
const SHOWN_NAMES: usize = 20;

/// `a → b → a`.
pub fn path_words(ids: &[String]) -> String {
    let shown = ids.iter().take(SHOWN_NAMES).map(String::as_str).collect::<Vec<_>>().join(" → ");
    match ids.len().saturating_sub(SHOWN_NAMES) {
        0 => shown,
        more => format!("{shown} → … {more} more"),
    }
}
