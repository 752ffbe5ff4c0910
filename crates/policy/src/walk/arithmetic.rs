//! Arithmetic is allowed only on variables that contain numbers, because bash evaluates the content of variables,
//! including command substitutions in it.

use super::Walker;
use crate::rules::assignments;
use crate::shell::ast::{Part, ValueKind, Word};
use crate::verdict::{RuleResult, deny, deny_with_hint};

impl<'a> Walker<'a> {
    pub fn arithmetic(&mut self, expression: &'a Word) -> RuleResult {
        let mut touches_name = false;
        for part in &expression.0 {
            match part {
                Part::Text { text, .. } => {
                    if touches_name && text.starts_with(is_name_character) {
                        return concatenated_name();
                    }
                    touches_name = text.ends_with(is_name_character);
                    text.split(|c| !is_name_character(c)).try_for_each(|name| self.numeric_name(name))?;
                }
                Part::Parameter { .. } | Part::Command { .. } | Part::Arithmetic { .. } => {
                    if touches_name {
                        return concatenated_name();
                    }
                    touches_name = true;
                    self.numeric_part(part)?;
                }
                Part::Process(_) => return deny("arithmetic", "A process substitution is not a number."),
            }
        }
        self.parts(expression)
    }

    /// An operand of `[[ … -eq … ]]`, which bash also evaluates as arithmetic.
    pub fn number(&mut self, word: &'a Word) -> RuleResult {
        for part in &word.0 {
            match part {
                Part::Text { text, .. } if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') => {}
                Part::Text { text, .. }
                    if word.0.len() == 1 && text.bytes().all(|b| is_name_character(b.into())) =>
                {
                    self.numeric_name(text)?;
                }
                Part::Text { .. } | Part::Process(_) => return not_a_number("the operand"),
                Part::Parameter { .. } | Part::Command { .. } | Part::Arithmetic { .. } => {
                    self.numeric_part(part)?
                }
            }
        }
        Ok(())
    }

    fn numeric_part(&mut self, part: &'a Part) -> RuleResult {
        match part {
            part if crate::shell::is_number(part) => Ok(()),
            Part::Parameter { parameter, .. }
                if self.variables.expansion_kind(parameter) <= ValueKind::Number =>
            {
                Ok(())
            }
            Part::Parameter { parameter, .. } => not_a_number(&format!("${}", parameter.name)),
            Part::Text { .. } | Part::Command { .. } | Part::Arithmetic { .. } | Part::Process(_) => {
                not_a_number("a command's output")
            }
        }
    }

    fn numeric_name(&mut self, name: &str) -> RuleResult {
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(());
        }
        assignments::judge_name(name)?;
        if self.variables.variable_kind(name) <= ValueKind::Number { Ok(()) } else { not_a_number(name) }
    }
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn concatenated_name() -> RuleResult {
    deny_with_hint(
        "arithmetic",
        "A variable name in arithmetic is concatenated from several parts.",
        "Put spaces around the operands.",
    )
}

fn not_a_number(what: &str) -> RuleResult {
    deny_with_hint(
        "arithmetic",
        format!(
            "Bash evaluates the operands of arithmetic, and {what} may contain something other than a number."
        ),
        "Compare with [ \"$x\" -eq 1 ], or use variables that the same command sets to numbers.",
    )
}
