//! Sanitizes text that agents wrote: makes control characters visible, redacts secrets, then truncates. The order matters, since half
//! a secret is not recognized as one.

use autonoe_core::file_names::{acts, visible};
use autonoe_core::redact::Redactor;

use crate::document::{CodeKind, Document};

/// Lines shown of a command's output.
const OUTPUT_LINES: usize = 40;
/// Lines shown of the diff of one file.
pub(crate) const DIFF_LINES: usize = 400;

/// Lines shown from the beginning of an output; the rest comes from its end, where errors usually are.
const OUTPUT_HEAD: usize = 10;

/// Characters shown of one line.
const LINE_CHARACTERS: usize = 500;

pub(crate) fn sanitize(document: Document, redactor: &Redactor) -> Document {
    let clean = |text: &str| redactor.text(&escape_controls(text)).into_owned();
    document.map(&clean, &|kind, text| {
        let text = clean(text);
        match kind {
            CodeKind::Command => text,
            CodeKind::Output => truncate(text.trim_end(), OUTPUT_LINES, OUTPUT_HEAD),
            CodeKind::Diff => truncate(text.trim_end(), DIFF_LINES, DIFF_LINES),
        }
    })
}

/// Removes colour codes and makes visible what would be interpreted instead of shown: control characters, and characters that change
/// the writing direction and could make a line read differently from how it runs.
pub fn escape_controls(text: &str) -> String {
    // Most texts are plain, and are only copied.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = colour_code(rest).unwrap_or(c.len_utf8());
        match c {
            '\u{1b}' if length > 1 => {}
            '\r' if rest.starts_with("\r\n") => {}
            '\n' | '\t' => out.push(c),
            c if acts(c) => out.push_str(&visible(c)),
            c => out.push(c),
        }
        rest = &rest[length..];
    }
    out
}

/// Like [`escape_controls`], for text that must stay on one line.
pub fn one_line(text: &str) -> String {
    escape_controls(text).replace('\n', "[U+000A]")
}

/// The same for JSON, where a character can be written in another way.
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if acts(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Length in bytes of the colour escape sequence at the start of the text.
fn colour_code(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then_some(end + 3)
}

/// Keeps at most `max_lines` lines, `head` of them from the beginning and the rest from the end, and truncates each.
fn truncate(text: &str, max_lines: usize, head: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let omitted = lines.len().saturating_sub(max_lines);
    if omitted == 0 {
        return lines.into_iter().map(truncate_line).collect::<Vec<_>>().join("\n");
    }
    let mut kept: Vec<String> = lines[..head].iter().map(|line| truncate_line(line)).collect();
    kept.push(format!("[{omitted} lines omitted]"));
    kept.extend(lines[head + omitted..].iter().map(|line| truncate_line(line)));
    kept.join("\n")
}

fn truncate_line(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARACTERS) {
        Some((end, _)) => {
            format!("{} [{} characters omitted]", &line[..end], line[end..].chars().count())
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{escape_controls, sanitize, truncate};
    use crate::document::{CodeBlock, CodeKind, Document, ReportBlock, paragraph};
    use autonoe_core::redact::Redactor;

    #[test]
    fn control_characters_are_made_visible() {
        assert_eq!(escape_controls("\u{1b}[31mred\u{1b}[0m\tand\nblue\r\n"), "red\tand\nblue\n");
        assert_eq!(escape_controls("bell\u{7} \u{202e}txet\u{2066}"), "bell[U+0007] [U+202E]txet[U+2066]");
        assert_eq!(escape_controls("gone\u{1b}[2K\rback\u{1b}[3"), "gone[U+001B][2K[U+000D]back[U+001B][3");
    }

    #[test]
    fn text_is_redacted_before_it_is_truncated() {
        let secret = "0123456789".repeat(3);
        let redactor = Redactor::new(std::slice::from_ref(&secret));
        // Neither colour codes inside the secret nor truncation of the line hide it.
        let coloured = format!("{}\u{1b}[1m{}", &secret[..9], &secret[9..]);
        let late = format!("{}{secret}", "x".repeat(490));
        let code =
            |text: &str| ReportBlock::Code(CodeBlock { kind: CodeKind::Output, text: text.to_owned() });
        let blocks = vec![paragraph(coloured.clone()), code(&coloured), code(&late)];
        let Document { blocks, .. } = sanitize(Document { title: String::new(), blocks }, &redactor);
        assert_eq!(blocks[0], paragraph("[redacted]"));
        assert_eq!(blocks[1], code("[redacted]"));
        assert_eq!(blocks[2], code(&format!("{}[redacted]", "x".repeat(490))));
    }

    #[test]
    fn omitted_lines_and_characters_are_counted() {
        let lines: Vec<String> = (1..=10).map(|number| number.to_string()).collect();
        assert_eq!(truncate(&lines.join("\n"), 10, 2), lines.join("\n"));
        assert_eq!(truncate(&lines.join("\n"), 4, 2), "1\n2\n[6 lines omitted]\n9\n10");
        assert_eq!(truncate(&lines.join("\n"), 2, 2), "1\n2\n[8 lines omitted]");
        assert_eq!(truncate(&"ä".repeat(503), 10, 2), format!("{} [3 characters omitted]", "ä".repeat(500)));
    }
}
