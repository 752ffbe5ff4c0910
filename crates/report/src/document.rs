//! The report as a format-independent document. It holds plain text; each renderer does its own escaping.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub(crate) title: String,
    pub(crate) blocks: Vec<ReportBlock>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReportBlock {
    Paragraph(ReportLine),
    KeyValues(Vec<(&'static str, ReportLine)>),
    /// A bulleted list.
    Points(Vec<ReportLine>),
    /// A list numbered from 1.
    Numbered(Vec<ReportLine>),
    Table {
        head: Vec<&'static str>,
        /// Each as long as `head`.
        rows: Vec<Vec<ReportLine>>,
    },
    Code(CodeBlock),
    Section {
        title: ReportLine,
        blocks: Vec<ReportBlock>,
    },
}

/// Preformatted text, truncated according to its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeBlock {
    pub kind: CodeKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeKind {
    /// A shell command, shown in full.
    Command,
    /// Output of a command; beginning and end are shown.
    Output,
    /// Diff of a file; the beginning is shown.
    Diff,
}

/// The spans of one line.
pub(crate) type ReportLine = Vec<ReportSpan>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReportSpan {
    Text(String),
    /// A name, a path or a command.
    Code(String),
    /// A status word with a colour.
    Badge(Tone, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    /// Needs attention.
    Open,
    Bad,
    Plain,
}

pub(crate) fn text(words: impl Into<String>) -> ReportSpan {
    ReportSpan::Text(words.into())
}

pub(crate) fn code(words: impl Into<String>) -> ReportSpan {
    ReportSpan::Code(words.into())
}

pub(crate) fn badge(tone: Tone, word: impl Into<String>) -> ReportSpan {
    ReportSpan::Badge(tone, word.into())
}

pub(crate) fn section(title: &str, blocks: Vec<ReportBlock>) -> ReportBlock {
    ReportBlock::Section { title: vec![text(title)], blocks }
}

pub(crate) fn paragraph(words: impl Into<String>) -> ReportBlock {
    ReportBlock::Paragraph(vec![text(words)])
}

impl Document {
    /// Applies `line` to every piece of text and `whole` to every code block.
    pub(crate) fn map(
        self,
        line: &impl Fn(&str) -> String,
        whole: &impl Fn(CodeKind, &str) -> String,
    ) -> Self {
        Self { title: line(&self.title), blocks: blocks(self.blocks, line, whole) }
    }
}

fn blocks(
    list: Vec<ReportBlock>,
    line: &impl Fn(&str) -> String,
    whole: &impl Fn(CodeKind, &str) -> String,
) -> Vec<ReportBlock> {
    let spans = |spans: ReportLine| -> ReportLine {
        let change = |span| match span {
            ReportSpan::Text(words) => ReportSpan::Text(line(&words)),
            ReportSpan::Code(words) => ReportSpan::Code(line(&words)),
            ReportSpan::Badge(tone, word) => ReportSpan::Badge(tone, line(&word)),
        };
        spans.into_iter().map(change).collect()
    };
    let lines = |list: Vec<ReportLine>| -> Vec<ReportLine> { list.into_iter().map(spans).collect() };
    let change = |block| match block {
        ReportBlock::Paragraph(words) => ReportBlock::Paragraph(spans(words)),
        ReportBlock::KeyValues(facts) => {
            ReportBlock::KeyValues(facts.into_iter().map(|(name, words)| (name, spans(words))).collect())
        }
        ReportBlock::Points(items) => ReportBlock::Points(lines(items)),
        ReportBlock::Numbered(items) => ReportBlock::Numbered(lines(items)),
        ReportBlock::Table { head, rows } => {
            ReportBlock::Table { head, rows: rows.into_iter().map(lines).collect() }
        }
        ReportBlock::Code(CodeBlock { kind, text }) => {
            ReportBlock::Code(CodeBlock { kind, text: whole(kind, &text) })
        }
        ReportBlock::Section { title, blocks: inner } => {
            ReportBlock::Section { title: spans(title), blocks: blocks(inner, line, whole) }
        }
    };
    list.into_iter().map(change).collect()
}
