//! What may be the id of a task or of a harness. Both end the names of branches; that of a harness is also the name of a directory in
//! `.harness/`, beside files of ours.

/// Characters of an id.
const MAX_ID: usize = 64;

/// Names in `.harness/` that are not harnesses.
const RESERVED: [&str; 2] = ["shared", "inbox"];

/// Beginnings of the names of files in `.harness/`.
const RESERVED_BEGINNINGS: [&str; 1] = ["meta_state.db"];

/// Why a text is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdProblem {
    #[error("it is empty")]
    Empty,
    #[error("it has more than {MAX_ID} characters")]
    TooLong,
    #[error("it contains '{}'; use letters, digits, `-`, `_` and `.`", .0.escape_debug())]
    Letter(char),
    #[error("it must begin with a letter or a digit")]
    Beginning,
    #[error("it contains `..`")]
    TwoDots,
    #[error("it ends with a dot")]
    LastDot,
    #[error("it ends with `.lock`")]
    Lock,
    #[error("Autonoe uses this name for files of its own")]
    Reserved,
}

/// Whether this may be the id of a task.
pub fn check_id(text: &str) -> Result<(), IdProblem> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if text.is_empty() {
        Err(IdProblem::Empty)
    } else if let Some(letter) = text.chars().find(|letter| !is_plain(*letter)) {
        Err(IdProblem::Letter(letter))
    } else if text.len() > MAX_ID {
        Err(IdProblem::TooLong)
    } else if !text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        Err(IdProblem::Beginning)
    } else if text.contains("..") {
        Err(IdProblem::TwoDots)
    } else if text.ends_with('.') {
        Err(IdProblem::LastDot)
    } else if text.ends_with(".lock") {
        Err(IdProblem::Lock)
    } else {
        Ok(())
    }
}

/// Whether this may be the id of a harness.
pub fn check_harness_id(text: &str) -> Result<(), IdProblem> {
    check_id(text)?;
    // The roadmap of a task that was given on the command line.
    let is_task_file = text.starts_with("task-") && text.ends_with(".md");
    let is_reserved =
        RESERVED.contains(&text) || RESERVED_BEGINNINGS.iter().any(|name| text.starts_with(name));
    match is_reserved || is_task_file {
        true => Err(IdProblem::Reserved),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{IdProblem, check_harness_id, check_id};

    #[test]
    fn what_is_wrong_with_an_id_is_said() {
        for id in ["a", "A-1", "0", "a_b.c", &"x".repeat(64)] {
            assert_eq!(check_harness_id(id), Ok(()), "{id}");
        }
        for (id, problem) in [
            ("", IdProblem::Empty),
            ("a b", IdProblem::Letter(' ')),
            ("ä", IdProblem::Letter('ä')),
            ("../a", IdProblem::Letter('/')),
            (&"x".repeat(65), IdProblem::TooLong),
            ("-a", IdProblem::Beginning),
            (".git", IdProblem::Beginning),
            ("a..b", IdProblem::TwoDots),
            ("a.", IdProblem::LastDot),
            ("fleet.lock", IdProblem::Lock),
        ] {
            assert_eq!((check_id(id), check_harness_id(id)), (Err(problem), Err(problem)), "{id}");
        }
        for id in ["shared", "inbox", "meta_state.db", "meta_state.db-wal", "task-0a1b2c3d.md"] {
            assert_eq!((check_id(id), check_harness_id(id)), (Ok(()), Err(IdProblem::Reserved)), "{id}");
        }
        assert_eq!(
            IdProblem::Letter('\n').to_string(),
            "it contains '\\n'; use letters, digits, `-`, `_` and `.`"
        );
    }
}
