//! Replaces an exact string in a text, whatever the line endings are.

use schemars::JsonSchema;
use serde::Deserialize;

/// How many line numbers a message lists.
const MAX_LISTED_LINES: usize = 10;

/// One replacement.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Replacement {
    /// The text to replace, exactly as it is in the file, without line numbers. It must occur only
    /// once unless replace_all is true: include enough surrounding lines to make it unique.
    pub(crate) old_string: String,
    /// The replacement text.
    pub(crate) new_string: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    pub(crate) replace_all: bool,
}

/// The text after the edit, and the line numbers of the matches in the old text.
#[derive(Debug, PartialEq)]
pub(crate) struct Edited {
    pub(crate) text: String,
    pub(crate) lines: Vec<usize>,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum ReplaceError {
    #[error("`old_string` is empty. To create or replace a whole file, use Write.")]
    Empty,
    #[error("`old_string` and `new_string` are the same: there is nothing to do.")]
    Same,
    #[error(
        "`old_string` was {}; nothing was changed. Include more of the surrounding lines to make it unique, or set \
         replace_all to true.",
        count_with_lines("found", lines)
    )]
    Ambiguous { lines: Vec<usize> },
    #[error("`old_string` was not found; nothing was changed. {hint}")]
    NotFound { hint: String },
}

pub(crate) fn replace(text: &str, replacement: &Replacement) -> Result<Edited, ReplaceError> {
    if replacement.old_string.is_empty() {
        return Err(ReplaceError::Empty);
    }
    if replacement.old_string == replacement.new_string {
        return Err(ReplaceError::Same);
    }
    for (old, new) in candidates(text, &replacement.old_string, &replacement.new_string) {
        let lines = lines_of(text, &old);
        match lines.len() {
            0 => {}
            1 => return Ok(Edited { text: text.replacen(&old, &new, 1), lines }),
            _ if replacement.replace_all => return Ok(Edited { text: text.replace(&old, &new), lines }),
            _ => return Err(ReplaceError::Ambiguous { lines }),
        }
    }
    Err(ReplaceError::NotFound { hint: hint(text, &replacement.old_string) })
}

/// The possible readings of the strings that the model sent, likeliest first. A model writes LF, whatever the file has: in a
/// file with CRLF lines, its strings are converted to CRLF.
fn candidates(text: &str, old: &str, new: &str) -> Vec<(String, String)> {
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

fn lines_of(text: &str, pattern: &str) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let lines = text.match_indices(pattern).map(|(at, _)| {
        line += text[from..at].matches('\n').count();
        from = at;
        line
    });
    lines.collect()
}

pub(crate) fn count_with_lines(verb: &str, lines: &[usize]) -> String {
    let shown: Vec<_> = lines.iter().take(MAX_LISTED_LINES).map(usize::to_string).collect();
    let shown = shown.join(", ");
    match lines.len() {
        1 => format!("{verb} 1 time (line {shown})"),
        count if count > MAX_LISTED_LINES => format!("{verb} {count} times (lines {shown}, …)"),
        count => format!("{verb} {count} times (lines {shown})"),
    }
}

/// Points to the text that the model probably meant, if only white space differs.
fn hint(text: &str, old: &str) -> String {
    let first = old.lines().map(str::trim).find(|line| !line.is_empty());
    let near = first.and_then(|first| text.lines().position(|line| line.trim() == first));
    match near {
        Some(index) => format!(
            "Line {} resembles its first line: compare the indentation and the lines that follow.",
            index + 1
        ),
        None => "Read the file and copy the text exactly, without line numbers.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Edited, Replacement, replace};

    fn args(old: &str, new: &str, replace_all: bool) -> Replacement {
        Replacement { old_string: old.to_owned(), new_string: new.to_owned(), replace_all }
    }

    fn edited(text: &str, old: &str, new: &str) -> Result<String, String> {
        replace(text, &args(old, new, false)).map(|edited| edited.text).map_err(|error| error.to_string())
    }

    #[test]
    fn one_match_is_replaced() {
        assert_eq!(
            replace("a\nb\nc\n", &args("b\n", "x\ny\n", false)),
            Ok(Edited { text: "a\nx\ny\nc\n".into(), lines: vec![2] })
        );
    }

    #[test]
    fn several_matches_are_an_error_without_replace_all() {
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
    fn files_with_mixed_line_endings_change_only_where_edited() {
        assert_eq!(edited("a\nb\r\nc\r\n", "b\nc", "x\ny").unwrap(), "a\nx\r\ny\r\n");
        assert_eq!(edited("a\r\nb\nc\n", "b\nc", "x\ny").unwrap(), "a\r\nx\ny\n");
    }

    #[test]
    fn a_byte_order_mark_is_kept() {
        assert_eq!(edited("\u{feff}a\r\nb\r\n", "a\nb", "x").unwrap(), "\u{feff}x\r\n");
    }

    #[test]
    fn the_error_points_to_a_match_that_differs_only_in_white_space() {
        let error = edited("one\n    two\nthree\n", "\ttwo\nthree", "x").unwrap_err();
        assert!(error.contains("Line 2 resembles its first line"), "{error}");
        assert!(edited("one\n", "nine", "x").unwrap_err().contains("copy the text exactly"));
    }

    proptest! {
        /// Inserting a unique mark and removing it again restores the file, whatever its line endings.
        #[test]
        fn edits_round_trip(before in "[a-c\r\n]{0,30}", after in "[a-cé\r\n]{0,30}") {
            let text = format!("{before}<{after}");
            let once = edited(&text, "<", "[mark]").unwrap();
            prop_assert_eq!(&once, &text.replace('<', "[mark]"));
            prop_assert_eq!(edited(&once, "[mark]", "<").unwrap(), text);
        }

        /// An edit with LF strings in a CRLF file equals the same edit in the LF file.
        #[test]
        fn line_endings_make_no_difference(
            lines in prop::collection::vec("[a-c]{0,3}", 2..12),
            from in 0_usize..10,
            new in "[x-z\n]{0,9}",
        ) {
            let lf = lines.join("\n") + "\n";
            let from = from % (lines.len() - 1);
            let old = lines[from..=from + 1].join("\n");
            prop_assume!(!old.is_empty() && old != new);
            let expected = replace(&lf, &args(&old, &new, true)).map(|e| e.text.replace('\n', "\r\n"));
            let crlf = lf.replace('\n', "\r\n");
            prop_assert_eq!(replace(&crlf, &args(&old, &new, true)).map(|e| e.text), expected);
        }
    }
}
