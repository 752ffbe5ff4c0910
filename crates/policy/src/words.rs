//! Shell words as arguments, as far as they are known before the shell expands them.

use crate::brace_sequences;
use crate::shell::ast::{Command, CommandKind, Item, List, Operation, Part, Word};

/// The most arguments that one brace expansion may produce before it counts as unknown.
const MAX_BRACES: usize = 64;

/// What stands for a part that is not known.
pub const UNKNOWN_PART: char = '\u{fffd}';

/// An argument, as far as it is known before the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    /// The whole text; for [`ArgKind::Unknown`] and [`ArgKind::Several`], the known beginning.
    pub text: String,
    pub kind: ArgKind,
    /// The whole text of one that is not known, with [`UNKNOWN_PART`] for each part that is not.
    pub outline: String,
    /// Whether a brace expansion produced it.
    pub from_braces: bool,
    /// Whether it stands for any number of arguments with this beginning, as `{} +` of `find` does.
    pub repeats: bool,
    /// What an argument that is not known may be, as far as the script shows it.
    pub may_be: Vec<Arg>,
    /// Whether it is certainly one of these.
    pub is_one_of_them: bool,
    /// Whether a part that is not known is made of the script's own text, so that the script decides which name it is.
    pub is_computed: bool,
    /// Whether it also decides which path it is.
    pub may_be_any_path: bool,
    /// Whether it may be too many things to judge each.
    pub may_be_too_many: bool,
}

/// How much of an argument is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// The whole text is known.
    Plain,
    /// A file name pattern.
    Glob,
    /// One argument of which only the beginning is known.
    Unknown,
    /// Any number of arguments, possibly none; only the beginning is known.
    Several,
}

impl Arg {
    pub fn new(text: impl Into<String>, kind: ArgKind) -> Self {
        Self {
            text: text.into(),
            kind,
            outline: String::new(),
            from_braces: false,
            repeats: false,
            may_be: Vec::new(),
            is_one_of_them: false,
            is_computed: false,
            may_be_any_path: false,
            may_be_too_many: false,
        }
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, ArgKind::Plain)
    }

    pub fn unknown() -> Self {
        Self::new("", ArgKind::Unknown)
    }

    /// The text, if it is known and not a pattern.
    pub fn literal(&self) -> Option<&str> {
        (self.kind == ArgKind::Plain).then_some(self.text.as_str())
    }

    /// The text as a script, of which some parts may not be known; `None` if nothing of it is.
    pub fn script(&self) -> Option<&str> {
        let is_known = |c: char| c != UNKNOWN_PART && !c.is_whitespace();
        self.literal().or_else(|| Some(self.outline.as_str()).filter(|outline| outline.contains(is_known)))
    }

    /// All that one argument that is not known may be, if that is known in full.
    pub fn known_values(&self) -> Option<&[Arg]> {
        let is_known = self.is_one_of_them && self.kind == ArgKind::Unknown && !self.repeats;
        let values = Some(self.may_be.as_slice()).filter(|values| is_known && !values.is_empty())?;
        values.iter().all(|value| value.literal().is_some()).then_some(values)
    }

    /// The argument with parts that stand for unknown ones taken for that.
    pub fn with_unknown_parts(self) -> Self {
        match self.literal().and_then(|text| text.find(UNKNOWN_PART)) {
            Some(at) => Self {
                text: self.text[..at].to_owned(),
                kind: ArgKind::Unknown,
                outline: self.text.clone(),
                ..self
            },
            None => self,
        }
    }

    /// Whether the argument may be an option once it is expanded.
    pub fn may_be_option(&self) -> bool {
        match self.kind {
            ArgKind::Plain | ArgKind::Glob => self.text.starts_with('-'),
            ArgKind::Unknown => self.text.is_empty() || self.text.starts_with('-'),
            ArgKind::Several => true,
        }
    }

    /// Whether it stands for exactly one argument.
    pub fn is_single(&self) -> bool {
        matches!(self.kind, ArgKind::Plain | ArgKind::Unknown) && !self.repeats
    }

    /// Whether the argument cannot be an option.
    pub fn is_operand(&self) -> bool {
        !self.may_be_option()
    }
}

/// Whether nothing of an argument is known, so that it may be any option, or none at all.
pub fn is_unknown(arg: &Arg) -> bool {
    matches!(arg.kind, ArgKind::Several | ArgKind::Unknown) && arg.text.is_empty() && arg.script().is_none()
}

