//! The syntax tree. Words keep their parts, so that nothing has to be read twice.

/// A whole command as given, with the bodies of its here-documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// What is run.
    pub list: List,
    /// The here-documents, as [`Target::HereDocument`] numbers them.
    pub bodies: Vec<Word>,
    /// Every variable that is given a value anywhere, and what it may hold.
    pub variables: Vec<(String, Content)>,
    /// The variables among them that are arrays.
    pub arrays: Vec<String>,
    /// Whether functions are defined.
    pub has_functions: bool,
}

/// What a variable may hold, as far as its assignments tell; later ones include the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    /// An integer or nothing.
    Number,
    /// One word of text without brackets, dollar signs, backquotes and patterns.
    Tame,
    /// Anything.
    Wild,
}

/// Commands run one after another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List(pub Vec<Item>);

/// One member of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The first pipeline.
    pub first: Pipeline,
    /// What follows it, by `&&` and `||`.
    pub rest: Vec<(Join, Pipeline)>,
    /// Whether it ends with `&`.
    pub background: bool,
}

/// How pipelines are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands joined by `|`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// Whether an odd number of `!` stands before it.
    pub negated: bool,
    /// At least one.
    pub commands: Vec<Command>,
}

/// A command and its redirections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What it is.
    pub kind: CommandKind,
    /// Its redirections, in order.
    pub redirects: Vec<Redirect>,
}

/// The kinds of command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// Assignments, a name, arguments.
    Simple(Simple),
    /// `( … )`
    Subshell(List),
    /// `{ …; }`
    Group(List),
    /// `if`, with its `elif` arms.
    If {
        /// Conditions and what follows each.
        arms: Vec<(List, List)>,
        /// `else`.
        otherwise: Option<List>,
    },
    /// `for name in values`
    For {
        /// The variable.
        name: String,
        /// The values; the positional parameters if absent.
        values: Option<Vec<Word>>,
        /// The body.
        body: List,
    },
    /// `for (( … ))`
    ArithmeticFor {
        /// The expressions that are there.
        expressions: Vec<Word>,
        /// The body.
        body: List,
    },
    /// `while` and `until`.
    While {
        /// The condition.
        condition: List,
        /// The body.
        body: List,
    },
    /// `case`
    Case {
        /// What is compared.
        subject: Word,
        /// Patterns and what follows them.
        arms: Vec<(Vec<Word>, List)>,
    },
    /// `name() …`
    Function {
        /// Its name, unchecked.
        name: String,
        /// Its body.
        body: Box<Command>,
    },
    /// `[[ … ]]`; how its conditions are joined does not matter to us.
    Test(Vec<Condition>),
    /// `(( … ))`
    Arithmetic(Word),
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// Assignments before the name.
    pub assignments: Vec<Assignment>,
    /// The name and the arguments; empty if there are only assignments or redirections.
    pub words: Vec<Word>,
    /// The assignments among the arguments of `export`, `declare` and kin.
    pub declared: Vec<Assignment>,
}

/// `name=value`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// An array's index, an arithmetic expression.
    pub index: Option<Word>,
    /// What is assigned.
    pub value: Value,
}

/// An assigned value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// One word.
    Scalar(Word),
    /// `( … )`, with the elements' indices where they are given.
    Array(Vec<(Option<Word>, Word)>),
}

/// A redirection. The file descriptor's number does not matter to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Which.
    pub kind: RedirectKind,
    /// Where to, or from.
    pub target: Target,
}

/// The kinds of redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`, `&>>`, `<>`
    Write,
    /// `>&`
    DuplicateOutput,
    /// `<&`
    DuplicateInput,
    /// `<<`, `<<-`, `<<<`
    Text,
}

/// What a redirection names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A path, a descriptor or a here-string.
    Word(Word),
    /// An index into [`Script::bodies`].
    HereDocument(usize),
}

/// One condition of `[[ … ]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `word`
    Bare(Word),
    /// `-f word`
    Unary(String, Word),
    /// `word = word`
    Binary(Word, String, Word),
}

/// A word: its parts, side by side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word(pub Vec<Part>);

/// A part of a word. `quoted` parts are neither split nor expanded further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text after quote removal.
    Text {
        /// The characters.
        text: String,
        /// Whether they were quoted.
        quoted: bool,
    },
    /// `$x`, `${x…}`
    Parameter {
        /// Which.
        parameter: Parameter,
        /// Whether inside double quotes.
        quoted: bool,
    },
    /// `$( … )` and backquotes
    Command {
        /// What is run.
        list: List,
        /// Whether inside double quotes.
        quoted: bool,
    },
    /// `$(( … ))`
    Arithmetic {
        /// The expression.
        expression: Word,
        /// Whether inside double quotes.
        quoted: bool,
    },
    /// `<( … )`, `>( … )`
    Process(List),
}

/// A parameter expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The variable, a digit, or a special parameter's character.
    pub name: String,
    /// What is done with it.
    pub operation: Operation,
    /// Whether it may become any number of arguments even in quotes: `$@`, `${a[@]}`.
    pub spread: bool,
    /// Arithmetic in it: an index, a substring's offset and length.
    pub arithmetic: Vec<Word>,
    /// Words in it: a default, a pattern, a replacement.
    pub words: Vec<Word>,
}

/// What an expansion does with its parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Its value, or a part of it.
    Value,
    /// `${#x}`
    Length,
    /// `${x:=word}`
    Assign,
    /// `${x:-word}`, `${x#pattern}`, …: the value or the word, changed or not.
    Other,
}
