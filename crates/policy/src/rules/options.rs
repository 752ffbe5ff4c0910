//! Parses a command's options. Only options that a rule lists are accepted, and long ones only in full, so that none
//! can hide in a cluster or an abbreviation.

use crate::verdict::Denial;
use crate::words::{Arg, ArgKind};

/// The options that a rule accepts.
pub struct OptionSyntax {
    /// Short options without a value.
    pub flags: &'static str,
    /// Short options with a value.
    pub valued: &'static str,
    /// Long options without a value, or with a harmless one after `=`.
    pub long: &'static [&'static str],
    /// Long options with a value, after `=` or in the next argument.
    pub long_valued: &'static [&'static str],
}

#[derive(Debug, Default)]
pub struct ParsedArgs<'c> {
    pub operands: Vec<&'c Arg>,
    /// The options, without dashes, and their values.
    pub options: Vec<(String, Option<Arg>)>,
}

impl ParsedArgs<'_> {
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(option, _)| option == name)
    }

    /// The last value of an option.
    pub fn value(&self, name: &str) -> Option<&Arg> {
        self.options.iter().rev().find(|(option, _)| option == name).and_then(|(_, value)| value.as_ref())
    }
}

/// Parses all arguments; operands and options may be mixed.
pub fn parse<'c>(
    rule: &'static str,
    syntax: &OptionSyntax,
    args: &'c [Arg],
) -> Result<ParsedArgs<'c>, Denial> {
    let mut parsed = ParsedArgs::default();
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

/// Parses the options before the first operand and returns the remaining arguments.
pub fn parse_leading<'c>(
    rule: &'static str,
    syntax: &OptionSyntax,
    args: &'c [Arg],
) -> Result<(ParsedArgs<'c>, &'c [Arg]), Denial> {
    let mut parsed = ParsedArgs::default();
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
    syntax: &OptionSyntax,
    arg: &Arg,
    rest: &'c [Arg],
    parsed: &mut ParsedArgs<'_>,
) -> Result<&'c [Arg], Denial> {
    if let Some(long) = arg.text.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(Arg::new(value, arg.kind))),
            None => (long, None),
        };
        // The name is known in `--name=$x`, but not in `--na$x`.
        let known = arg.kind == ArgKind::Plain || (arg.kind == ArgKind::Unknown && value.is_some());
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
    if arg.kind != ArgKind::Plain {
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
        Some((value, rest)) if value.kind != ArgKind::Several => Ok((value.clone(), rest)),
        _ => Err(Denial::new(rule, format!("The option '{option}' requires exactly one value."))),
    }
}

fn refused(rule: &'static str, arg: &Arg) -> Denial {
    if arg.kind == ArgKind::Plain {
        Denial::new(rule, format!("The option '{}' is not allowed here.", arg.text))
            .instead("Leave the option out.")
    } else {
        Denial::new(rule, "An argument that is not known before the command runs could be an option.")
            .instead("Write it literally, or put it in double quotes after '--'.")
    }
}

/// Whether an argument is one of these options: in full, abbreviated, with a value, or in a cluster of short options.
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
