//! The output of a background command: the newest of it in bounded memory, and how far it was read.

use std::collections::VecDeque;
use std::path::PathBuf;

/// How many bytes are kept.
const MAX_LOG_BYTES: usize = 256 * 1024;

/// The output of a background command.
#[derive(Debug, Default)]
pub(crate) struct Log {
    kept: VecDeque<u8>,
    /// How many bytes came before those that are kept.
    forgotten: u64,
    /// How many bytes were read, of all that came.
    read: u64,
    /// Where all of it is, if that was saved.
    pub(crate) saved: Option<PathBuf>,
}

/// What came since the last look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) text: String,
    /// How many bytes came before it that nobody has seen.
    pub(crate) missed: u64,
}

impl Log {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
        let excess = self.kept.len().saturating_sub(MAX_LOG_BYTES);
        self.kept.drain(..excess);
        self.forgotten += excess as u64;
    }

    /// How many bytes came.
    pub(crate) fn total(&self) -> u64 {
        self.forgotten + self.kept.len() as u64
    }

    /// The bytes that are kept.
    pub(crate) fn kept(&self) -> Vec<u8> {
        self.kept.iter().copied().collect()
    }

    /// What came since the last look. The beginning of a character waits for its end.
    pub(crate) fn news(&mut self, at_end: bool) -> News {
        let missed = self.forgotten.saturating_sub(self.read);
        let from = usize::try_from(self.read.max(self.forgotten) - self.forgotten).unwrap_or(usize::MAX);
        let mut bytes: Vec<u8> = self.kept.iter().skip(from).copied().collect();
        if !at_end {
            bytes.truncate(bytes.len() - torn(&bytes));
        }
        self.read = self.read.max(self.forgotten) + bytes.len() as u64;
        News { text: String::from_utf8_lossy(&bytes).into_owned(), missed }
    }
}

/// How many bytes at the end are the beginning of a character.
fn torn(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(3);
    let begins = bytes[last..].iter().rposition(|&byte| byte >= 0b1100_0000);
    begins.map_or(0, |at| {
        let character = &bytes[last + at..];
        match std::str::from_utf8(character) {
            Err(error) if error.error_len().is_none() => character.len(),
            Ok(_) | Err(_) => 0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Log, MAX_LOG_BYTES, News};

    fn news(text: &str, missed: u64) -> News {
        News { text: text.to_owned(), missed }
    }

    #[test]
    fn each_look_gives_what_is_new() {
        let mut log = Log::default();
        log.push(b"one\n");
        assert_eq!(log.news(false), news("one\n", 0));
        assert_eq!(log.news(false), news("", 0));
        log.push("zwei ä".as_bytes());
        assert_eq!(log.news(false), news("zwei ä", 0));
    }

    #[test]
    fn a_torn_character_waits_for_its_rest() {
        let mut log = Log::default();
        let crab = "🦀".as_bytes();
        log.push(b"a");
        log.push(&crab[..3]);
        assert_eq!(log.news(false), news("a", 0));
        log.push(&crab[3..]);
        assert_eq!(log.news(false), news("🦀", 0));
        log.push(&crab[..2]);
        assert_eq!(log.news(true).text, "\u{fffd}");
    }

    #[test]
    fn memory_is_bounded_and_what_was_missed_is_told() {
        let mut log = Log::default();
        log.push(b"seen");
        log.news(false);
        for _ in 0..10 {
            log.push(&vec![b'x'; MAX_LOG_BYTES / 4]);
        }
        assert_eq!(log.kept().len(), MAX_LOG_BYTES);
        let seen = log.news(false);
        assert_eq!((seen.text.len(), seen.missed), (MAX_LOG_BYTES, 6 * MAX_LOG_BYTES as u64 / 4));
        assert_eq!(log.total(), 4 + 10 * MAX_LOG_BYTES as u64 / 4);
    }
}
