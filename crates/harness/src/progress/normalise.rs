//! Output without what differs by chance: case, times, long numbers and white space.

use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest, Sha256};

/// Bytes of an output that are compared: half from its beginning, half from its end.
const MAX_TEXT: usize = 32 * 1024;

/// Dates with times, and numbers that are most likely times in seconds or milliseconds.
static TIMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let date = "[0-9]{4}-[0-9]{2}-[0-9]{2}[t ][0-9]{2}:[0-9]{2}:[0-9]{2}";
    Regex::new(&format!(r"{date}|\b[0-9]{{10,13}}\b")).ok()
});

pub(crate) fn normalised(text: &str) -> String {
    let lower = shortened(text).to_lowercase();
    let plain = TIMES.as_ref().map_or(lower.as_str().into(), |times| times.replace_all(&lower, ""));
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning and the end of a long text.
fn shortened(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let is_boundary = |place: &usize| text.is_char_boundary(*place);
    let head = (0..=MAX_TEXT / 2).rev().find(is_boundary).unwrap_or(0);
    let tail = (text.len() - MAX_TEXT / 2..text.len()).find(is_boundary).unwrap_or(text.len());
    format!("{} {}", &text[..head], &text[tail..])
}

/// The same in every version and on every machine, so that it can be written to the journal.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}
