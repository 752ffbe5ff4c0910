//! The syntax tree. Words keep their parts, so that nothing has to be parsed twice.

/// A complete command line, with the bodies of its here-documents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    pub list: List,
    /// The here-documents, indexed by [`Target::HereDocument`].
    pub bodies: Vec<Word>,
    /// Every assigned variable, once for each assignment, and what it may contain.
    pub variables: Vec<(String, ValueKind)>,
    /// The variables that are arrays.
    pub arrays: Vec<String>,
    pub has_functions: bool,
}

/// What a variable may contain, judged by its assignments. Each kind includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueKind {
    /// The number of a process that the script has started in the background.
    OwnProcess,
    /// An integer or nothing.
    Number,
    /// One word of text without brackets, dollar signs, backquotes and patterns.
    PlainWord,
    Arbitrary,
}

/// Commands that run one after another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List(pub Vec<Item>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub first: Pipeline,
    /// The pipelines that follow, joined by `&&` or `||`.
    pub rest: Vec<(Join, Pipeline)>,
    /// Whether the item ends with `&`.
    pub background: bool,
}

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
    /// Whether an odd number of `!` precedes it.
    pub negated: bool,
    /// Never empty.
    pub commands: Vec<Command>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub kind: CommandKind,
    pub redirects: Vec<Redirect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// Assignments, a name and arguments.
    Simple(Simple),
    /// `( … )`
    Subshell(List),
    /// `{ …; }`
    Group(List),
    /// `if`, with its `elif` arms.
    If {
        /// Conditions and their bodies.
        arms: Vec<(List, List)>,
        /// `else`
        otherwise: Option<List>,
    },
    /// `for name in values`
    For {
        name: String,
        /// `None` for the positional parameters.
        values: Option<Vec<Word>>,
        body: List,
    },
    /// `for (( … ))`
    ArithmeticFor { expressions: Vec<Word>, body: List },
    /// `while` and `until`.
    While { condition: List, body: List },
    /// `case`
    Case {
        subject: Word,
        /// Patterns and their bodies.
        arms: Vec<(Vec<Word>, List)>,
    },
    /// `name() …`
    Function {
        /// Not validated by the parser.
        name: String,
        body: Box<Command>,
    },
    /// `[[ … ]]`; the policy does not need to know how the conditions are joined.
    Test(Vec<Condition>),
    /// `(( … ))`
    Arithmetic(Word),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// Assignments before the name.
    pub assignments: Vec<Assignment>,
    /// The name and the arguments; empty if there are only assignments or redirections.
    pub words: Vec<Word>,
    /// The assignments among the arguments of `export`, `declare` and similar built-ins.
    pub declared: Vec<Assignment>,
}

/// `name=value`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    /// The array index, an arithmetic expression.
    pub index: Option<Word>,
    /// Whether it is `name+=value`.
    pub appends: bool,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Scalar(Word),
    /// `( … )`, with the index of each element that has one.
    Array(Vec<(Option<Word>, Word)>),
}

/// A redirection. The policy does not need its file descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    pub kind: RedirectKind,
    pub target: Target,
}

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A path, a descriptor or a here-string.
    Word(Word),
    /// An index into [`Script::bodies`].
    HereDocument(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `word`
    Bare(Word),
    /// `-f word`
    Unary(String, Word),
    /// `word = word`
    Binary(Word, String, Word),
}

/// A word, as a sequence of adjacent parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word(pub Vec<Part>);

/// A part of a word. The result of a `quoted` part is neither split nor expanded further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text after quote removal.
    Text { text: String, quoted: bool },
    /// `$x`, `${x…}`
    Parameter { parameter: Parameter, quoted: bool },
    /// `$( … )` and backquotes
    Command { list: List, quoted: bool },
    /// `$(( … ))`
    Arithmetic { expression: Word, quoted: bool },
    /// `<( … )`, `>( … )`
    Process(List),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The variable name, a digit, or the character of a special parameter.
    pub name: String,
    pub operation: Operation,
    /// Whether it may expand to any number of arguments even in quotes: `$@`, `${a[@]}`.
    pub spread: bool,
    /// Whether quotes make one argument of them: `"$*"`, `"${a[*]}"`.
    pub joins: bool,
    /// Arithmetic expressions in it: an index, or a substring's offset and length.
    pub arithmetic: Vec<Word>,
    /// Words in it: a default, a pattern or a replacement. A pattern for the longest match begins with a second `#` or `%`.
    pub words: Vec<Word>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `$x`, or a part of its value.
    Value,
    /// `${#x}`
    Length,
    /// `${x:=word}`
    Assign,
    /// `${x:-word}`, `${x:?word}`: the value or the word.
    Default,
    /// `${x:+word}`: the word or nothing.
    Alternate,
    /// `${x#pattern}`, `${x##pattern}`
    RemovePrefix,
    /// `${x%pattern}`, `${x%%pattern}`
    RemoveSuffix,
    /// `${x/pattern/word}`
    Replace,
    /// `${x^}`, `${x,,}`, `${x@U}`
    ChangeCase,
    /// `${x:1}`, `${x@Q}`: the value, transformed.
    Other,
}
