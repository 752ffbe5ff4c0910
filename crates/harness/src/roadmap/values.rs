//! The values of keys and constraints.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use autonoe_core::nearest::nearest;

use super::TaskId;
use super::key_problem::KeyProblem;

/// The longest time that a task may be given.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// Attempts and sessions that may be asked for.
const MOST: u32 = 1_000_000;

/// Characters of a wrong value that are quoted.
const QUOTED: usize = 80;

/// Every way to write that something is so, or is not.
pub const YES: &[&str] = &["true", "yes", "1"];
pub const NO: &[&str] = &["false", "no", "0"];

/// A wrong value as a message quotes it.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The name that was most likely meant. Names are short, and comparing takes time.
pub fn meant<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() <= QUOTED { nearest(given, names) } else { None }
}

pub fn wrong_value(key: &'static str, text: &str, expected: &'static str) -> KeyProblem {
    KeyProblem::Value { key, value: quoted(text), expected }
}

pub(super) fn is_one_of(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// `true`, `yes`, `1` and their opposites.
pub fn flag(key: &'static str, text: &str) -> Result<bool, KeyProblem> {
    match (is_one_of(text, YES), is_one_of(text, NO)) {
        (true, _) => Ok(true),
        (_, true) => Ok(false),
        (false, false) => Err(wrong_value(key, text, "`true` or `false`")),
    }
}

/// `30min`, `30 minutes`, `1h`, `90s`, `1h 30m`; a bare number is minutes, as roadmaps have always counted.
pub fn time(text: &str) -> Result<Duration, KeyProblem> {
    let wrong = || KeyProblem::Time(quoted(text));
    let mut seconds: u64 = 0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|letter: char| !letter.is_alphabetic()).unwrap_or(rest.len());
        let unit = match rest[..letters].to_lowercase().as_str() {
            "s" | "sec" | "secs" | "second" | "seconds" => 1,
            "" if seconds == 0 && rest.is_empty() => 60,
            "m" | "min" | "mins" | "minute" | "minutes" => 60,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600,
            "d" | "day" | "days" => 86_400,
            _ => return Err(wrong()),
        };
        seconds = number.checked_mul(unit).and_then(|part| part.checked_add(seconds)).ok_or_else(wrong)?;
        rest = rest[letters..].trim_start();
    }
    match Duration::from_secs(seconds) {
        time if time.is_zero() || time > LONGEST => Err(wrong()),
        time => Ok(time),
    }
}

/// A number from `least` on.
pub fn number(key: &'static str, text: &str, least: u32) -> Result<u32, KeyProblem> {
    let expected = if least == 0 { "a number up to 1000000" } else { "a number from 1 to 1000000" };
    let wrong = || wrong_value(key, text, expected);
    text.trim().parse().ok().filter(|number| (least..=MOST).contains(number)).ok_or_else(wrong)
}

/// How often something is tried in all.
pub fn attempts(key: &'static str, text: &str) -> Result<u32, KeyProblem> {
    let wrong = |_| wrong_value(key, text, "a number from 1 to 1000000, which counts all attempts");
    number(key, text, 1).map_err(wrong)
}

/// A number, or `unlimited`.
pub fn iterations(key: &'static str, text: &str) -> Result<Option<u32>, KeyProblem> {
    let expected = "a number from 1 to 1000000, or `unlimited`";
    if text.trim().eq_ignore_ascii_case("unlimited") {
        return Ok(None);
    }
    let wrong = |_| wrong_value(key, text, expected);
    number(key, text, 1).map(Some).map_err(wrong)
}

/// A path below the project, as it is written.
pub fn directory(text: &str) -> Result<PathBuf, KeyProblem> {
    let text = text.trim().trim_matches('`');
    let leads_out = |part: Component<'_>| match part {
        Component::Normal(_) | Component::CurDir => false,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => true,
    };
    let path = Path::new(text);
    let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    match path.components().any(leads_out) || text.starts_with('~') {
        true => Err(KeyProblem::PathOutside(quoted(text))),
        false if path.components().any(is_git) => Err(KeyProblem::PathInGit(quoted(text))),
        false => Ok(path.to_owned()),
    }
}

/// `#12` or `12`.
pub fn issue(text: &str) -> Result<u64, KeyProblem> {
    let number = text.trim().trim_start_matches('#').parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| wrong_value("issue", text, "the number of an issue, such as #12"))
}

/// `a, b`, or `none`.
pub fn ids(key: &'static str, value: &str) -> Result<Vec<TaskId>, KeyProblem> {
    let names = value.split(',').map(|name| name.trim().trim_matches(['`', '*']));
    let mut names = names.filter(|name| !name.is_empty()).peekable();
    if names.peek().is_none() {
        return Err(wrong_value(key, value, "ids with commas between them, or `none`"));
    }
    let mut found: Vec<TaskId> =
        names.filter(|name| !name.eq_ignore_ascii_case("none")).map(TaskId::new).collect();
    let mut seen = std::collections::HashSet::new();
    found.retain(|id| seen.insert(id.clone()));
    Ok(found)
}

/// `codex, gemini`; `auto` leaves it to the run.
pub fn backends(value: &str, known: &[&str]) -> Result<Vec<String>, KeyProblem> {
    let mut found = Vec::new();
    for name in value.split(',').map(|name| name.trim().trim_matches('`').to_lowercase()) {
        if name == "auto" {
            continue;
        }
        if !known.contains(&name.as_str()) {
            let known = match meant(&name, known.iter().copied()) {
                Some(meant) => format!("{}; did you mean '{meant}'?", known.join(", ")),
                None => known.join(", "),
            };
            return Err(KeyProblem::UnknownBackend { name: quoted(&name), known });
        }
        found.push(name);
    }
    Ok(found)
}
