//! The parts of a specification in which checks are written, as a Markdown reader sees them: headings, list items and fenced blocks, also in
//! lists and quotes. What is in a comment is not there. A check that a reader would not see for another reason is an error.

use super::item_look_alikes::is_nearly_check;
use crate::spec_error::{SpecError, SpecProblem};

/// The columns to which a tab advances.
const TAB: usize = 4;

/// The columns by which code is indented that has no fence.
const CODE_INDENTATION: usize = 4;

const CHECK: &str = "check";

/// The longest ending of a file's name, in bytes.
const MAX_ENDING: usize = 5;

pub(super) enum SpecPart<'a> {
    Heading(&'a str),
    /// A list item that is a check: the text after `check:`.
    Item(&'a str),
    Block(CheckBlockText<'a>),
}

/// A fenced block that is a check.
pub(super) struct CheckBlockText<'a> {
    /// The text after the fence.
    pub(super) info: &'a str,
    /// With their numbers, without the indentation of the fence.
    pub(super) lines: Vec<(usize, &'a str)>,
}

/// The parts in order, with their line numbers.
pub(super) fn parts(text: &str) -> Result<Vec<(usize, SpecPart<'_>)>, SpecError> {
    let mut reader = Reader { parts: Vec::new(), context: LineContext::Text, above: LineAbove::default() };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        reader.add(index + 1, line)?;
    }
    reader.end()?;
    Ok(reader.parts)
}

struct Reader<'a> {
    parts: Vec<(usize, SpecPart<'a>)>,
    context: LineContext<'a>,
    above: LineAbove,
}

/// What an indented line may continue.
#[derive(Default)]
struct LineAbove {
    quotes: usize,
    /// Whether a paragraph continues on the next line that is not empty.
    is_paragraph: bool,
    /// Whether a list continues on a line that is indented.
    is_list: bool,
}

impl LineAbove {
    /// Whether a line is code because of its indentation. In a list nobody counts columns, so there it is read as text.
    fn makes_code(&self, line: &Contained<'_>) -> bool {
        let is_free = self.quotes != line.container.quotes || !(self.is_paragraph || self.is_list);
        is_free && line.indentation >= CODE_INDENTATION && !line.text.is_empty()
    }

    fn add(&mut self, line: &Contained<'_>, is_paragraph: bool) {
        let is_same_quote = self.quotes == line.container.quotes;
        let goes_on = line.indentation > 0 || line.text.is_empty() || self.is_paragraph;
        self.is_list = line.is_item || (self.is_list && is_same_quote && goes_on);
        self.is_paragraph = is_paragraph && !line.text.is_empty();
        self.quotes = line.container.quotes;
    }
}

/// What the current line is part of.
enum LineContext<'a> {
    Text,
    Comment { line: usize, hides_check: bool },
    Block(OpenBlock<'a>),
}

struct OpenBlock<'a> {
    line: usize,
    fence: Fence<'a>,
    container: Container,
    /// Only of a check.
    lines: Vec<(usize, &'a str)>,
    /// Whether a check is written in it, as in an example.
    hides_check: bool,
}

impl<'a> Reader<'a> {
    fn add(&mut self, number: usize, line: &'a str) -> Result<(), SpecError> {
        match &mut self.context {
            LineContext::Text => self.add_text(number, line),
            LineContext::Comment { hides_check, .. } => {
                *hides_check |= is_check_line(line);
                if line.contains("-->") {
                    self.context = LineContext::Text;
                }
                Ok(())
            }
            LineContext::Block(block) => match block.container.content(line) {
                Some(content) if block.fence.is_closed_by(content) => {
                    self.close_block();
                    Ok(())
                }
                Some(content) => block.add(number, content),
                None => {
                    self.end()?;
                    self.context = LineContext::Text;
                    self.add_text(number, line)
                }
            },
        }
    }

    fn add_text(&mut self, number: usize, line: &'a str) -> Result<(), SpecError> {
        let line = Container::of(line);
        if self.above.makes_code(&line) {
            return Ok(());
        }
        let Contained { container, text, is_item, .. } = line;
        let mut is_paragraph = false;
        if let Some(comment) = text.strip_prefix("<!--") {
            if !comment.contains("-->") {
                self.context = LineContext::Comment { line: number, hides_check: false };
            }
        } else if let Some(fence) = Fence::opening(text) {
            if looks_like_check(fence.info) {
                return Err(SpecProblem::LooksLikeBlock(fence.info.to_owned()).at(number));
            }
            let block = OpenBlock { line: number, fence, container, lines: Vec::new(), hides_check: false };
            self.context = LineContext::Block(block);
        } else if is_cut_off(text) {
            return Err(SpecProblem::BackquoteAfterFence.at(number));
        } else if let Some(title) = text.strip_prefix('#') {
            self.parts.push((number, SpecPart::Heading(title.trim_start_matches('#').trim())));
        } else if let Some(item) = check_item(text, is_item) {
            self.parts.push((number, SpecPart::Item(item)));
        } else if check_item(text, true).is_some_and(|item| item.starts_with('`')) {
            return Err(SpecProblem::LooksLikeItem.at(number));
        } else if is_item && is_nearly_check(text) {
            return Err(SpecProblem::NearlyItem.at(number));
        } else {
            is_paragraph = true;
        }
        self.above.add(&line, is_paragraph);
        Ok(())
    }

    fn close_block(&mut self) {
        if let LineContext::Block(block) = std::mem::replace(&mut self.context, LineContext::Text)
            && block.fence.is_check()
        {
            let OpenBlock { line, fence, lines, .. } = block;
            self.parts.push((line, SpecPart::Block(CheckBlockText { info: fence.info, lines })));
        }
    }

    /// What is still open at the end of the text, or of a quote, hides no check.
    fn end(&self) -> Result<(), SpecError> {
        match &self.context {
            LineContext::Comment { line, hides_check: true } => Err(SpecProblem::CommentNotClosed.at(*line)),
            LineContext::Block(block) if block.fence.is_check() => Err(SpecProblem::NotClosed.at(block.line)),
            LineContext::Block(block) if block.hides_check => Err(SpecProblem::BlockNotClosed.at(block.line)),
            LineContext::Text | LineContext::Comment { .. } | LineContext::Block(_) => Ok(()),
        }
    }
}

impl<'a> OpenBlock<'a> {
    fn add(&mut self, number: usize, content: &'a str) -> Result<(), SpecError> {
        if self.fence.is_check() {
            self.lines.push((number, content));
        } else if let Some(inner) = Fence::opening(content.trim()).filter(Fence::is_check) {
            if inner.mark == self.fence.mark && inner.length >= self.fence.length {
                return Err(SpecProblem::InsideBlock { opened: self.line }.at(number));
            }
            self.hides_check = true;
        }
        Ok(())
    }
}

/// Opened by `length` of the character `mark`.
struct Fence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn opening(text: &'a str) -> Option<Self> {
        let mark = text.chars().next().filter(|c| ['`', '~'].contains(c))?;
        let length = text.chars().take_while(|c| *c == mark).count();
        let info = text[length..].trim();
        // Otherwise it is code within a line.
        let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then_some(Self { mark, length, info })
    }

    fn is_check(&self) -> bool {
        is_check_info(self.info)
    }

    fn is_closed_by(&self, content: &str) -> bool {
        let content = content.trim();
        content.len() >= self.length && content.chars().all(|c| c == self.mark)
    }
}

