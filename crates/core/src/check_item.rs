//! A check as an item of a list, in SPEC.md and in a roadmap: `` `./calc --version` prints `calc 1.0` within 10s ``.

use std::collections::HashSet;

use crate::check::{Check, CheckOrigin};
use crate::duration::{self, DurationError};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckItemError {
    #[error("expected a command in backquotes after `check:`")]
    UnquotedCommand,
    #[error("expected a text in backquotes after `prints`")]
    UnquotedText,
    #[error("expected an exit code from 0 to 255 after `exits`")]
    ExitCode,
    #[error("unknown word '{0}' in a check; expected prints, exits, within or for")]
    Word(String),
    #[error("'{0}' is there twice; a check has only one")]
    Twice(String),
    #[error("the time limit of the check is zero")]
    TimeLimit,
    #[error(transparent)]
    Duration(#[from] DurationError),
}

/// `` `COMMAND` [prints `TEXT`] [exits CODE] [within TIME] [for ID] ``.
pub fn parse(item: &str, origin: CheckOrigin) -> Result<Check, CheckItemError> {
    let (command, mut rest) = quoted(item).ok_or(CheckItemError::UnquotedCommand)?;
    let mut check = Check::of_command(command, origin);
    let mut seen = HashSet::new();
    loop {
        rest = rest.trim_start_matches([' ', ',', ';', '.']).trim_start_matches("and ");
        if rest.is_empty() {
            return Ok(check);
        }
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "prints" => {
                let (text, after) = quoted(after).ok_or(CheckItemError::UnquotedText)?;
                check.output.push(text.to_owned());
                rest = after;
                continue;
            }
            "exits" | "within" | "for" if seen.insert(word) => {}
            "exits" | "within" | "for" => return Err(CheckItemError::Twice(word.to_owned())),
            other => return Err(CheckItemError::Word(other.to_owned())),
        }
        let after = if word == "exits" { after.strip_prefix("with ").unwrap_or(after) } else { after };
        let (value, after) = after.split_once(' ').unwrap_or((after, ""));
        let value = value.trim_end_matches(['.', ',', ';']).trim_matches('`');
        match word {
            // What a program can exit with.
            "exits" => check.exit = value.parse::<u8>().map_err(|_| CheckItemError::ExitCode)?.into(),
            "within" => {
                check.time_limit = duration::parse(value)?;
                if check.time_limit.is_zero() {
                    return Err(CheckItemError::TimeLimit);
                }
            }
            _ => check.deliverable = Some(value.to_owned()),
        }
        rest = after;
    }
}

/// The text between backquotes at the beginning, and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let marks = text.chars().take_while(|c| *c == '`').count();
    let (mark, inside) = text.split_at(marks);
    let end = inside.find(mark).filter(|_| marks > 0)?;
    Some((inside[..end].trim(), &inside[end + marks..])).filter(|(inside, _)| !inside.is_empty())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse;
    use crate::check::CheckOrigin;

    #[test]
    fn an_item_has_a_command_and_what_it_must_do() {
        let item = "`./calc nonsense` prints `what?`, exits with 2 within 10s for CLI-003.";
        let check = parse(item, CheckOrigin::Spec).expect("a check");
        assert_eq!((check.command.as_str(), check.exit), ("./calc nonsense", 2));
        assert_eq!(check.output, ["what?"]);
        assert_eq!(check.time_limit, Duration::from_secs(10));
        assert_eq!(check.deliverable.as_deref(), Some("CLI-003"));
    }

    #[test]
    fn each_error_says_what_was_expected() {
        for (item, words) in [
            ("make test", "a command in backquotes"),
            ("`make` prints 5", "a text in backquotes"),
            ("`make` exits badly", "an exit code"),
            ("`make` exits 256", "an exit code from 0 to 255"),
            ("`make` exits -1", "an exit code"),
            ("`make` shows `5`", "unknown word 'shows'"),
            ("`make` within soon", "'soon' is not a duration"),
            ("`make` within 0s", "the time limit of the check is zero"),
            ("`make` for A, exits 1 and exits 2", "'exits' is there twice"),
            ("`make` for A and for B", "'for' is there twice"),
        ] {
            let error = parse(item, CheckOrigin::Spec).expect_err(item).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
