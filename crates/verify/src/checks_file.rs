//! Checks that the user wrote in `.autonoe/checks.json`.

use std::collections::HashSet;
use std::path::Path;

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use serde::Deserialize;

use crate::check_limit::{MAX_CHECKS, too_many};

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
        Err(error) => return Err(wrong(path, &error.to_string()).hint(error.advice())),
    };
    parse(&text).map_err(|what| wrong(path, &what))
}

fn parse(text: &str) -> Result<Vec<Check>, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let ChecksFile { mut checks } = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| format!("field {}: {}", error.path(), error.inner()))?;
    if checks.len() > MAX_CHECKS {
        return Err(format!("it has {} checks, and {}", checks.len(), too_many()));
    }
    let mut names = HashSet::new();
    for check in &mut checks {
        check.origin = CheckOrigin::User;
        problem_with(check).map_or(Ok(()), Err)?;
        if !names.insert(check.name.clone()) {
            return Err(format!("two checks have the name '{}'", check.name));
        }
    }
    Ok(checks)
}

/// Describes what is wrong with a check.
pub fn problem_with(check: &Check) -> Option<String> {
    let Check { name, command, criteria, time_limit, protect, .. } = check;
    if name.trim().is_empty() {
        Some("a check has no name".to_owned())
    } else if command.trim().is_empty() {
        Some(format!("the check '{name}' has no command"))
    } else if criteria.contains(&0) {
        Some(format!("the criteria of the check '{name}' are counted from 1"))
    } else if time_limit.is_zero() {
        Some(format!("the time limit of the check '{name}' is zero"))
    } else {
        let bad = protect.iter().find_map(|glob| globset::Glob::new(glob).err());
        bad.map(|error| format!("the check '{name}' has an invalid glob in `protect`: {error}"))
    }
}

fn wrong(path: &Path, what: &str) -> Fault {
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
        assert_eq!(parse(&list(MAX_CHECKS)).map(|checks| checks.len()), Ok(MAX_CHECKS));
        let error = parse(&list(400_000)).expect_err("too many");
        assert!(error.contains("400000 checks") && error.contains("at most 10000"), "{error}");
    }

    #[test]
    fn errors_name_the_problem() {
        for (text, words) in [
            ("[]", "field ."),
            (r#"{ "checks": [{ "run": "x" }] }"#, "checks[0]: missing field `name`"),
            (r#"{ "checks": [{ "name": "a", "run": "x", "exits": 1 }] }"#, "unknown field `exits`"),
            (r#"{ "checks": [{ "name": "a", "run": "x", "timeLimit": "soon" }] }"#, "is not a duration"),
            (r#"{ "checks": [{ "name": "a", "run": " " }] }"#, "has no command"),
            (r#"{ "checks": [{ "name": "a", "run": "x", "protect": ["a[" ] }] }"#, "invalid glob"),
            (
                r#"{ "checks": [{ "name": "a", "run": "x" }, { "name": "a", "run": "y" }] }"#,
                "two checks have the name",
            ),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(words), "{error}");
        }
    }
}
