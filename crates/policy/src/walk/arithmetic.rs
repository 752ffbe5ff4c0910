//! Arithmetic: only on variables that hold numbers, since bash evaluates their content, commands in it included.

use std::collections::HashMap;

use super::Walker;
use crate::rules::assignments;
use crate::shell::ast::{Content, Operation, Parameter, Part, Word};
use crate::verdict::{Ruling, deny, deny_but};

/// Variables the shell sets to what somebody else chose.
const SET_BY_OTHERS: [&str; 8] =
    ["PWD", "OLDPWD", "_", "REPLY", "OPTARG", "MAPFILE", "DIRSTACK", "PIPESTATUS"];

impl<'a> Walker<'a> {
    /// An arithmetic expression.
    pub fn arithmetic(&mut self, expression: &'a Word) -> Ruling {
        let mut touches_name = false;
        for part in &expression.0 {
            match part {
                Part::Text { text, .. } => {
                    if touches_name && text.starts_with(is_name_character) {
                        return glued();
                    }
                    touches_name = text.ends_with(is_name_character);
                    text.split(|c| !is_name_character(c)).try_for_each(|name| self.numeric_name(name))?;
                }
                Part::Parameter { .. } | Part::Command { .. } | Part::Arithmetic { .. } => {
                    if touches_name {
                        return glued();
                    }
                    touches_name = true;
                    self.numeric_part(part)?;
                }
                Part::Process(_) => return deny("arithmetic", "A process substitution is not a number."),
            }
        }
        self.parts(expression)
    }

    /// An operand of `[[ … -eq … ]]`, which is arithmetic too.
    pub fn number(&mut self, word: &'a Word) -> Ruling {
        for part in &word.0 {
            match part {
                Part::Text { text, .. } if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') => {}
                Part::Text { text, .. }
                    if word.0.len() == 1 && text.bytes().all(|b| is_name_character(b.into())) =>
                {
                    self.numeric_name(text)?;
                }
                Part::Text { .. } | Part::Process(_) => return not_a_number("what is compared"),
                Part::Parameter { .. } | Part::Command { .. } | Part::Arithmetic { .. } => {
                    self.numeric_part(part)?
                }
            }
        }
        Ok(())
    }

    fn numeric_part(&mut self, part: &'a Part) -> Ruling {
        match part {
            part if crate::shell::is_number(part) => Ok(()),
            Part::Parameter { parameter, .. } if self.content_of(parameter) == Content::Number => Ok(()),
            Part::Parameter { parameter, .. } => not_a_number(&format!("${}", parameter.name)),
            Part::Text { .. } | Part::Command { .. } | Part::Arithmetic { .. } | Part::Process(_) => {
                not_a_number("a command's output")
            }
        }
    }

    fn numeric_name(&mut self, name: &str) -> Ruling {
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(());
        }
        assignments::judge_name(name)?;
        if self.content(name) == Content::Number { Ok(()) } else { not_a_number(name) }
    }

    /// What an expansion may become.
    pub fn content_of(&mut self, parameter: &Parameter) -> Content {
        match parameter.operation {
            Operation::Length => Content::Number,
            Operation::Value if parameter.spread => Content::Wild,
            Operation::Value => match parameter.name.as_str() {
                "?" | "#" | "!" | "$" => Content::Number,
                name => self.content(name),
            },
            Operation::Assign | Operation::Other => Content::Wild,
        }
    }

    /// What a variable may hold. One that is not set in this command comes from the environment, which is ours.
    fn content(&mut self, name: &str) -> Content {
        let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !named || SET_BY_OTHERS.contains(&name) || name.starts_with("BASH") {
            return Content::Wild;
        }
        self.contents().get(name).copied().unwrap_or(Content::Number)
    }

    /// What every variable of the command may hold.
    pub fn contents(&mut self) -> &HashMap<&'a str, Content> {
        let script = self.script;
        self.variables.get_or_insert_with(|| {
            let mut contents: HashMap<&'a str, Content> = HashMap::new();
            for (name, content) in &script.variables {
                let so_far = contents.entry(name.as_str()).or_insert(*content);
                *so_far = (*so_far).max(*content);
            }
            contents
        })
    }
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn glued() -> Ruling {
    deny_but(
        "arithmetic",
        "A name in arithmetic is put together from parts.",
        "Put spaces around the operands.",
    )
}

fn not_a_number(what: &str) -> Ruling {
    deny_but(
        "arithmetic",
        format!("Bash evaluates what arithmetic reads, and {what} may hold more than a number."),
        "Compare with [ \"$x\" -eq 1 ], or use variables that are set to numbers in the same command.",
    )
}