fn is_check_info(info: &str) -> bool {
    info.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("check"))
}

/// Words after a fence in which a check could have been meant.
const LOOKED_AT: usize = 3;

/// Whether it names a check in a way that other tools know or that is nearly right: `checks A`, `check:A`, `check-A`, `{.check A}`,
/// `[check] A`, `sh check`, `sh,check A`. The name of a file (`check.sh`) and a value (`title=check`) are something else.
fn looks_like_check(info: &str) -> bool {
    let is_mark = |c: char| !c.is_alphanumeric() && !"-_./".contains(c);
    let named = without_values(info);
    let mut words = named.split_whitespace().take(LOOKED_AT);
    !is_check_info(info) && words.any(|word| word.split(is_mark).any(begins_like_check))
}

/// `sh title="a check" {a=b}` without what follows the signs of equality.
fn without_values(info: &str) -> String {
    let mut named = String::new();
    let mut rest = info;
    while let Some((name, value)) = rest.split_once('=') {
        named.push_str(name);
        rest = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).map_or("", |(_, rest)| rest),
            _ => value.find(char::is_whitespace).map_or("", |end| &value[end..]),
        };
        named.push(' ');
    }
    named + rest
}

/// Whether it is `check` or `checks`, or begins with that and continues with what is not part of the word: `check-A`, `check/A`, `checkA`.
fn begins_like_check(word: &str) -> bool {
    let word = word.trim_matches(['-', '_', '.', '/']);
    let (Some(start), Some(rest)) = (word.get(..CHECK.len()), word.get(CHECK.len()..)) else { return false };
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    let is_ending = |ending: &str| {
        ending.starts_with(|c: char| c.is_ascii_lowercase())
            && ending.len() <= MAX_ENDING
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let goes_on = match rest.chars().next() {
        None => true,
        Some('.') => !is_ending(&rest[1..]),
        Some(c) if c.is_alphabetic() => c.is_uppercase() && start != start.to_uppercase(),
        Some(_) => true,
    };
    start.eq_ignore_ascii_case(CHECK) && goes_on
}

/// Whether it would open a check if it had no backquote after the fence.
fn is_cut_off(text: &str) -> bool {
    let info = text.strip_prefix("```").map(|info| info.trim_start_matches('`'));
    info.is_some_and(|info| is_check_info(info) && !info.contains("```"))
}

fn is_check_line(line: &str) -> bool {
    let Contained { text, is_item, .. } = Container::of(line);
    Fence::opening(text).is_some_and(|fence| fence.is_check()) || check_item(text, is_item).is_some()
}

/// The text after `check:` in a list item.
fn check_item(text: &str, is_item: bool) -> Option<&str> {
    let item = if is_item { text } else { text.strip_prefix(['-', '*', '+'])? };
    let task = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| item.strip_prefix(mark));
    let (word, rest) = task.unwrap_or(item).split_once(':')?;
    let is_check = word.trim().trim_matches(['*', '_']).eq_ignore_ascii_case("check");
    is_check.then(|| rest.trim_start_matches(['*', '_']).trim())
}

