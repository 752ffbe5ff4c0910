//! Edit: replaces an exact piece of a text file, keeping its line ends and its mode.

use std::io::Read;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::tool::blocking;
use crate::workspace::Fingerprint;
use crate::{Tool, ToolContext, ToolOutput, ToolSpec, Workspace, args};

/// The largest file that is edited, since all of it is held in memory.
pub const MAX_EDIT_BYTES: u64 = 16 * 1024 * 1024;

/// How many places are listed in a message.
const MAX_PLACES: usize = 10;

/// The tool `Edit`.
#[derive(Debug)]
pub struct Edit {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The file to change. A relative path starts at the workspace root.
    file_path: String,
    /// The text to replace, exactly as in the file, without line numbers. It must occur only once
    /// unless replace_all is true: include as many lines around it as that takes.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

impl Edit {
    /// The tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Edit".to_owned(),
            description: "Replaces a piece of a text file, found by exact match including \
                          indentation. Fails if the piece is not found, is found more than once \
                          without replace_all, or if the file has changed since you read it."
                .to_owned(),
            input_schema: args::schema::<Args>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let workspace = Arc::clone(&self.workspace);
        blocking(move || edit(&workspace, &args::parse("Edit", args)?)).await
    }
}

fn edit(workspace: &Workspace, args: &Args) -> Result<String, String> {
    if args.old_string.is_empty() {
        return Err("`old_string` is empty. To create or replace a whole file, use Write.".into());
    }
    if args.old_string == args.new_string {
        return Err("`old_string` and `new_string` are the same: there is nothing to do.".into());
    }
    let path = workspace.resolve(&args.file_path);
    let shown = workspace.show(&path);
    let mut seen = workspace.seen();
    let (spot, old) = workspace.reach().existing(&path, &shown)?;
    let failed = |error| format!("{shown}: {error}.");
    let mut bytes = Vec::new();
    (&old.file).take(MAX_EDIT_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_EDIT_BYTES {
        return Err(format!(
            "Edit takes at most {MAX_EDIT_BYTES} bytes; {shown} has more. Change it with a command such as \
             `sed` in Bash."
        ));
    }
    if seen.has_changed(&old.real, Fingerprint::of(&bytes)) {
        return Err(format!(
            "{shown} has changed on disk since you last read or wrote it. Read it again before \
             you edit it."
        ));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("{shown} is not UTF-8 text. Change it with a command such as `sed` in Bash."))?;
    let edited = replace(&text, args).map_err(|why| format!("{shown}: {why}"))?;
    spot.put(edited.text.as_bytes(), Some(&old.metadata)).map_err(failed)?;
    seen.record(old.real, Fingerprint::of(edited.text.as_bytes()));
    Ok(format!("Edited {shown}: {}.", places("replaced", &edited.lines)))
}

/// A text after the edit, and the numbers of the lines where old text began.
#[derive(Debug, PartialEq)]
struct Edited {
    text: String,
    lines: Vec<usize>,
}

fn replace(text: &str, args: &Args) -> Result<Edited, String> {
    for (old, new) in spellings(text, &args.old_string, &args.new_string) {
        let lines = lines_of(text, &old);
        match lines.len() {
            0 => {}
            1 => return Ok(Edited { text: text.replacen(&old, &new, 1), lines }),
            _ if args.replace_all => return Ok(Edited { text: text.replace(&old, &new), lines }),
            _ => {
                return Err(format!(
                    "`old_string` was {}; nothing was changed. Include more of the lines around \
                     it to make it unique, or set replace_all to true.",
                    places("found", &lines)
                ));
            }
        }
    }
    Err(format!("`old_string` was not found; nothing was changed. {}", hint(text, &args.old_string)))
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

fn places(verb: &str, lines: &[usize]) -> String {
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

    use super::{Args, Edited, replace};

    fn args(old: &str, new: &str, replace_all: bool) -> Args {
        Args { file_path: String::new(), old_string: old.to_owned(), new_string: new.to_owned(), replace_all }
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
