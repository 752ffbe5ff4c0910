//! Replacing an exact piece of a text, whatever its line ends.

use schemars::JsonSchema;
use serde::Deserialize;

/// How many places are listed in a message.
const MAX_PLACES: usize = 10;

/// What is to be replaced.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Piece {
    /// The text to replace, exactly as in the file, without line numbers. It must occur only once
    /// unless replace_all is true: include as many lines around it as that takes.
    pub(crate) old_string: String,
    /// The text to put in its place.
    pub(crate) new_string: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    pub(crate) replace_all: bool,
}

/// A text after the edit, and the numbers of the lines where old text began.
#[derive(Debug, PartialEq)]
pub(crate) struct Edited {
    pub(crate) text: String,
    pub(crate) lines: Vec<usize>,
}

pub(crate) fn replace(text: &str, piece: &Piece) -> Result<Edited, String> {
    if piece.old_string.is_empty() {
        return Err("`old_string` is empty. To create or replace a whole file, use Write.".into());
    }
    if piece.old_string == piece.new_string {
        return Err("`old_string` and `new_string` are the same: there is nothing to do.".into());
    }
    for (old, new) in spellings(text, &piece.old_string, &piece.new_string) {
        let lines = lines_of(text, &old);
        match lines.len() {
            0 => {}
            1 => return Ok(Edited { text: text.replacen(&old, &new, 1), lines }),
            _ if piece.replace_all => return Ok(Edited { text: text.replace(&old, &new), lines }),
            _ => {
                return Err(format!(
                    "`old_string` was {}; nothing was changed. Include more of the lines around \
                     it to make it unique, or set replace_all to true.",
                    places("found", &lines)
                ));
            }
        }
    }
    Err(format!("`old_string` was not found; nothing was changed. {}", hint(text, &piece.old_string)))
}

/// The ways to read what the model sent, likeliest first. A model writes LF, whatever the file has:
/// in a file of CRLF lines its text is taken as CRLF lines.
fn spellings(text: &str, old: &str, new: &str) -> Vec<(String, String)> {
    let as_sent = (old.to_owned(), new.to_owned());
    let as_crlf = (with_crlf(old), with_crlf(new));
    match text.find('\n') {
        Some(end) if text[..end].ends_with('\r') => vec![as_crlf, as_sent],
        Some(_) if text.contains("\r\n") => vec![as_sent, as_crlf],
        Some(_) | None => vec![as_sent],
    }
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn lines_of(text: &str, piece: &str) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let places = text.match_indices(piece).map(|(at, _)| {
        line += text[from..at].matches('\n').count();
        from = at;
        line
    });
    places.collect()
}

pub(crate) fn places(verb: &str, lines: &[usize]) -> String {
    let shown: Vec<_> = lines.iter().take(MAX_PLACES).map(usize::to_string).collect();
    let shown = shown.join(", ");
    match lines.len() {
        1 => format!("{verb} 1 time (line {shown})"),
        count if count > MAX_PLACES => format!("{verb} {count} times (lines {shown}, …)"),
        count => format!("{verb} {count} times (lines {shown})"),
    }
}

/// Where the model probably meant, if only white space differs.
fn hint(text: &str, old: &str) -> String {
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty());
    let near = wanted.and_then(|wanted| text.lines().position(|line| line.trim() == wanted));
    match near {
        Some(index) => format!(
            "Line {} is like its first line: compare indentation and the lines that follow.",
            index + 1
        ),
        None => "Read the file and copy the text exactly, without line numbers.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Edited, Piece, replace};

    fn args(old: &str, new: &str, replace_all: bool) -> Piece {
        Piece { old_string: old.to_owned(), new_string: new.to_owned(), replace_all }
    }

    fn edited(text: &str, old: &str, new: &str) -> Result<String, String> {
        replace(text, &args(old, new, false)).map(|edited| edited.text)
    }

    #[test]
    fn one_match_is_replaced() {
        assert_eq!(
            replace("a\nb\nc\n", &args("b\n", "x\ny\n", false)),
            Ok(Edited { text: "a\nx\ny\nc\n".into(), lines: vec![2] })
        );
    }

    #[test]
    fn several_matches_are_told_and_replaced_only_when_asked() {
        let error = edited("a\nb\na\n", "a", "x").unwrap_err();
        assert!(error.contains("found 2 times (lines 1, 3)"), "{error}");
        let all = replace("a\nb\na\n", &args("a", "x", true)).unwrap();
        assert_eq!(all, Edited { text: "x\nb\nx\n".into(), lines: vec![1, 3] });
    }

    #[test]
    fn crlf_files_stay_crlf() {
        assert_eq!(edited("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz").unwrap(), "x\r\ny\r\nz\r\nc\r\n");
        assert_eq!(edited("a\r\nb\r\n", "b", "x\ny").unwrap(), "a\r\nx\r\ny\r\n");
        assert_eq!(edited("a\r\nb\r\n", "a\r\nb", "x").unwrap(), "x\r\n");
    }

    #[test]
    fn mixed_files_change_only_where_edited() {
        assert_eq!(edited("a\nb\r\nc\r\n", "b\nc", "x\ny").unwrap(), "a\nx\r\ny\r\n");
        assert_eq!(edited("a\r\nb\nc\n", "b\nc", "x\ny").unwrap(), "a\r\nx\ny\n");
    }

    #[test]
    fn a_byte_order_mark_stays() {
        assert_eq!(edited("\u{feff}a\r\nb\r\n", "a\nb", "x").unwrap(), "\u{feff}x\r\n");
    }

    #[test]
    fn a_match_but_for_white_space_is_hinted_at() {
        let error = edited("one\n    two\nthree\n", "\ttwo\nthree", "x").unwrap_err();
        assert!(error.contains("Line 2 is like its first line"), "{error}");
        assert!(edited("one\n", "nine", "x").unwrap_err().contains("copy the text exactly"));
    }

    proptest! {
        /// Putting a unique mark in and taking it out again gives the file back, whatever its ends.
        #[test]
        fn edits_round_trip(before in "[a-c\r\n]{0,30}", after in "[a-cé\r\n]{0,30}") {
            let text = format!("{before}<{after}");
            let once = edited(&text, "<", "[mark]").unwrap();
            prop_assert_eq!(&once, &text.replace('<', "[mark]"));
            prop_assert_eq!(edited(&once, "[mark]", "<").unwrap(), text);
        }

        /// In a CRLF file an edit with LF text equals the same edit in the LF file.
        #[test]
        fn line_ends_make_no_difference(
            lines in prop::collection::vec("[a-c]{0,3}", 2..12),
            from in 0_usize..10,
            new in "[x-z\n]{0,9}",
        ) {
            let lf = lines.join("\n") + "\n";
            let from = from % (lines.len() - 1);
            let old = lines[from..=from + 1].join("\n");
            prop_assume!(!old.is_empty() && old != new);
            let want = replace(&lf, &args(&old, &new, true)).map(|e| e.text.replace('\n', "\r\n"));
            let crlf = lf.replace('\n', "\r\n");
            prop_assert_eq!(replace(&crlf, &args(&old, &new, true)).map(|e| e.text), want);
        }
    }
}
