//! `[`, `test` and `kill`: what their words may become, which decides more than their text.

use super::assignments::judge_plain_name;
use crate::shell::ast::{Content, Part, Word};
use crate::verdict::{Ruling, deny_but};
use crate::walk::Walker;
use crate::words::literal;

/// `kill`: only `$!` and variables that hold numbers.
pub fn judge_kill_words<'a>(walker: &mut Walker<'a>, words: &'a [Word]) -> Ruling {
    for part in words.iter().flat_map(|word| &word.0) {
        let known = match part {
            Part::Text { .. } => true,
            Part::Parameter { parameter, .. } => {
                !matches!(parameter.name.as_str(), "$" | "?" | "#")
                    && walker.content_of(parameter) == Content::Number
            }
            Part::Command { .. } | Part::Arithmetic { .. } | Part::Process(_) => false,
        };
        if !known {
            return deny_but(
                "builtin.kill",
                "Which process it would end is not known.",
                "kill $! or kill %1",
            );
        }
    }
    Ok(())
}

/// `[ … ]`: nothing unknown may become `-v name[…]`, which evaluates the subscript.
pub fn judge_test_words<'a>(walker: &mut Walker<'a>, words: &'a [Word]) -> Ruling {
    let texts: Vec<Option<String>> = words.iter().map(literal).collect();
    for (at, word) in words.iter().enumerate() {
        if matches!(texts[at].as_deref(), Some("-v" | "-R")) {
            match words.get(at + 1) {
                Some(name) => judge_plain_name(name)?,
                None => return unknown_test(),
            }
        }
        if !word.0.iter().all(|part| is_one_word(walker, part)) {
            return unknown_test();
        }
        let before = at.checked_sub(1).and_then(|before| texts[before].as_deref());
        let after = texts.get(at + 1).map_or(Some("]"), Option::as_deref);
        if texts[at].is_none() && !is_operand_between(before, after) {
            return unknown_test();
        }
    }
    Ok(())
}

/// Whether an expansion stays one word that `[` takes for an operand or a number.
fn is_one_word<'a>(walker: &mut Walker<'a>, part: &'a Part) -> bool {
    match part {
        Part::Text { .. } | Part::Process(_) | Part::Arithmetic { .. } => true,
        Part::Parameter { quoted: true, parameter } => !parameter.spread,
        Part::Parameter { parameter, .. } => walker.content_of(parameter) <= Content::Tame,
        Part::Command { quoted, .. } => *quoted || crate::shell::is_number(part),
    }
}

/// Whether what stands between these cannot be an operator.
fn is_operand_between(before: Option<&str>, after: Option<&str>) -> bool {
    const BINARY: [&str; 15] =
        ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "=~"];
    let is_unary = |text: &str| text.len() == 2 && text.starts_with('-') && !"vRao".contains(&text[1..]);
    let ends = matches!(after, Some("]" | "-a" | "-o" | ")"));
    match before {
        None | Some("!" | "(" | "-a" | "-o") => ends || after.is_some_and(|text| BINARY.contains(&text)),
        Some(text) => is_unary(text) || BINARY.contains(&text),
    }
}

fn unknown_test() -> Ruling {
    deny_but("builtin.test", "What [ would test is not known before it runs.", "Quote it: [ -n \"$x\" ]")
}
