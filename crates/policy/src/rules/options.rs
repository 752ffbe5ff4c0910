//! Reading a command's options: only those a rule knows, in full, so that nothing hides in a cluster or an
//! abbreviation.

use crate::verdict::Denial;
use crate::words::{Arg, Kind};

/// The options of a command.
pub struct Syntax {
    /// Letters without a value.
    pub flags: &'static str,
    /// Letters with a value.
    pub valued: &'static str,
    /// Words without a value, or with one after `=` that does no harm.
    pub long: &'static [&'static str],
    /// Words with a value, after `=` or in the next argument.
    pub long_valued: &'static [&'static str],
}

/// A command's arguments, sorted.
#[derive(Debug, Default)]
pub struct Parsed<'c> {
    /// What is not an option.
    pub operands: Vec<&'c Arg>,
    /// Options that are there, by letter or word, with their values.
    pub options: Vec<(String, Option<Arg>)>,
}

impl Parsed<'_> {
    /// Whether an option is there.
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(option, _)| option == name)
    }

    /// The value of an option.
    pub fn value(&self, name: &str) -> Option<&Arg> {
        self.options.iter().rev().find(|(option, _)| option == name).and_then(|(_, value)| value.as_ref())
    }
}

/// Sorts all arguments; operands and options may be mixed.
pub fn parse<'c>(rule: &'static str, syntax: &Syntax, args: &'c [Arg]) -> Result<Parsed<'c>, Denial> {
    let mut parsed = Parsed::default();
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if arg.literal() == Some("--") {
            parsed.operands.extend(rest);
            break;
        }
        if arg.is_operand() || arg.literal() == Some("-") {
            parsed.operands.push(arg);
        } else {
            rest = option(rule, syntax, arg, rest, &mut parsed)?;
        }
    }
    Ok(parsed)
}

/// Sorts the options before the first operand; the operands start there.
pub fn parse_leading<'c>(
    rule: &'static str,
    syntax: &Syntax,
    args: &'c [Arg],
) -> Result<(Parsed<'c>, &'c [Arg]), Denial> {
    let mut parsed = Parsed::default();
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        if arg.literal() == Some("--") {
            return Ok((parsed, after));
        }
        if arg.is_operand() {
            break;
        }
        rest = option(rule, syntax, arg, after, &mut parsed)?;
    }
    Ok((parsed, rest))
}

fn option<'c>(
    rule: &'static str,
    syntax: &Syntax,
    arg: &Arg,
    rest: &'c [Arg],
    parsed: &mut Parsed<'_>,
) -> Result<&'c [Arg], Denial> {
    if let Some(long) = arg.text.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(Arg::new(value, arg.kind))),
            None => (long, None),
        };
        // Of `--name=$x` the name is known; of `--na$x` it is not.
        let known = arg.kind == Kind::Plain || (arg.kind == Kind::Unknown && value.is_some());
        if known && syntax.long.contains(&name) {
            parsed.options.push((name.to_owned(), value));
            return Ok(rest);
        }
        if known && syntax.long_valued.contains(&name) {
            let (value, rest) = match value {
                Some(value) => (value, rest),
                None => next_value(rule, &arg.text, rest)?,
            };
            parsed.options.push((name.to_owned(), Some(value)));
            return Ok(rest);
        }
        return Err(refused(rule, arg));
    }
    if arg.kind != Kind::Plain {
        return Err(refused(rule, arg));
    }
    for (at, letter) in arg.text[1..].char_indices() {
        if syntax.flags.contains(letter) {
            parsed.options.push((letter.to_string(), None));
        } else if syntax.valued.contains(letter) {
            let attached = &arg.text[1 + at + letter.len_utf8()..];
            let (value, rest) = if attached.is_empty() {
                next_value(rule, &arg.text, rest)?
            } else {
                (Arg::plain(attached), rest)
            };
            parsed.options.push((letter.to_string(), Some(value)));
            return Ok(rest);
        } else {
            return Err(refused(rule, arg));
        }
    }
    Ok(rest)
}

fn next_value<'c>(rule: &'static str, option: &str, rest: &'c [Arg]) -> Result<(Arg, &'c [Arg]), Denial> {
    match rest.split_first() {
        Some((value, rest)) if value.kind != Kind::Several => Ok((value.clone(), rest)),
        _ => Err(Denial::new(rule, format!("The option {option} needs a value that is one argument."))),
    }
}

fn refused(rule: &'static str, arg: &Arg) -> Denial {
    if arg.kind == Kind::Plain {
        Denial::new(rule, format!("The option '{}' is not allowed here.", arg.text))
            .instead("Leave the option out.")
    } else {
        Denial::new(rule, "An argument that is not known before it runs could be an option.")
            .instead("Write it out, or put it in double quotes after '--'.")
    }
}

/// Whether an argument names one of these options: in full, abbreviated, with a value, or in a cluster of letters.
pub fn names_one_of(arg: &Arg, options: &[&str]) -> bool {
    let Some(text) = arg.text.strip_prefix('-') else { return false };
    let given = text.strip_prefix('-').unwrap_or(text).split('=').next().unwrap_or_default();
    options.iter().any(|option| match option.strip_prefix("--") {
        Some(long) => {
            !given.is_empty() && (long == given || (text.starts_with('-') && long.starts_with(given)))
        }
        None => {
            let option = option.trim_start_matches('-');
            given == option || (option.len() == 1 && !text.starts_with('-') && text.contains(option))
        }
    })
}
