//! Comments in hooks and scripts: what they name is not run.

use std::borrow::Cow;
use std::path::Path;

/// Ends of the names of files, and names of interpreters, in whose languages `#` does not begin a comment.
const OTHERS: [&str; 14] =
    ["js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx", "lua", "node", "nodejs", "bun", "deno", "ts-node"];

/// Names of shells, and ends of the names of their scripts.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "envrc"];

/// Whether a text is certainly a script of a shell, or one without any sign of another language.
pub(crate) fn is_shell(text: &str, file: Option<&Path>) -> bool {
    let is_one = |word: &str| SHELLS.contains(&word.rsplit('/').next().unwrap_or_default());
    match text.lines().next().and_then(|line| line.strip_prefix("#!")) {
        Some(first) => first.split_whitespace().any(is_one),
        None => file.and_then(Path::extension).is_none_or(|end| end.to_str().is_some_and(is_one)),
    }
}

/// The text without comments that begin with `#`, as far as they are certainly no part of the code. `file` is where it stands.
pub(crate) fn without_comments<'t>(text: &'t str, file: Option<&Path>) -> Cow<'t, str> {
    let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    let end = file.and_then(Path::extension).and_then(|end| end.to_str());
    let is_other = |word: &str| OTHERS.contains(&word.rsplit('/').next().unwrap_or_default());
    if end.is_some_and(is_other) || first.split_whitespace().any(is_other) || !text.contains('#') {
        return Cow::Borrowed(text);
    }
    let rest = &text[first.len()..];
    let kept: Vec<&str> = rest.split('\n').map(|line| &line[..comment_start(line)]).collect();
    Cow::Owned(format!("{first}{}", kept.join("\n")))
}

/// Where the comment of a line starts: at a `#` after a blank, outside of quotes.
fn comment_start(line: &str) -> usize {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before.is_whitespace() || before == ';' => return at,
            (None, '"' | '\'' | '`') if before != '\\' => quote = Some(c),
            (Some(open), c) if c == open && before != '\\' => quote = None,
            _ => {}
        }
        before = c;
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::without_comments;

    #[test]
    fn comments_end_where_code_begins() {
        for (text, expected) in [
            ("#!tools/sh\n# tools/a.sh\nsh x # tools/b.sh\n", "#!tools/sh\n\nsh x \n"),
            ("  # a\nb;# c", "  \nb;"),
            ("sh \"a # b\" # c", "sh \"a # b\" "),
            ("echo ${x#tools/} $#; echo it's # kept", "echo ${x#tools/} $#; echo it's # kept"),
            ("a\\\" # b", "a\\\" "),
            ("#!/usr/bin/env node\nf(x, #y in z)", "#!/usr/bin/env node\nf(x, #y in z)"),
        ] {
            assert_eq!(without_comments(text, None), expected);
        }
        assert_eq!(without_comments("a # b", Some(Path::new("x.js"))), "a # b");
        assert_eq!(without_comments("a # b", Some(Path::new("x.py"))), "a ");
    }
}
