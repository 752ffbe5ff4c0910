//! The output of a background command: its newest part in bounded memory, and how much of it was read.

use std::collections::VecDeque;
use std::path::PathBuf;

const MAX_LOG_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(crate) struct JobLog {
    kept: VecDeque<u8>,
    /// The number of bytes dropped before the kept ones.
    dropped: u64,
    /// The number of bytes read, counted from the start of the output.
    read: u64,
    /// The file with the complete output, if it was saved.
    pub(crate) saved: Option<PathBuf>,
}

/// The output since the last read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NewOutput {
    pub(crate) text: String,
    /// The number of bytes before `text` that were dropped unread.
    pub(crate) missed: u64,
}

impl JobLog {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
        let excess = self.kept.len().saturating_sub(MAX_LOG_BYTES);
        self.kept.drain(..excess);
        self.dropped += excess as u64;
    }

    /// The number of bytes written so far.
    pub(crate) fn total(&self) -> u64 {
        self.dropped + self.kept.len() as u64
    }

    pub(crate) fn kept(&self) -> Vec<u8> {
        self.kept.iter().copied().collect()
    }

    /// The output since the last call. An incomplete character at the end waits for its remaining bytes unless `at_end`.
    pub(crate) fn take_new(&mut self, at_end: bool) -> NewOutput {
        let missed = self.dropped.saturating_sub(self.read);
        let from = usize::try_from(self.read.max(self.dropped) - self.dropped).unwrap_or(usize::MAX);
        let mut bytes: Vec<u8> = self.kept.iter().skip(from).copied().collect();
        if !at_end {
            bytes.truncate(bytes.len() - incomplete_char_len(&bytes));
        }
        self.read = self.read.max(self.dropped) + bytes.len() as u64;
        NewOutput { text: String::from_utf8_lossy(&bytes).into_owned(), missed }
    }
}

/// The number of bytes at the end that are the start of a character.
fn incomplete_char_len(bytes: &[u8]) -> usize {
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
    use super::{JobLog, MAX_LOG_BYTES, NewOutput};

    fn new_output(text: &str, missed: u64) -> NewOutput {
        NewOutput { text: text.to_owned(), missed }
    }

    #[test]
    fn each_call_returns_the_new_output() {
        let mut log = JobLog::default();
        log.push(b"one\n");
        assert_eq!(log.take_new(false), new_output("one\n", 0));
        assert_eq!(log.take_new(false), new_output("", 0));
        log.push("zwei ä".as_bytes());
        assert_eq!(log.take_new(false), new_output("zwei ä", 0));
    }

    #[test]
    fn an_incomplete_character_waits_for_its_rest() {
        let mut log = JobLog::default();
        let crab = "🦀".as_bytes();
        log.push(b"a");
        log.push(&crab[..3]);
        assert_eq!(log.take_new(false), new_output("a", 0));
        log.push(&crab[3..]);
        assert_eq!(log.take_new(false), new_output("🦀", 0));
        log.push(&crab[..2]);
        assert_eq!(log.take_new(true).text, "\u{fffd}");
    }

    #[test]
    fn memory_is_bounded_and_missed_bytes_are_counted() {
        let mut log = JobLog::default();
        log.push(b"read");
        log.take_new(false);
        for _ in 0..10 {
            log.push(&vec![b'x'; MAX_LOG_BYTES / 4]);
        }
        assert_eq!(log.kept().len(), MAX_LOG_BYTES);
        let new = log.take_new(false);
        assert_eq!((new.text.len(), new.missed), (MAX_LOG_BYTES, 6 * MAX_LOG_BYTES as u64 / 4));
        assert_eq!(log.total(), 4 + 10 * MAX_LOG_BYTES as u64 / 4);
    }
}