/// Appends the arguments that a word expands to.
pub fn arguments(word: &Word, into: &mut Vec<Arg>) {
    if word.0.iter().filter_map(Part::unquoted_text).any(|text| text.contains('{')) && has_braces(word) {
        return braces(word, into);
    }
    into.push(argument(&word.0));
}

/// The text of a word that expands to exactly one known argument.
pub fn literal(word: &Word) -> Option<String> {
    let mut arguments_of_word = Vec::new();
    arguments(word, &mut arguments_of_word);
    match arguments_of_word.as_slice() {
        [only] => only.literal().map(str::to_owned),
        _ => None,
    }
}

/// A word's text, in which `$HOME` becomes `~`, and other expansions become [`UNKNOWN_PART`].
pub fn outline(parts: &[Part]) -> String {
    let mut approximation = String::new();
    for part in parts {
        match part {
            Part::Text { text, .. } => approximation.push_str(text),
            Part::Parameter { parameter, .. }
                if parameter.name == "HOME" && parameter.operation == Operation::Value =>
            {
                approximation.push('~');
            }
            Part::Parameter { .. } | Part::Command { .. } | Part::Arithmetic { .. } | Part::Process(_) => {
                approximation.push(UNKNOWN_PART);
            }
        }
    }
    approximation
}

fn argument(parts: &[Part]) -> Arg {
    let mut text = String::new();
    // What the shell may take for a pattern: a bracket may have quoted characters in it.
    let mut pattern = String::new();
    let mut kind = ArgKind::Plain;
    for part in parts {
        match part {
            Part::Text { text: more, quoted } => {
                if !quoted && text.is_empty() && more.starts_with('~') {
                    return Arg::new("~", ArgKind::Unknown);
                }
                pattern.push_str(if *quoted { "x" } else { more });
                if is_pattern(&pattern) && kind == ArgKind::Plain {
                    kind = ArgKind::Glob;
                }
                if matches!(kind, ArgKind::Plain | ArgKind::Glob) {
                    text.push_str(more);
                }
            }
            Part::Parameter { parameter, quoted } => kind = unknown(kind, *quoted && !parameter.spread),
            // Any number will do.
            Part::Command { list, .. } if counts_processors(list) && kind == ArgKind::Plain => text.push('1'),
            Part::Command { quoted, .. } => kind = unknown(kind, *quoted),
            Part::Arithmetic { .. } => kind = unknown(kind, true),
            Part::Process(_) => {
                text.push_str("<(");
                kind = unknown(kind, true);
            }
        }
    }
    let is_known = matches!(kind, ArgKind::Plain | ArgKind::Glob);
    Arg { outline: if is_known { String::new() } else { outline(parts) }, ..Arg::new(text, kind) }
}

/// Whether a list is `nproc` alone; functions may not have its name.
fn counts_processors(list: &List) -> bool {
    let [Item { first, rest, background: false }] = list.0.as_slice() else { return false };
    let [Command { kind: CommandKind::Simple(simple), redirects, .. }] = first.commands.as_slice() else {
        return false;
    };
    let is_plain = rest.is_empty() && redirects.is_empty() && simple.assignments.is_empty();
    is_plain && matches!(simple.words.as_slice(), [only] if only.bare() == Some("nproc"))
}

fn unknown(before: ArgKind, is_one: bool) -> ArgKind {
    match before {
        ArgKind::Plain | ArgKind::Unknown if is_one => ArgKind::Unknown,
        ArgKind::Plain | ArgKind::Glob | ArgKind::Unknown | ArgKind::Several => ArgKind::Several,
    }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?']) || text.find('[').is_some_and(|open| text[open..].contains(']'))
}

/// Whether the word contains a `{…}` with a comma or `..` in it, all unquoted.
fn has_braces(word: &Word) -> bool {
    let mut open = false;
    let mut divided = false;
    for text in word.0.iter().filter_map(Part::unquoted_text) {
        let mut last = ' ';
        for character in text.chars() {
            match character {
                '{' => open = true,
                ',' if open => divided = true,
                '.' if open && last == '.' => divided = true,
                '}' if open && divided => return true,
                _ => {}
            }
            last = character;
        }
    }
    false
}

