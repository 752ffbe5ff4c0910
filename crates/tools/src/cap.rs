//! Cutting text to a length a model can use, always saying how much was cut and never splitting a
//! character.

use std::collections::VecDeque;

/// The longest UTF-8 sequence.
const MAX_CHAR_BYTES: usize = 4;

/// The first `limit` characters of a line, with a note on what is missing.
pub(crate) fn line(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => {
            let cut = text[end..].chars().count();
            format!("{}{}", &text[..end], line_note(cut))
        }
    }
}

/// What stands at the end of a line of which `cut` characters are missing.
pub(crate) fn line_note(cut: usize) -> String {
    format!(" … {cut} characters cut …")
}

/// How many characters the bytes hold, if they are UTF-8.
pub(crate) fn count_chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0b1100_0000 != 0b1000_0000).count()
}

/// Keeps the beginning and the end of a stream of unknown length in bounded memory.
#[derive(Debug)]
pub(crate) struct HeadTail {
    half_chars: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    chars: usize,
    dropped: bool,
}

impl HeadTail {
    /// Keeps at most `limit` characters, half of them from the end.
    pub(crate) fn new(limit: usize) -> Self {
        Self { half_chars: limit / 2, head: Vec::new(), tail: VecDeque::new(), chars: 0, dropped: false }
    }

    /// Takes the next bytes of the stream, which may end within a character.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.chars += count_chars(bytes);
        let room = (self.half_chars * MAX_CHAR_BYTES).saturating_sub(self.head.len());
        let (head, tail) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        // One character more than is shown, since the first one kept may be torn.
        let excess = self.tail.len().saturating_sub((self.half_chars + 1) * MAX_CHAR_BYTES);
        self.dropped |= excess > 0;
        self.tail.drain(..excess);
    }

    /// The text, with what is not UTF-8 replaced and what is too much cut from its middle.
    pub(crate) fn finish(mut self) -> String {
        let tail = self.tail.make_contiguous();
        if !self.dropped {
            self.head.extend_from_slice(tail);
            let text = String::from_utf8_lossy(&self.head);
            let chars = text.chars().count();
            return match chars.checked_sub(2 * self.half_chars) {
                None | Some(0) => text.into_owned(),
                Some(cut) => {
                    let head = first_chars(&text, self.half_chars);
                    join(head, cut, last_chars(&text, self.half_chars))
                }
            };
        }
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(tail);
        let cut = self.chars.saturating_sub(2 * self.half_chars);
        join(first_chars(&head, self.half_chars), cut, last_chars(&tail, self.half_chars))
    }
}

fn join(head: &str, cut: usize, tail: &str) -> String {
    format!("{head}\n… {cut} characters cut …\n{tail}")
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

    use super::{HeadTail, line};

    fn capped(limit: usize, chunks: &[&[u8]]) -> String {
        let mut kept = HeadTail::new(limit);
        for chunk in chunks {
            kept.push(chunk);
        }
        kept.finish()
    }

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(capped(4, &[b"ab", b"cd"]), "abcd");
        assert_eq!(line("äöü", 3), "äöü");
    }

    #[test]
    fn the_middle_is_cut_and_counted() {
        assert_eq!(capped(4, &[b"abcdef"]), "ab\n… 2 characters cut …\nef");
        let many = "ä".repeat(1000);
        assert_eq!(capped(4, &[many.as_bytes()]), "ää\n… 996 characters cut …\nää");
        assert_eq!(line("äöüß", 1), "ä … 3 characters cut …");
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        assert_eq!(capped(10, &[b"a\xffb"]), "a\u{fffd}b");
    }

    #[test]
    fn memory_is_bounded() {
        let mut kept = HeadTail::new(100);
        for _ in 0..10_000 {
            kept.push(&[b'x'; 1000]);
        }
        assert!(kept.head.len() + kept.tail.len() < 1000);
        assert!(kept.finish().contains("9999900 characters cut"));
    }

    proptest! {
        /// However the stream is chunked, the result is what cutting the whole text would give.
        #[test]
        fn no_character_is_split(
            text in "[a-zä€🦀\n]{0,200}",
            half in 1_usize..30,
            chunk in 1_usize..20,
        ) {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(chunk).collect();
            let chars: Vec<char> = text.chars().collect();
            let expected = match chars.len().checked_sub(2 * half) {
                None | Some(0) => text.clone(),
                Some(cut) => format!(
                    "{}\n… {cut} characters cut …\n{}",
                    chars[..half].iter().collect::<String>(),
                    chars[chars.len() - half..].iter().collect::<String>(),
                ),
            };
            prop_assert_eq!(capped(2 * half, &chunks), expected);
        }
    }
}
