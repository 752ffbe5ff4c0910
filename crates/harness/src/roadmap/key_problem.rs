//! What can be wrong with a key or its value, in a roadmap or in a fleet file.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    #[error("unknown key '{name}'{}", did_you_mean(.meant))]
    Unknown { name: String, meant: Option<&'static str> },
    #[error("'{key}' is not supported: {advice}")]
    Unsupported { key: &'static str, advice: &'static str },
    #[error("'{0}' has no value")]
    NoValue(&'static str),
    #[error("'{value}' is not a valid {key}; expected {expected}")]
    Value { key: &'static str, value: String, expected: &'static str },
    #[error("'{0}' is not a time; write it like 90s, 30min, 1h or 1h30m")]
    Time(String),
    #[error("'{0}' leads out of the project; write a path below it")]
    PathOutside(String),
    #[error("'{0}' is in a repository of git; write another path")]
    PathInGit(String),
    #[error("unknown backend '{name}'; the backends are {known}")]
    UnknownBackend { name: String, known: String },
}

/// The end of a message about a misspelled name.
pub fn did_you_mean<T: AsRef<str>>(meant: &Option<T>) -> String {
    meant.as_ref().map(|meant| format!("; did you mean '{}'?", meant.as_ref())).unwrap_or_default()
}
