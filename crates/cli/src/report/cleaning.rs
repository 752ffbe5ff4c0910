//! What agents wrote, made fit to be read: nothing that a terminal or a reader's eye would be led astray by, no secrets, and
//! not more than a reader wants. In this order, since anyone who cuts a secret cannot tell it any more.

use autonoe_core::redact::Redactor;

use super::document::{Document, Kind};

/// Lines that are shown of an output and of the differences of a file.
const OUTPUT_LINES: usize = 40;
pub const DIFF_LINES: usize = 400;

/// Of an output's lines, those of its beginning; the others are of its end, where it says what went wrong.
const OUTPUT_HEAD: usize = 10;

/// Characters that are shown of one line.
const LINE_CHARACTERS: usize = 500;

/// Makes a whole page fit to be read.
pub fn cleaned(document: Document, redactor: &Redactor) -> Document {
    let plain = |text: &str| redactor.text(&visible(text)).into_owned();
    document.map(&plain, &|kind, text| {
        let text = plain(text);
        match kind {
            Kind::Command => text,
            Kind::Output => shortened(text.trim_end(), OUTPUT_LINES, OUTPUT_HEAD),
            Kind::Diff => shortened(text.trim_end(), DIFF_LINES, DIFF_LINES),
        }
    })
}

/// The text without colours, and with everything that would be obeyed instead of shown made visible: control characters, and
/// those that turn the direction of writing, so that a line reads otherwise than it works.
fn visible(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = colour(rest).unwrap_or(c.len_utf8());
        match c {
            '\u{1b}' if length > 1 => {}
            '\r' if rest.starts_with("\r\n") => {}
            '\n' | '\t' => out.push(c),
            c if c.is_control() || turns(c) => out.push_str(&format!("[U+{:04X}]", u32::from(c))),
            c => out.push(c),
        }
        rest = &rest[length..];
    }
    out
}

/// The length of what tells a terminal to change its colour, if the text begins with that.
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then_some(end + 3)
}

/// At most so many lines, the first of them from the beginning and the others from the end, and of each its beginning.
fn shortened(text: &str, at_most: usize, of_beginning: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().saturating_sub(at_most);
    if left_out == 0 {
        return lines.into_iter().map(beginning).collect::<Vec<_>>().join("\n");
    }
    let mut kept: Vec<String> = lines[..of_beginning].iter().map(|line| beginning(line)).collect();
    kept.push(format!("[{left_out} lines left out]"));
    kept.extend(lines[of_beginning + left_out..].iter().map(|line| beginning(line)));
    kept.join("\n")
}

fn beginning(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARACTERS) {
        Some((end, _)) => {
            format!("{} [{} characters left out]", &line[..end], line[end..].chars().count())
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{cleaned, shortened, visible};
    use crate::report::document::{Block, Code, Document, Kind, paragraph};
    use autonoe_core::redact::Redactor;

    #[test]
    fn what_would_be_obeyed_is_shown() {
        assert_eq!(visible("\u{1b}[31mred\u{1b}[0m\tand\nblue\r\n"), "red\tand\nblue\n");
        assert_eq!(visible("bell\u{7} \u{202e}txet\u{2066}"), "bell[U+0007] [U+202E]txet[U+2066]");
        assert_eq!(visible("gone\u{1b}[2K\rback\u{1b}[3"), "gone[U+001B][2K[U+000D]back[U+001B][3");
    }

    #[test]
    fn a_secret_goes_before_the_text_is_cut() {
        let secret = "0123456789".repeat(3);
        let redactor = Redactor::new(std::slice::from_ref(&secret));
        // Neither colours within it nor the end of what is shown of a line hide it.
        let coloured = format!("{}\u{1b}[1m{}", &secret[..9], &secret[9..]);
        let late = format!("{}{secret}", "x".repeat(490));
        let code = |text: &str| Block::Code(Code { kind: Kind::Output, text: text.to_owned() });
        let blocks = vec![paragraph(coloured.clone()), code(&coloured), code(&late)];
        let Document { blocks, .. } = cleaned(Document { title: String::new(), blocks }, &redactor);
        assert_eq!(blocks[0], paragraph("[redacted]"));
        assert_eq!(blocks[1], code("[redacted]"));
        assert_eq!(blocks[2], code(&format!("{}[redacted]", "x".repeat(490))));
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let lines: Vec<String> = (1..=10).map(|number| number.to_string()).collect();
        assert_eq!(shortened(&lines.join("\n"), 10, 2), lines.join("\n"));
        assert_eq!(shortened(&lines.join("\n"), 4, 2), "1\n2\n[6 lines left out]\n9\n10");
        assert_eq!(shortened(&lines.join("\n"), 2, 2), "1\n2\n[8 lines left out]");
        assert_eq!(
            shortened(&"ä".repeat(503), 10, 2),
            format!("{} [3 characters left out]", "ä".repeat(500))
        );
    }
}
