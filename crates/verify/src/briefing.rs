//! What a session is told of the checks that will decide about its work.

use std::collections::{BTreeSet, HashSet};

use autonoe_core::check::{Check, Origin};
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::duration::format as format_duration;
use autonoe_core::status::ProjectStatus;
use autonoe_store::CheckBook;

use crate::known::is_of_project;

/// How many checks are named one by one.
const NAMED: usize = 40;

/// The same where deliverables are made from them, which must know them all; a specification with more is the exception.
const NAMED_IN_PLANNING: usize = 400;

/// The text; none when there is nothing to say. Without a status the deliverables are yet to be made.
pub(crate) fn briefing(
    checks: &[Check],
    book: &CheckBook,
    status: Option<&ProjectStatus>,
    complaints: &[String],
) -> Option<String> {
    let Some(status) = status else {
        return Some(for_planning(checks));
    };
    let active: HashSet<&str> = status.active().map(|item| item.id.as_str()).collect();
    let open: HashSet<&str> = status
        .active()
        .filter(|item| item.status != DeliverableStatus::Passed)
        .map(|item| item.id.as_str())
        .collect();
    let is_open = |check: &&Check| {
        check.deliverable.as_deref().is_some_and(|id| open.contains(id)) || is_of_project(check, &active)
    };
    let open: Vec<&Check> = checks.iter().filter(is_open).collect();
    if open.is_empty() && complaints.is_empty() {
        return None;
    }
    let mut text = "## Checks\n\nThese decide, not your word: Autonoe runs them itself on a clean checkout of what is committed, \
                    when you set a status to `passed` and once more in the end. So commit first. A call that is refused says what \
                    did not pass.\n"
        .to_owned();
    for check in open.iter().take(NAMED) {
        text.push_str(&format!("- {}\n", described(check)));
    }
    if open.len() > NAMED {
        text.push_str(&format!("- and {} more\n", open.len() - NAMED));
    }
    if !book.files.is_empty() {
        let files: Vec<&str> = book.files.keys().take(NAMED).map(String::as_str).collect();
        text.push_str(&format!(
            "\nThese files belong to the checks and cannot be changed: {}.\n",
            files.join(", ")
        ));
    }
    for complaint in complaints {
        text.push_str(&format!("\nThe project as a whole does not pass: {complaint}\n"));
    }
    Some(text)
}

fn for_planning(checks: &[Check]) -> String {
    let mut text = "## Checks\n\nWhat an agent says is only claimed; what a check has shown is verified. Give each deliverable \
                    `checks` in `mcp__autonoe__create` where a command can decide: it must fail now and pass once the deliverable is \
                    there, and run on a clean checkout, without the network. Say with `criteria` which acceptance criteria it covers, \
                    with `protect` which files it judges by: write those now, in this session, for later nobody can change them.\n"
        .to_owned();
    let (free, assigned): (Vec<&Check>, Vec<&Check>) = checks
        .iter()
        .filter(|check| check.origin == Origin::Spec)
        .partition(|check| check.deliverable.is_none());
    if !free.is_empty() {
        text.push_str("\nSPEC.md holds these checks. Name each in the `checks` of the deliverable that it belongs to, as `{\"spec\": \"NAME\"}`:\n");
    }
    for check in free.iter().take(NAMED_IN_PLANNING) {
        text.push_str(&format!("- {}\n", described(check)));
    }
    if free.len() > NAMED_IN_PLANNING {
        text.push_str(&format!("- and {} more, which you find in SPEC.md\n", free.len() - NAMED_IN_PLANNING));
    }
    let ids: BTreeSet<&str> = assigned.iter().filter_map(|check| check.deliverable.as_deref()).collect();
    if !ids.is_empty() {
        let named: Vec<&str> = ids.iter().copied().take(NAMED_IN_PLANNING).collect();
        let more = match ids.len().saturating_sub(NAMED_IN_PLANNING) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text.push_str(&format!(
            "\nIts other checks name the deliverables that they belong to; use these ids: {}{more}.\n",
            named.join(", ")
        ));
    }
    text
}

/// A check in a line.
fn described(check: &Check) -> String {
    let owner = check.deliverable.as_ref().map_or_else(|| "the project".to_owned(), |id| format!("`{id}`"));
    let mut text = format!("{owner}: check `{}` runs `{}`", check.name, check.command);
    if check.exit != 0 {
        text.push_str(&format!(", which must exit with {}", check.exit));
    }
    if !check.output.is_empty() {
        let output: Vec<String> = check.output.iter().map(|line| format!("`{line}`")).collect();
        let only = if check.exact { "exactly " } else { "" };
        text.push_str(&format!(", which must print {only}{}", output.join(", then ")));
    }
    text.push_str(&format!(" (within {})", format_duration(check.time_limit)));
    text
}
