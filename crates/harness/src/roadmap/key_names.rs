//! How keys are spelled, and the keys of other harnesses, in roadmaps and in fleet files.

use super::key_problem::KeyProblem;
use super::values;

/// A key as the tables of keys spell it: `Max-Retries`, `max retries` and `**max_retries**` are `max_retries`.
pub fn plain_key(name: &str) -> String {
    let plain = name.trim().trim_matches(['*', '`']).to_lowercase();
    plain.replace([' ', '-'], "_")
}

/// The problem of a key that is in no table. `known` are those that may have been meant.
pub fn unknown_key(name: &str, known: impl IntoIterator<Item = &'static str>) -> KeyProblem {
    let meant = values::meant(&plain_key(name), known);
    KeyProblem::Unknown { name: values::quoted(name.trim()), meant }
}

/// The keys of other harnesses: each with the values that mean what is done anyway, and what to write instead of all others.
pub struct ForeignKeys(pub &'static [(&'static str, &'static [&'static str], &'static str)]);

impl ForeignKeys {
    /// `plain` is spelled as [`plain_key`] does it.
    pub fn find(&self, plain: &str) -> Option<ForeignKey> {
        let (name, accepted, advice) = *self.0.iter().find(|(known, _, _)| *known == plain)?;
        Some(ForeignKey { name, accepted, advice })
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.0.iter().map(|(name, _, _)| *name)
    }
}

/// A key of another harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignKey {
    pub name: &'static str,
    accepted: &'static [&'static str],
    advice: &'static str,
}

impl ForeignKey {
    /// An error unless the value says what is done anyway.
    pub fn accept(self, value: &str) -> Result<(), KeyProblem> {
        match values::is_one_of(value, self.accepted) {
            true => Ok(()),
            false => Err(KeyProblem::Unsupported { key: self.name, advice: self.advice }),
        }
    }
}
