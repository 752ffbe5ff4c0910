//! The values that variables may have at one point of a script. Where two ways through a script meet, a variable may
//! have the values of both, so that none of them hides what another one would do.

use std::collections::HashMap;
use std::rc::Rc;

use crate::words::UNKNOWN_PART;

/// Stands for more values than are listed.
pub const TOO_MANY: char = '\u{fffc}';
/// The most values of one variable that are listed.
const MAX_POSSIBLE: usize = 256;
/// The most variables of one command.
const MAX_VARIABLES: usize = 512;

/// One value that a variable may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// The script has not set it.
    Unset,
    /// The elements of an array, or the text of another variable. [`UNKNOWN_PART`] stands for what is not known.
    Words(Rc<Vec<String>>),
}

impl Value {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Words(Rc::new(vec![text.into()]))
    }

    pub fn words(words: Vec<String>) -> Self {
        Self::Words(Rc::new(words))
    }

    pub fn unknown() -> Self {
        Self::text(UNKNOWN_PART)
    }

    pub fn elements(&self) -> &[String] {
        match self {
            Self::Unset => &[],
            Self::Words(words) => words,
        }
    }
}

/// The variables at one point. A copy costs nothing until it is changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Variables(Rc<HashMap<Rc<str>, Rc<Vec<Value>>>>);

impl Variables {
    /// The values that a variable may have; at least one.
    pub fn possible(&self, name: &str) -> Rc<Vec<Value>> {
        self.0.get(name).cloned().unwrap_or_else(|| Rc::new(vec![Value::Unset]))
    }

    /// The texts that a variable may have, as far as they are known.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.possible(name).iter().filter_map(|value| value.elements().first().cloned()).collect()
    }

    pub fn set(&mut self, name: &str, values: Vec<Value>) {
        let values = if values.len() > MAX_POSSIBLE { vec![Value::text(TOO_MANY)] } else { values };
        Rc::make_mut(&mut self.0).insert(name.into(), Rc::new(values));
    }

    /// Gives a variable back the values that it had before.
    pub fn restore(&mut self, name: &str, before: &Self) {
        let values = before.0.get(name).cloned();
        let variables = Rc::make_mut(&mut self.0);
        match values {
            Some(values) => variables.insert(name.into(), values),
            None => variables.remove(name),
        };
    }

    /// The names with this beginning.
    pub fn names_with(&self, start: &str) -> Vec<Rc<str>> {
        self.0.keys().filter(|name| name.starts_with(start)).cloned().collect()
    }

    /// Adds the values that the variables have on another way to the same point.
    pub fn join(&mut self, other: &Self) {
        if Rc::ptr_eq(&self.0, &other.0) {
            return;
        }
        let is_same = |name: &&Rc<str>| match (self.0.get(*name), other.0.get(*name)) {
            (Some(left), Some(right)) => Rc::ptr_eq(left, right) || left == right,
            _ => false,
        };
        let missing = self.0.keys().filter(|name| !other.0.contains_key(*name));
        let names: Vec<Rc<str>> =
            other.0.keys().filter(|name| !is_same(name)).chain(missing).cloned().collect();
        for name in names {
            let (left, right) = (self.possible(&name), other.possible(&name));
            let added: Vec<Value> = right.iter().filter(|value| !left.contains(value)).cloned().collect();
            if !added.is_empty() {
                self.set(&name, left.iter().cloned().chain(added).collect());
            }
        }
    }

    /// Whether there are more variables than are followed.
    pub fn are_too_many(&self) -> bool {
        self.0.len() > MAX_VARIABLES
    }
}