/// The quotes and lists in which a line is.
#[derive(Clone, Copy)]
struct Container {
    quotes: usize,
    /// The indentation after the last mark of a quote.
    columns: usize,
}

/// A line without the marks and the indentation of its containers.
#[derive(Clone, Copy)]
struct Contained<'a> {
    container: Container,
    /// Columns before the text, or before the mark of the first list item in the line.
    indentation: usize,
    text: &'a str,
    /// Whether a list item begins in it.
    is_item: bool,
}

impl Container {
    fn of(line: &str) -> Contained<'_> {
        let (mut quotes, mut columns, mut indentation, mut is_item) = (0, 0, 0, false);
        let mut text = line.trim_end();
        loop {
            let unindented = text.trim_start_matches([' ', '\t']);
            columns = column_after(&text[..text.len() - unindented.len()], columns);
            text = unindented;
            indentation = if is_item { indentation } else { columns };
            if let Some(quoted) = text.strip_prefix('>') {
                (quotes, columns, is_item) = (quotes + 1, 0, false);
                text = quoted.strip_prefix(' ').unwrap_or(quoted);
            } else if let Some(item) = without_list_mark(text) {
                columns += text.len() - item.len();
                (text, is_item) = (item, true);
            } else {
                return Contained { container: Self { quotes, columns }, indentation, text, is_item };
            }
        }
    }

    /// A later line of the same block; `None` if the quote has ended.
    fn content<'a>(&self, line: &'a str) -> Option<&'a str> {
        let mut text = line;
        for _ in 0..self.quotes {
            text = text.trim_start().strip_prefix('>')?;
            text = text.strip_prefix(' ').unwrap_or(text);
        }
        let mut column = 0;
        while let (true, Some(mark @ (' ' | '\t'))) = (column < self.columns, text.chars().next()) {
            column = column_after(mark.encode_utf8(&mut [0; 4]), column);
            text = &text[1..];
        }
        Some(text)
    }
}

fn column_after(indentation: &str, column: usize) -> usize {
    indentation
        .chars()
        .fold(column, |column, c| if c == '\t' { (column / TAB + 1) * TAB } else { column + 1 })
}

/// The text after `-`, `*`, `+`, `1.` or `1)` and before what follows the space.
fn without_list_mark(text: &str) -> Option<&str> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let after = match digits {
        0 => text.strip_prefix(['-', '*', '+']),
        _ => text[digits..].strip_prefix(['.', ')']),
    };
    after.filter(|after| after.starts_with([' ', '\t']))
}
