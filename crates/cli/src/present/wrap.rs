//! Breaks lines between words where a terminal would break them anywhere.

use std::io::{self, IsTerminal};

use console::{Term, measure_text_width};

use super::writer::OutputStream;

/// Columns of the terminal that a stream goes to; `None` if it is not one.
pub fn width(stream: OutputStream) -> Option<usize> {
    let (is_terminal, term) = match stream {
        OutputStream::Out => (io::stdout().is_terminal(), Term::stdout()),
        OutputStream::Err => (io::stderr().is_terminal(), Term::stderr()),
    };
    is_terminal.then(|| usize::from(term.size().1))
}

/// The lines of a text, broken between words. Further lines of a paragraph are indented as far as it is itself, and two more.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let indent = paragraph.len() - paragraph.trim_start().len();
        let hang = hanging(paragraph).min(width / 2);
        let mut line = " ".repeat(indent);
        for (index, word) in paragraph.trim_start().split(' ').enumerate() {
            if index > 0 && measure_text_width(&line) + 1 + measure_text_width(word) > width {
                lines.push(std::mem::replace(&mut line, " ".repeat(hang)));
            } else if index > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// The indentation of what does not fit on the first line: below the text after a tag such as `[PASS]` or a time, or else a little deeper.
fn hanging(paragraph: &str) -> usize {
    let indent = paragraph.len() - paragraph.trim_start().len();
    let after_tag = || {
        let (tag, rest) = paragraph.split_once("] ").filter(|_| paragraph.starts_with('['))?;
        let gap = rest.len() - rest.trim_start().len();
        Some(tag.len() + 2 + gap)
    };
    let after_time = || {
        let (time, rest) = paragraph.split_at_checked("12:00:00".len())?;
        let is_time = time.bytes().enumerate().all(|(at, byte)| match at {
            2 | 5 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
        let gap = rest.len() - rest.trim_start().len();
        is_time.then_some(time.len() + gap + 2)
    };
    after_tag().or_else(after_time).unwrap_or(indent + 2)
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 80), ["one two three"]);
        assert_eq!(wrapped("one two three", 8), ["one two", "  three"]);
        assert_eq!(wrapped("  one two three", 9), ["  one two", "    three"]);
        assert_eq!(wrapped("averylongword b", 5), ["averylongword", "  b"], "a word is never broken");
        assert_eq!(wrapped("[PASS]  one two", 12), ["[PASS]  one", "      two"], "at most half the width");
        assert_eq!(wrapped("[PASS]  one two", 14), ["[PASS]  one", "       two"]);
        assert_eq!(
            wrapped("12:00:00  one two three four", 24),
            ["12:00:00  one two three", "            four"]
        );
        assert_eq!(wrapped("one\ntwo", 80), ["one", "two"]);
        assert_eq!(wrapped("", 80), [""]);
        assert_eq!(wrapped("\x1b[1mone\x1b[0m two", 7), ["\x1b[1mone\x1b[0m two"], "colours take no place");
        assert_eq!(wrapped("仕様 書", 6), ["仕様", "  書"], "wide characters take two");
    }
}
