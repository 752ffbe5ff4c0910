//! The lines of a roadmap as a Markdown reader sees them. What is in a comment is hidden; what is in a fenced block is text.

use super::problem::RoadmapProblem;

/// The columns to which a tab advances.
const TAB: usize = 4;

/// Characters that fences are made of, at least three of one kind.
const FENCES: [char; 2] = ['`', '~'];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1.
    pub number: usize,
    /// Without the end of the line and the spaces before it.
    pub text: &'a str,
    pub kind: LineKind<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind<'a> {
    Blank,
    /// A part of a comment.
    Hidden,
    /// A part of a fenced block, with its fences. `opens` is the word after an opening fence.
    Fenced {
        opens: Option<&'a str>,
    },
    Heading {
        level: usize,
        title: &'a str,
    },
    /// A list item with a check box at the beginning of the line.
    Boxed(BoxedItem<'a>),
    /// Any other list item; `indent` in columns.
    Item {
        indent: usize,
        text: &'a str,
    },
    Text {
        indent: usize,
        text: &'a str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoxedItem<'a> {
    /// `None` if the box is malformed.
    pub done: Option<bool>,
    /// Offset in the whole text of the character between the brackets.
    pub mark: usize,
    pub text: &'a str,
}

impl<'a> BoxedItem<'a> {
    /// The id and the description of `**id**: description`.
    pub fn id_and_description(&self) -> Option<(&'a str, &'a str)> {
        let (id, rest) = self.text.strip_prefix("**")?.split_once("**")?;
        // Some write the colon in bold too.
        let (id, rest) = match id.strip_suffix(':') {
            Some(id) => (id, rest),
            None => (id, rest.trim_start().strip_prefix(':')?),
        };
        Some((id.trim(), rest.trim()))
    }
}

/// What people write between the brackets of a box.
const MARKS: [char; 7] = [' ', '\u{a0}', 'x', 'X', '-', '\u{2713}', '\u{2714}'];

/// Whether a line that is not a list item looks like one with a check box: `-[ ] …`, `1. [ ] …`, or one with another kind of space.
pub fn looks_boxed(text: &str) -> bool {
    let digits = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let after_marker = match digits.len() < text.len() {
        true => digits.strip_prefix(['.', ')']),
        false => Some(text.strip_prefix(['-', '*', '+', '\u{2022}', '\u{2013}']).unwrap_or(text)),
    };
    let inside = after_marker.and_then(|rest| rest.trim_start().strip_prefix('['));
    let Some((inside, after)) = inside.and_then(|inside| inside.split_once(']')) else {
        return false;
    };
    // A link is not a box, and a line without a marker only if an id follows.
    let is_item = after_marker.is_some_and(|rest| rest.len() < text.len());
    inside.chars().count() <= 1
        && inside.chars().all(|mark| MARKS.contains(&mark))
        && !after.starts_with('(')
        && (is_item || after.trim_start().starts_with("**"))
}

enum Context<'a> {
    Text,
    Comment { opened: usize },
    Block { opened: usize, fence: &'a str },
}

/// All lines, and what is never closed.
pub fn lines(text: &str) -> (Vec<Line<'_>>, Vec<(usize, RoadmapProblem)>) {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let (mut found, mut context, mut offset) = (Vec::new(), Context::Text, start);
    for (index, whole) in text[start..].split_inclusive('\n').enumerate() {
        let (number, text) = (index + 1, whole.trim_end());
        let kind = match &context {
            Context::Comment { .. } => {
                if text.contains("-->") {
                    context = Context::Text;
                }
                LineKind::Hidden
            }
            Context::Block { fence, .. } => {
                if closes(text, fence) {
                    context = Context::Text;
                }
                LineKind::Fenced { opens: None }
            }
            Context::Text => {
                let kind = kind(text, offset);
                if let LineKind::Fenced { .. } = kind {
                    context = Context::Block { opened: number, fence: fence(text.trim_start()) };
                } else if kind == LineKind::Hidden && !text.contains("-->") {
                    context = Context::Comment { opened: number };
                }
                kind
            }
        };
        found.push(Line { number, text, kind });
        offset += whole.len();
    }
    let problem = match context {
        Context::Text => None,
        Context::Comment { opened } => Some(RoadmapProblem::CommentNotClosed.at(opened)),
        Context::Block { opened, .. } => Some(RoadmapProblem::BlockNotClosed.at(opened)),
    };
    (found, problem.into_iter().collect())
}

fn kind(text: &str, offset: usize) -> LineKind<'_> {
    let trimmed = text.trim_start();
    let indent = columns(&text[..text.len() - trimmed.len()]);
    if trimmed.is_empty() {
        return LineKind::Blank;
    }
    if trimmed.starts_with("<!--") {
        return LineKind::Hidden;
    }
    if !fence(trimmed).is_empty() {
        return LineKind::Fenced { opens: Some(trimmed[fence(trimmed).len()..].trim()) };
    }
    let level = trimmed.bytes().take_while(|byte| *byte == b'#').count();
    if indent < TAB && (1..=6).contains(&level) && trimmed[level..].starts_with(' ') {
        let title = trimmed[level..].trim().trim_end_matches('#').trim_end();
        return LineKind::Heading { level, title };
    }
    let Some(item) = trimmed.strip_prefix(['-', '*', '+']).filter(|rest| rest.starts_with([' ', '\t']))
    else {
        return LineKind::Text { indent, text: trimmed };
    };
    let item = item.trim_start();
    match item.strip_prefix('[') {
        // A link is not a box.
        Some(inside)
            if indent == 0 && !inside.split_once(']').is_some_and(|(_, rest)| rest.starts_with('(')) =>
        {
            LineKind::Boxed(boxed(inside, offset + text.len() - inside.len()))
        }
        Some(_) | None => LineKind::Item { indent, text: item },
    }
}

fn boxed(inside: &str, mark: usize) -> BoxedItem<'_> {
    let done = match inside.as_bytes() {
        [b' ', b']', ..] => Some(false),
        [b'x' | b'X', b']', ..] => Some(true),
        _ => None,
    };
    let text = inside.split_once(']').map_or("", |(_, rest)| rest.trim());
    BoxedItem { done, mark, text }
}

/// The fence at the beginning of a line; empty if there is none.
fn fence(line: &str) -> &str {
    for sign in FENCES {
        let length = line.chars().take_while(|letter| *letter == sign).count();
        // A line such as ```code``` is text.
        if length >= 3 && !(sign == '`' && line[length..].contains('`')) {
            return &line[..length];
        }
    }
    ""
}

fn closes(line: &str, opened: &str) -> bool {
    let closing = line.trim();
    closing.len() >= opened.len() && closing.starts_with(opened) && fence(closing).len() == closing.len()
}

fn columns(indentation: &str) -> usize {
    indentation.chars().fold(0, |column, letter| match letter {
        '\t' => column / TAB * TAB + TAB,
        _ => column + 1,
    })
}
