//! Truncates text for a model, always with a note on how much is missing, and never within a character.

use std::collections::VecDeque;

/// The maximum length of a UTF-8 sequence.
const MAX_CHAR_BYTES: usize = 4;

/// The first `limit` characters of a line, with a note on what is missing.
pub fn truncate_line(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => {
            let cut = text[end..].chars().count();
            format!("{}{}", &text[..end], line_note(cut))
        }
    }
}

/// The note at the end of a line of which `cut` characters are missing.
pub(crate) fn line_note(cut: usize) -> String {
    format!(" … {cut} characters cut …")
}

/// The number of characters in UTF-8 bytes.
pub(crate) fn count_chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0b1100_0000 != 0b1000_0000).count()
}

/// Keeps the start and the end of a stream of unknown length in bounded memory.
#[derive(Debug)]
pub(crate) struct HeadTail {
    half_chars: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    chars: usize,
    lines: usize,
    dropped: bool,
}

/// The text of a stream, truncated if necessary.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CappedText {
    Whole(String),
    Cut {
        head: String,
        tail: String,
        /// The number of characters missing between head and tail.
        chars: usize,
        /// The number of line endings among them.
        lines: usize,
    },
}

impl HeadTail {
    /// Keeps up to `limit` characters, half of them from the end.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            half_chars: limit / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            chars: 0,
            lines: 0,
            dropped: false,
        }
    }

    /// Adds the next bytes of the stream, which may end within a character.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.chars += count_chars(bytes);
        self.lines += count_lines(bytes);
        let (head, tail) = bytes.split_at(self.room_in_head().min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let excess = self.tail.len().saturating_sub(self.max_tail_len());
        self.dropped |= excess > 0;
        self.tail.drain(..excess);
    }

    /// Whether `count` more bytes would be the first to make it drop some.
    pub(crate) fn would_drop(&self, count: usize) -> bool {
        let into_tail = count.saturating_sub(self.room_in_head());
        !self.dropped && self.tail.len() + into_tail > self.max_tail_len()
    }

    /// The complete stream, as long as nothing was dropped.
    pub(crate) fn all(&mut self) -> [&[u8]; 2] {
        [&self.head, self.tail.make_contiguous()]
    }

    /// Whether the text exceeds the limit.
    pub(crate) fn is_too_long(&self) -> bool {
        // Counted again, since bytes that are not UTF-8 become replacement characters.
        self.dropped || self.text().chars().count() > 2 * self.half_chars
    }

    fn room_in_head(&self) -> usize {
        (self.half_chars * MAX_CHAR_BYTES).saturating_sub(self.head.len())
    }

    fn max_tail_len(&self) -> usize {
        // One character more than is shown, since the first one may be incomplete.
        (self.half_chars + 1) * MAX_CHAR_BYTES
    }

    /// The complete text, as long as nothing was dropped.
    fn text(&self) -> String {
        let mut bytes = self.head.clone();
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The text, with invalid UTF-8 replaced and the middle cut out if it is too long.
    pub(crate) fn finish(mut self) -> CappedText {
        if !self.dropped {
            let text = self.text();
            let chars = text.chars().count();
            return match chars.checked_sub(2 * self.half_chars) {
                None | Some(0) => CappedText::Whole(text),
                Some(cut) => self.cut(&text, cut, &text),
            };
        }
        let head = String::from_utf8_lossy(&self.head).into_owned();
        let tail = String::from_utf8_lossy(self.tail.make_contiguous()).into_owned();
        self.cut(&head, self.chars.saturating_sub(2 * self.half_chars), &tail)
    }

    fn cut(&self, head: &str, chars: usize, tail: &str) -> CappedText {
        let (head, tail) = (first_chars(head, self.half_chars), last_chars(tail, self.half_chars));
        let shown = count_lines(head.as_bytes()) + count_lines(tail.as_bytes());
        let lines = self.lines.saturating_sub(shown);
        CappedText::Cut { head: head.to_owned(), tail: tail.to_owned(), chars, lines }
    }
}

/// The number of line endings in the bytes.
pub(crate) fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

fn last_chars(text: &str, count: usize) -> &str {
    let Some(skip) = count.checked_sub(1) else { return "" };
    text.char_indices().nth_back(skip).map_or(text, |(start, _)| &text[start..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CappedText, HeadTail, truncate_line};

    fn capped(limit: usize, chunks: &[&[u8]]) -> CappedText {
        let mut kept = HeadTail::new(limit);
        for chunk in chunks {
            kept.push(chunk);
        }
        kept.finish()
    }

    fn whole(text: &str) -> CappedText {
        CappedText::Whole(text.to_owned())
    }

    fn cut(head: &str, chars: usize, tail: &str) -> CappedText {
        CappedText::Cut { head: head.to_owned(), tail: tail.to_owned(), chars, lines: 0 }
    }

    #[test]
    fn short_text_is_unchanged() {
        assert_eq!(capped(4, &[b"ab", b"cd"]), whole("abcd"));
        assert_eq!(truncate_line("äöü", 3), "äöü");
    }

    #[test]
    fn the_middle_is_cut_and_counted() {
        assert_eq!(capped(4, &[b"abcdef"]), cut("ab", 2, "ef"));
        let lines = CappedText::Cut { head: "a\n".into(), tail: "d\n".into(), chars: 4, lines: 2 };
        assert_eq!(capped(4, &[b"a\nb\nc\nd\n"]), lines);
        let many = "ä".repeat(1000);
        assert_eq!(capped(4, &[many.as_bytes()]), cut("ää", 996, "ää"));
        assert_eq!(truncate_line("äöüß", 1), "ä … 3 characters cut …");
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        assert_eq!(capped(10, &[b"a\xffb"]), whole("a\u{fffd}b"));
    }

    #[test]
    fn memory_is_bounded() {
        let mut kept = HeadTail::new(100);
        for _ in 0..10_000 {
            kept.push(&[b'x'; 1000]);
        }
        assert!(kept.head.len() + kept.tail.len() < 1000);
        assert!(matches!(kept.finish(), CappedText::Cut { chars: 9_999_900, .. }));
    }

    proptest! {
        /// However the stream is chunked, the result equals truncating the whole text.
        #[test]
        fn no_character_is_split(
            text in "[a-zä€🦀\n]{0,200}",
            half in 1_usize..30,
            chunk in 1_usize..20,
        ) {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(chunk).collect();
            let chars: Vec<char> = text.chars().collect();
            let expected = match chars.len().checked_sub(2 * half) {
                None | Some(0) => whole(&text),
                Some(cut) => {
                    let head: String = chars[..half].iter().collect();
                    let tail: String = chars[chars.len() - half..].iter().collect();
                    let middle = &chars[half..chars.len() - half];
                    let lines = middle.iter().filter(|&&char| char == '\n').count();
                    CappedText::Cut { head, tail, chars: cut, lines }
                }
            };
            prop_assert_eq!(capped(2 * half, &chunks), expected);
        }
    }
}
