//! The name of a branch on which commits are to land, as a person types it.

use thiserror::Error;

const PREFIX: &str = "refs/heads/";

/// Beginnings of the names of branches on which runs leave commits. A branch `autonoe` would be in their way.
const OWN: &str = "autonoe";

/// Why a name is refused, and what would work.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BranchNameError {
    #[error("say {0}, without {PREFIX}")]
    FullName(String),
    #[error("it is not under {PREFIX}, so nothing can land there; say a branch such as {0}")]
    OtherRef(String),
    #[error("names that begin with {OWN} are for what runs leave; say another one, such as {0}")]
    Own(String),
    #[error("it is not a branch; leave out --branch to land on the one that you have checked out")]
    Head,
    #[error("git does not accept this name; {0} would work")]
    Malformed(String),
}

/// Accepts the names that `git check-ref-format --branch` accepts, but for rare ones and our own.
pub fn parse_branch_name(text: &str) -> Result<String, BranchNameError> {
    if let Some(name) = text.strip_prefix(PREFIX) {
        return Err(BranchNameError::FullName(similar(name)));
    }
    if text.starts_with("refs/") {
        return Err(BranchNameError::OtherRef(similar(text.rsplit('/').next().unwrap_or_default())));
    }
    if matches!(text, "HEAD" | "@") {
        return Err(BranchNameError::Head);
    }
    if !is_accepted(text) {
        return Err(BranchNameError::Malformed(similar(text)));
    }
    if is_own(text) {
        return Err(BranchNameError::Own(similar(text)));
    }
    Ok(text.to_owned())
}

fn is_accepted(name: &str) -> bool {
    let is_plain = |c: char| !c.is_ascii_control() && !" ~^:?*[\\".contains(c);
    let is_part = |part: &str| {
        !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with('.') && !part.ends_with(".lock")
    };
    name.chars().all(is_plain) && name.split('/').all(is_part) && !name.contains("..") && !name.contains("@{")
}

fn is_own(name: &str) -> bool {
    name.strip_prefix(OWN).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '-']))
}

/// A name that would be accepted, as close to `text` as that is easy.
fn similar(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_/".contains(c);
    let replaced: String = text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let parts = replaced.split('/').map(|part| part.trim_matches('-')).filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.skip_while(|part| *part == OWN).collect();
    match parts.join("/") {
        name if name.is_empty() || name == "HEAD" => "work".to_owned(),
        name if is_own(&name) || parts[0].chars().all(|c| c.is_ascii_digit()) => format!("work/{name}"),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_accepted, is_own, parse_branch_name};

    #[test]
    fn a_name_is_taken_or_another_is_suggested() {
        for name in ["topic", "topic/a", "v1.2", "autonomous", "headless"] {
            assert_eq!(parse_branch_name(name).as_deref(), Ok(name));
        }
        for (text, expected) in [
            ("refs/heads/q", "say q, without"),
            ("refs/heads/autonoe/1", "say work/1,"),
            ("refs/tags/v1", "such as v1"),
            ("autonoe/1", "such as work/1"),
            ("autonoe", "such as work"),
            ("autonoe-2", "such as work/autonoe-2"),
            ("HEAD", "leave out --branch"),
            ("@", "leave out --branch"),
            ("-x", "x would work"),
            ("a b", "a-b would work"),
            ("a..b", "a--b would work"),
            ("a.lock", "a-lock would work"),
            ("a//b", "a/b would work"),
            ("", "work would work"),
            ("a\u{1}", "a would work"),
            ("@{u}", "u would work"),
        ] {
            let refused = parse_branch_name(text).expect_err(text).to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
        for text in ["", "-", "..", "autonoe//", "@{-1}", "refs/heads/", "x y/.z", "~", "autonoe/autonoe-1"] {
            let name = super::similar(text);
            assert!(is_accepted(&name) && !is_own(&name), "{text}: {name}");
        }
    }
}
