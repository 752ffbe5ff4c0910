//! What a page says, without a form. What is put into it is plain text: escaping is the business of anyone who writes it down.

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What it says.
    pub blocks: Vec<Block>,
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Sentences.
    Paragraph(Line),
    /// Names and what stands behind them.
    Facts(Vec<(&'static str, Line)>),
    /// Items in no order.
    Points(Vec<Line>),
    /// Items that are counted from 1.
    Numbered(Vec<Line>),
    /// Rows under a head.
    Table {
        /// The names of the columns.
        head: Vec<&'static str>,
        /// The rows, each as long as the head.
        rows: Vec<Vec<Line>>,
    },
    /// A text that is shown as it is.
    Code(Code),
    /// A part with a title.
    Section {
        /// Its title.
        title: Line,
        /// What it says.
        blocks: Vec<Block>,
    },
}

/// A text that is shown as it is, but not more of it than a reader wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// What it is.
    pub kind: Kind,
    /// The text.
    pub text: String,
}

/// What a text is that is shown as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A command for a shell.
    Command,
    /// What a command printed. Its beginning and its end are shown.
    Output,
    /// The differences of a file. Their beginning is shown.
    Diff,
}

/// Words on one line.
pub type Line = Vec<Span>;

/// Words of one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Ordinary ones.
    Text(String),
    /// A name, a path, a command: as it is typed.
    Code(String),
    /// A word that says how good something is.
    Badge(Tone, String),
}

/// How good something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Seen to be right.
    Good,
    /// To be looked at.
    Open,
    /// Seen to be wrong.
    Bad,
    /// Neither.
    Plain,
}

/// Ordinary words.
pub fn text(words: impl Into<String>) -> Span {
    Span::Text(words.into())
}

/// Something as it is typed.
pub fn code(words: impl Into<String>) -> Span {
    Span::Code(words.into())
}

/// A word that says how good something is.
pub fn badge(tone: Tone, word: impl Into<String>) -> Span {
    Span::Badge(tone, word.into())
}

/// A part with a title of plain words.
pub fn section(title: &str, blocks: Vec<Block>) -> Block {
    Block::Section { title: vec![text(title)], blocks }
}

/// A paragraph of plain words.
pub fn paragraph(words: impl Into<String>) -> Block {
    Block::Paragraph(vec![text(words)])
}

impl Document {
    /// The same page with every text of it changed, and every text that is shown as it is by its kind.
    pub fn map(self, line: &impl Fn(&str) -> String, whole: &impl Fn(Kind, &str) -> String) -> Self {
        Self { title: line(&self.title), blocks: blocks(self.blocks, line, whole) }
    }
}

fn blocks(
    list: Vec<Block>,
    line: &impl Fn(&str) -> String,
    whole: &impl Fn(Kind, &str) -> String,
) -> Vec<Block> {
    let spans = |spans: Line| -> Line {
        let change = |span| match span {
            Span::Text(words) => Span::Text(line(&words)),
            Span::Code(words) => Span::Code(line(&words)),
            Span::Badge(tone, word) => Span::Badge(tone, line(&word)),
        };
        spans.into_iter().map(change).collect()
    };
    let lines = |list: Vec<Line>| -> Vec<Line> { list.into_iter().map(spans).collect() };
    let change = |block| match block {
        Block::Paragraph(words) => Block::Paragraph(spans(words)),
        Block::Facts(facts) => {
            Block::Facts(facts.into_iter().map(|(name, words)| (name, spans(words))).collect())
        }
        Block::Points(items) => Block::Points(lines(items)),
        Block::Numbered(items) => Block::Numbered(lines(items)),
        Block::Table { head, rows } => Block::Table { head, rows: rows.into_iter().map(lines).collect() },
        Block::Code(Code { kind, text }) => Block::Code(Code { kind, text: whole(kind, &text) }),
        Block::Section { title, blocks: inner } => {
            Block::Section { title: spans(title), blocks: blocks(inner, line, whole) }
        }
    };
    list.into_iter().map(change).collect()
}
