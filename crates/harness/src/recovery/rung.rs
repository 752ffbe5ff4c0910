//! A step of the ladder of models.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A backend and a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rung {
    pub backend: String,
    /// `None` is the backend's own.
    pub model: Option<String>,
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            Some(model) => write!(f, "{}/{model}", self.backend),
            None => f.write_str(&self.backend),
        }
    }
}
