//! Checks that the user wrote in `.autonoe/checks.json`.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use serde::Deserialize;

use crate::check_limit::{MAX_CHECKS, too_many};
use crate::protect_pattern::{PatternProblem, ProtectPattern};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChecksFile {
    checks: Vec<Check>,
}

/// An absent file contains no checks.
pub fn read_checks_file(path: &Path) -> Result<Vec<Check>, Fault> {
    let text = match read_text(path, DOCUMENT_LIMIT) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(Vec::new()),
        Err(error) => return Err(wrong(path, &error).hint(error.advice())),
    };
    parse(&text).map_err(|error| wrong(path, &error))
}

#[derive(Debug, thiserror::Error)]
enum ChecksFileError {
    #[error("field {}: {}", .0.path(), .0.inner())]
    Json(#[from] serde_path_to_error::Error<serde_json::Error>),
    #[error("there is something after its end, {0}; put all checks into one list")]
    AfterEnd(serde_json::Error),
    #[error("it has {0} checks, and {limit}", limit = too_many())]
    TooMany(usize),
    #[error("two checks have the name '{0}'")]
    SameName(String),
    #[error(transparent)]
    Check(#[from] CheckProblem),
}

/// What is wrong with a check.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckProblem {
    #[error("a check has no name")]
    Name,
    #[error("the check '{0}' has no command")]
    Command(String),
    #[error("the criteria of the check '{0}' are counted from 1")]
    Criteria(String),
    #[error("the time limit of the check '{0}' is zero")]
    TimeLimit(String),
    #[error("the exit code of the check '{0}' must be from 0 to 255")]
    ExitCode(String),
    #[error("the check '{name}' cannot be used: {problem}")]
    Protect { name: String, problem: PatternProblem },
}

fn parse(text: &str) -> Result<Vec<Check>, ChecksFileError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let ChecksFile { mut checks } = serde_path_to_error::deserialize(&mut reader)?;
    reader.end().map_err(ChecksFileError::AfterEnd)?;
    if checks.len() > MAX_CHECKS {
        return Err(ChecksFileError::TooMany(checks.len()));
    }
    let mut names = HashSet::new();
    for check in &mut checks {
        check.origin = CheckOrigin::User;
        find_problem(check)?;
        if !names.insert(check.name.clone()) {
            return Err(ChecksFileError::SameName(check.name.clone()));
        }
    }
    Ok(checks)
}

pub(crate) fn find_problem(check: &Check) -> Result<(), CheckProblem> {
    let Check { name, command, criteria, exit, time_limit, protect, .. } = check;
    if name.trim().is_empty() {
        Err(CheckProblem::Name)
    } else if command.trim().is_empty() {
        Err(CheckProblem::Command(name.clone()))
    } else if criteria.contains(&0) {
        Err(CheckProblem::Criteria(name.clone()))
    } else if time_limit.is_zero() {
        Err(CheckProblem::TimeLimit(name.clone()))
    } else if u8::try_from(*exit).is_err() {
        Err(CheckProblem::ExitCode(name.clone()))
    } else {
        let bad = protect.iter().find_map(|glob| ProtectPattern::parse(glob).err());
        bad.map_or(Ok(()), |problem| Err(CheckProblem::Protect { name: name.clone(), problem }))
    }
}

fn wrong(path: &Path, what: &dyn Display) -> Fault {
    let message = format!("{} cannot be read: {what}.", path.display());
    Fault::permanent(FaultLayer::Config, "checks_file", message)
        .hint("docs/verification.md describes its format.")
}

#[cfg(test)]
mod tests {
    use super::{MAX_CHECKS, parse};
    use autonoe_core::check::CheckOrigin;

    #[test]
    fn a_check_needs_a_name_and_a_command() {
        let text = r#"{ "checks": [{ "name": "adds", "deliverable": "A", "run": "./calc add 2 3", "output": ["5"],
                        "exit": 0, "timeLimit": "30s", "criteria": [1], "protect": ["tests/**"] }] }"#;
        let checks = parse(text).expect("valid checks");
        assert_eq!((checks[0].command.as_str(), checks[0].origin), ("./calc add 2 3", CheckOrigin::User));
        assert_eq!(checks[0].time_limit.as_secs(), 30);
    }

    #[test]
    fn too_many_checks_are_rejected_with_the_limit() {
        let list = |count: usize| {
            let checks: Vec<_> = (0..count).map(|n| format!(r#"{{"name":"n{n}","run":"true"}}"#)).collect();
            format!(r#"{{ "checks": [{}] }}"#, checks.join(","))
        };
        assert_eq!(parse(&list(MAX_CHECKS)).expect("valid checks").len(), MAX_CHECKS);
        let error = parse(&list(400_000)).expect_err("too many").to_string();
        assert!(error.contains("400000 checks") && error.contains("at most 10000"), "{error}");
    }

    #[test]
    fn errors_name_the_problem() {
        for (text, words) in [
            ("[]", "field ."),
            (
                "{ \"checks\": [] }\n{ \"checks\": [] }",
                "after its end, trailing characters at line 2 column 1",
            ),
            (r#"{ "checks": [] } ]"#, "at line 1 column 18"),
            (r#"{ "checks": [], "checks": [] }"#, "duplicate field `checks`"),
            (r#"{ "checks": [{ "run": "x" }] }"#, "checks[0]: missing field `name`"),
            (r#"{ "checks": [{ "name": "a", "run": "x", "exits": 1 }] }"#, "unknown field `exits`"),
            (r#"{ "checks": [{ "name": "a", "run": "x", "timeLimit": "soon" }] }"#, "is not a duration"),
            (r#"{ "checks": [{ "name": "a", "run": "x", "exit": 256 }] }"#, "'a' must be from 0 to 255"),
            (r#"{ "checks": [{ "name": "a", "run": "x", "exit": -1 }] }"#, "'a' must be from 0 to 255"),
            (r#"{ "checks": [{ "name": "a", "run": " " }] }"#, "has no command"),
            (r#"{ "checks": [{ "name": "a", "run": "x", "protect": ["a[" ] }] }"#, "invalid pattern"),
            (
                r#"{ "checks": [{ "name": "a", "run": "x" }, { "name": "a", "run": "y" }] }"#,
                "two checks have the name",
            ),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
