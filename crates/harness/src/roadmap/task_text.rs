//! Text that somebody else wrote, such as the author of an issue or an agent, as part of a task. One line, or a quotation: no line of it can
//! be taken for a task, a key, a heading, a block or a comment.

/// Characters of a line.
pub(super) const MAX_LINE: usize = 200;

/// Characters of a quotation.
const MAX_QUOTED: usize = 16_000;

/// A text as a quotation below a key; empty if there is none. `rest` says where the rest of a long one is.
pub(super) fn quoted(text: &str, rest: &str) -> String {
    let text = text.trim();
    let end = text.char_indices().nth(MAX_QUOTED).map(|(end, _)| end);
    let mut lines: Vec<String> =
        text[..end.unwrap_or(text.len())].lines().map(|line| visible(line).collect()).collect();
    if end.is_some() {
        lines.extend([String::new(), rest.to_owned()]);
    }
    lines.iter().map(|line| format!("{}\n", format!("    > {line}").trim_end())).collect()
}

pub(super) fn one_line(text: &str, limit: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = visible(&line).collect();
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.trim().to_owned(),
    }
}

/// Without control characters, and without those that make an editor show a text in another order.
fn visible(text: &str) -> impl Iterator<Item = char> {
    let reorders = |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(move |letter| *letter == '\t' || !(letter.is_control() || reorders(*letter)))
}
