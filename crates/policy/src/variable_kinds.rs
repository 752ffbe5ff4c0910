//! What the variables and expansions of a script may contain.

use std::collections::HashMap;

use crate::shell::ast::{Operation, Parameter, Script, ValueKind};

/// Variables that the shell sets to text from outside the script.
const EXTERNAL_VALUES: [&str; 8] =
    ["PWD", "OLDPWD", "_", "REPLY", "OPTARG", "MAPFILE", "DIRSTACK", "PIPESTATUS"];

/// The variables that a script sets, collected when they are first needed.
#[derive(Clone)]
pub struct VariableKinds<'a> {
    script: &'a Script,
    kinds: Option<HashMap<&'a str, ValueKind>>,
}

impl<'a> VariableKinds<'a> {
    pub fn of(script: &'a Script) -> Self {
        Self { script, kinds: None }
    }

    /// What an expansion may produce.
    pub fn expansion_kind(&mut self, parameter: &Parameter) -> ValueKind {
        match parameter.operation {
            Operation::Length => ValueKind::Number,
            Operation::Value if parameter.spread => ValueKind::Arbitrary,
            Operation::Value => match parameter.name.as_str() {
                "?" | "#" | "!" | "$" => ValueKind::Number,
                name => self.variable_kind(name),
            },
            Operation::Assign
            | Operation::Default
            | Operation::Alternate
            | Operation::RemovePrefix
            | Operation::RemoveSuffix
            | Operation::Replace
            | Operation::ChangeCase
            | Operation::Other => ValueKind::Arbitrary,
        }
    }

    /// What an expansion produces if the script itself sets the variable; `None` if it may come from elsewhere.
    pub fn known_kind(&mut self, parameter: &Parameter) -> Option<ValueKind> {
        match (parameter.operation, parameter.name.as_str()) {
            (Operation::Length, _) | (Operation::Value, "?" | "#" | "$") => Some(ValueKind::Number),
            (Operation::Value, "!") => Some(ValueKind::OwnProcess),
            (Operation::Value, name) => self.kinds().get(name).copied(),
            (
                Operation::Assign
                | Operation::Default
                | Operation::Alternate
                | Operation::RemovePrefix
                | Operation::RemoveSuffix
                | Operation::Replace
                | Operation::ChangeCase
                | Operation::Other,
                _,
            ) => None,
        }
    }

    /// What a variable may contain. A variable that this command does not set comes from the environment, which we
    /// build.
    pub fn variable_kind(&mut self, name: &str) -> ValueKind {
        let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !named || EXTERNAL_VALUES.contains(&name) || name.starts_with("BASH") {
            return ValueKind::Arbitrary;
        }
        self.kinds().get(name).copied().unwrap_or(ValueKind::Number)
    }

    fn kinds(&mut self) -> &HashMap<&'a str, ValueKind> {
        let script = self.script;
        self.kinds.get_or_insert_with(|| {
            let mut kinds: HashMap<&'a str, ValueKind> = HashMap::new();
            for (name, kind) in &script.variables {
                let widest = kinds.entry(name.as_str()).or_insert(*kind);
                *widest = (*widest).max(*kind);
            }
            kinds
        })
    }
}