/// Expands `a{b,c}d` without nesting or other expansions; anything else becomes [`ArgKind::Several`].
fn braces(word: &Word, into: &mut Vec<Arg>) {
    let mut results: Vec<Word> = vec![Word::default()];
    let mut group: Option<Vec<Word>> = None;
    let several = || Arg::new("", ArgKind::Several);
    for part in &word.0 {
        let Part::Text { text, quoted } = part else { return into.push(several()) };
        for character in text.chars() {
            match (character, *quoted, &mut group) {
                ('{', false, None) => group = Some(vec![Word::default()]),
                ('{', false, Some(_)) | ('}', false, None) => return into.push(several()),
                (',', false, Some(members)) => members.push(Word::default()),
                ('}', false, Some(members)) => {
                    let joined = match members.as_slice() {
                        [only] => sequence(only).and_then(|members| join(&results, &members)),
                        members => join(&results, members),
                    };
                    group = None;
                    match joined {
                        Some(joined) => results = joined,
                        None => return into.push(several()),
                    }
                }
                (_, _, Some(members)) => {
                    if let Some(member) = members.last_mut() {
                        member.push(character.encode_utf8(&mut [0; 4]), *quoted);
                    }
                }
                (_, _, None) => {
                    for result in &mut results {
                        result.push(character.encode_utf8(&mut [0; 4]), *quoted);
                    }
                }
            }
        }
    }
    if group.is_some() {
        return into.push(several());
    }
    into.extend(results.iter().map(|word| Arg { from_braces: true, ..argument(&word.0) }));
}

/// The members of a sequence such as `a..c`.
fn sequence(word: &Word) -> Option<Vec<Word>> {
    let members = brace_sequences::members(word.bare()?)?;
    let word = |text: &String| {
        let mut word = Word::default();
        word.push(text, false);
        word
    };
    Some(members.iter().map(word).collect())
}

fn join(left: &[Word], members: &[Word]) -> Option<Vec<Word>> {
    if left.len() * members.len() > MAX_BRACES {
        return None;
    }
    let pair = |start: &Word, end: &Word| Word(start.0.iter().chain(&end.0).cloned().collect());
    Some(left.iter().flat_map(|start| members.iter().map(move |end| pair(start, end))).collect())
}

#[cfg(test)]
mod tests {
    use super::{Arg, ArgKind, CommandKind, arguments};
    use crate::shell::ast::Simple;
    use crate::shell::parse;

    fn args(source: &str) -> Vec<Arg> {
        let script = parse(&format!("x {source}")).expect("parses");
        let CommandKind::Simple(Simple { words, .. }) = &script.list.0[0].first.commands[0].kind else {
            panic!("not a simple command")
        };
        let mut args = Vec::new();
        words[1..].iter().for_each(|word| arguments(word, &mut args));
        args
    }

    #[test]
    fn words_become_arguments_of_the_expected_kind() {
        for (source, text, kind) in [
            ("a'b'\"c\"\\d", "abcd", ArgKind::Plain),
            ("''", "", ArgKind::Plain),
            ("'*'", "*", ArgKind::Plain),
            ("HEAD@{1}", "HEAD@{1}", ArgKind::Plain),
            ("{}", "{}", ArgKind::Plain),
            ("a*.js", "a*.js", ArgKind::Glob),
            ("~/x", "~", ArgKind::Unknown),
            ("\"$x\"", "", ArgKind::Unknown),
            ("a\"$x\"b", "a", ArgKind::Unknown),
            ("a$x", "a", ArgKind::Several),
            ("\"$@\"", "", ArgKind::Several),
            ("\"${a[@]}\"", "", ArgKind::Several),
            ("$((1))", "", ArgKind::Unknown),
            ("-j$(nproc)", "-j1", ArgKind::Plain),
            ("-j$(nproc x)", "-j", ArgKind::Several),
            ("{1..300}", "", ArgKind::Several),
            ("{a,{b,c}}", "", ArgKind::Several),
            ("{a,$x}", "", ArgKind::Several),
        ] {
            let args = args(source);
            assert_eq!(args.len(), 1, "{source}");
            assert_eq!((args[0].text.as_str(), args[0].kind), (text, kind), "{source}");
        }
    }

    #[test]
    fn simple_braces_are_expanded() {
        let texts = |source: &str| args(source).into_iter().map(|arg| arg.text).collect::<Vec<_>>();
        assert_eq!(texts("s/{a,b}{,x}"), ["s/a", "s/ax", "s/b", "s/bx"]);
        assert_eq!(texts("'{a,b}'"), ["{a,b}"]);
        assert_eq!(texts("pus{h..h} {1..3}"), ["push", "1", "2", "3"]);
        assert!(args("{a,b}").iter().all(|arg| arg.from_braces));
    }

    #[test]
    fn unknown_arguments_may_be_options() {
        for (source, may) in [("a", false), ("-a", true), ("\"$x\"", true), ("a\"$x\"", false), ("a$x", true)]
        {
            assert_eq!(args(source)[0].may_be_option(), may, "{source}");
        }
    }
}
