//! `[`, `test`, `kill` and `ps`: judged by what their words may expand to, not only by their text.

use super::assignments::judge_plain_name;
use super::ps;
use crate::shell::ast::{Part, ValueKind, Word};
use crate::variable_kinds::VariableKinds;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::literal;

/// `kill`: only `$!` and variables that the script sets to nothing else. More digits beside it would name another process.
pub fn judge_kill_words(variables: &mut VariableKinds<'_>, words: &[Word]) -> RuleResult {
    for word in words {
        // Quotes leave an empty text.
        let parts = word.0.iter().filter(|part| !matches!(part, Part::Text { text, .. } if text.is_empty()));
        let is_known = match parts.collect::<Vec<_>>().as_slice() {
            [Part::Parameter { parameter, .. }] => {
                variables.known_kind(parameter) == Some(ValueKind::OwnProcess)
            }
            parts => parts.iter().all(|part| matches!(part, Part::Text { .. })),
        };
        if !is_known {
            return deny_with_hint(
                "builtin.kill",
                "The process to end is not known before the command runs.",
                "kill $! or kill %1",
            );
        }
    }
    Ok(())
}

/// `ps`: a word that is not known may be a number, or one word that is the value of an option.
pub fn judge_ps_words(variables: &mut VariableKinds<'_>, words: &[Word]) -> RuleResult {
    let mut is_value = false;
    for word in words {
        let text = literal(word);
        let is_known = word.0.iter().all(|part| match part {
            Part::Text { text: piece, .. } => {
                text.is_some() || piece.bytes().all(|b| b.is_ascii_digit() || b == b',')
            }
            Part::Parameter { quoted: true, parameter } if is_value => !parameter.spread,
            Part::Parameter { parameter, .. } => {
                variables.known_kind(parameter).is_some_and(|kind| kind <= ValueKind::Number)
            }
            Part::Command { quoted, .. } => *quoted && is_value,
            Part::Arithmetic { .. } => true,
            Part::Process(_) => false,
        });
        if !is_known {
            return ps::unknown();
        }
        is_value = text.is_some_and(|text| ps::takes_value(&text));
    }
    Ok(())
}

/// `[ … ]`: an unknown word may not become `-v name[…]`, which evaluates the subscript.
pub fn judge_test_words(variables: &mut VariableKinds<'_>, words: &[Word]) -> RuleResult {
    let texts: Vec<Option<String>> = words.iter().map(literal).collect();
    for (at, word) in words.iter().enumerate() {
        if matches!(texts[at].as_deref(), Some("-v" | "-R")) {
            match words.get(at + 1) {
                Some(name) => judge_plain_name(name)?,
                None => return unknown_test(),
            }
        }
        if !word.0.iter().all(|part| is_one_word(variables, part)) {
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

/// Whether an expansion stays one word, which `[` treats as an operand.
fn is_one_word(variables: &mut VariableKinds<'_>, part: &Part) -> bool {
    match part {
        Part::Text { .. } | Part::Process(_) | Part::Arithmetic { .. } => true,
        Part::Parameter { quoted: true, parameter } => !parameter.spread,
        Part::Parameter { parameter, .. } => variables.expansion_kind(parameter) <= ValueKind::PlainWord,
        Part::Command { quoted, .. } => *quoted || crate::shell::is_number(part),
    }
}

/// Whether a word between these two cannot be an operator.
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

fn unknown_test() -> RuleResult {
    deny_with_hint(
        "builtin.test",
        "The test in [ … ] is not known before the command runs.",
        "Quote it: [ -n \"$x\" ]",
    )
}
