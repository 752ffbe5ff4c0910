//! What is known of a word before the shell expands it.

use crate::shell::ast::{Operation, Part, Word};

/// The most arguments that one brace expansion may become before it counts as unknown.
const MAX_BRACES: usize = 64;

/// An argument as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    /// The whole text, or what is known of its beginning if it is [`Kind::Unknown`].
    pub text: String,
    /// How much is known.
    pub kind: Kind,
    /// Whether it is one of several that a brace expansion became.
    pub from_braces: bool,
}

/// How much of an argument is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All of it.
    Plain,
    /// It is a file name pattern.
    Glob,
    /// Only its beginning; it is one argument.
    Unknown,
    /// Only the beginning; it may become several arguments, or none.
    Several,
}

impl Arg {
    /// An argument of some kind.
    pub fn new(text: impl Into<String>, kind: Kind) -> Self {
        Self { text: text.into(), kind, from_braces: false }
    }

    /// A known argument.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Kind::Plain)
    }

    /// An argument of which nothing is known.
    pub fn unknown() -> Self {
        Self::new("", Kind::Unknown)
    }

    /// The text, if it is known.
    pub fn literal(&self) -> Option<&str> {
        (self.kind == Kind::Plain).then_some(self.text.as_str())
    }

    /// Whether it may turn out to be an option.
    pub fn may_be_option(&self) -> bool {
        match self.kind {
            Kind::Plain | Kind::Glob => self.text.starts_with('-'),
            Kind::Unknown => self.text.is_empty() || self.text.starts_with('-'),
            Kind::Several => true,
        }
    }

    /// Whether it is known, or at least one argument that cannot be an option.
    pub fn is_operand(&self) -> bool {
        !self.may_be_option()
    }
}

/// Adds the arguments that a word becomes.
pub fn arguments(word: &Word, into: &mut Vec<Arg>) {
    if word.0.iter().filter_map(Part::unquoted_text).any(|text| text.contains('{')) && has_braces(word) {
        return braces(word, into);
    }
    into.push(argument(&word.0));
}

/// The only argument a word becomes, if it is known.
pub fn literal(word: &Word) -> Option<String> {
    let mut arguments_of_word = Vec::new();
    arguments(word, &mut arguments_of_word);
    match arguments_of_word.as_slice() {
        [only] => only.literal().map(str::to_owned),
        _ => None,
    }
}

/// A word's text for recognising places, with `$HOME` as `~` and `\u{fffd}` for what is not known.
pub fn sketch(word: &Word) -> String {
    let mut sketch = String::new();
    for part in &word.0 {
        match part {
            Part::Text { text, .. } => sketch.push_str(text),
            Part::Parameter { parameter, .. }
                if parameter.name == "HOME" && parameter.operation == Operation::Value =>
            {
                sketch.push('~');
            }
            Part::Parameter { .. } | Part::Command { .. } | Part::Arithmetic { .. } | Part::Process(_) => {
                sketch.push('\u{fffd}');
            }
        }
    }
    sketch
}

fn argument(parts: &[Part]) -> Arg {
    let mut text = String::new();
    let mut kind = Kind::Plain;
    for part in parts {
        match part {
            Part::Text { text: more, quoted } => {
                if !quoted && text.is_empty() && more.starts_with('~') {
                    return Arg::new("~", Kind::Unknown);
                }
                if !quoted && is_pattern(more) && kind == Kind::Plain {
                    kind = Kind::Glob;
                }
                if matches!(kind, Kind::Plain | Kind::Glob) {
                    text.push_str(more);
                }
            }
            Part::Parameter { parameter, quoted } => kind = unknown(kind, *quoted && !parameter.spread),
            Part::Command { quoted, .. } => kind = unknown(kind, *quoted),
            Part::Arithmetic { .. } => kind = unknown(kind, true),
            Part::Process(_) => {
                text.push_str("<(");
                kind = unknown(kind, true);
            }
        }
    }
    Arg::new(text, kind)
}

fn unknown(so_far: Kind, is_one: bool) -> Kind {
    match so_far {
        Kind::Plain | Kind::Unknown if is_one => Kind::Unknown,
        Kind::Plain | Kind::Glob | Kind::Unknown | Kind::Several => Kind::Several,
    }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?']) || text.find('[').is_some_and(|open| text[open..].contains(']'))
}

/// Whether there is a `{…}` with a comma or `..` in it, none of the three quoted.
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

/// Expands `a{b,c}d` where that is simple: no nesting, no expansions; anything else becomes unknown.
fn braces(word: &Word, into: &mut Vec<Arg>) {
    let mut results: Vec<Word> = vec![Word::default()];
    let mut group: Option<Vec<Word>> = None;
    let several = || Arg::new("", Kind::Several);
    for part in &word.0 {
        let Part::Text { text, quoted } = part else { return into.push(several()) };
        for character in text.chars() {
            match (character, *quoted, &mut group) {
                ('{', false, None) => group = Some(vec![Word::default()]),
                ('{', false, Some(_)) | ('}', false, None) => return into.push(several()),
                (',', false, Some(members)) => members.push(Word::default()),
                ('}', false, Some(members)) => {
                    let joined = join(&results, members);
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

fn join(left: &[Word], members: &[Word]) -> Option<Vec<Word>> {
    if members.len() < 2 || left.len() * members.len() > MAX_BRACES {
        return None;
    }
    let pair = |start: &Word, end: &Word| Word(start.0.iter().chain(&end.0).cloned().collect());
    Some(left.iter().flat_map(|start| members.iter().map(move |end| pair(start, end))).collect())
}

#[cfg(test)]
mod tests {
    use super::{Arg, Kind, arguments};
    use crate::shell::ast::{CommandKind, Simple};
    use crate::shell::parse;

    fn args(source: &str) -> Vec<Arg> {
        let script = parse(&format!("x {source}")).expect("understood");
        let CommandKind::Simple(Simple { words, .. }) = &script.list.0[0].first.commands[0].kind else {
            panic!("a simple command")
        };
        let mut args = Vec::new();
        words[1..].iter().for_each(|word| arguments(word, &mut args));
        args
    }

    #[test]
    fn what_is_known_of_a_word() {
        for (source, text, kind) in [
            ("a'b'\"c\"\\d", "abcd", Kind::Plain),
            ("''", "", Kind::Plain),
            ("'*'", "*", Kind::Plain),
            ("HEAD@{1}", "HEAD@{1}", Kind::Plain),
            ("{}", "{}", Kind::Plain),
            ("a*.js", "a*.js", Kind::Glob),
            ("~/x", "~", Kind::Unknown),
            ("\"$x\"", "", Kind::Unknown),
            ("a\"$x\"b", "a", Kind::Unknown),
            ("a$x", "a", Kind::Several),
            ("\"$@\"", "", Kind::Several),
            ("\"${a[@]}\"", "", Kind::Several),
            ("$((1))", "", Kind::Unknown),
            ("{1..3}", "", Kind::Several),
            ("{a,{b,c}}", "", Kind::Several),
            ("{a,$x}", "", Kind::Several),
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
        assert!(args("{a,b}").iter().all(|arg| arg.from_braces));
    }

    #[test]
    fn what_may_be_an_option() {
        for (source, may) in [("a", false), ("-a", true), ("\"$x\"", true), ("a\"$x\"", false), ("a$x", true)]
        {
            assert_eq!(args(source)[0].may_be_option(), may, "{source}");
        }
    }
}
