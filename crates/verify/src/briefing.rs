//! Briefing of a session about the checks that will judge its work.

use std::collections::{BTreeSet, HashSet};

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::duration::format as format_duration;
use autonoe_core::file_names::list_names;
use autonoe_core::status::ProjectStatus;
use autonoe_store::CheckRegistry;

use crate::checks::is_of_project;

/// Maximum number of checks listed.
const MAX_LISTED: usize = 40;

/// Higher limit while deliverables are planned, since planning should see all checks.
const MAX_LISTED_IN_PLANNING: usize = 400;

/// `None` if there is nothing to report. Without a status the deliverables are yet to be created.
pub(crate) fn briefing(
    checks: &[Check],
    registry: &CheckRegistry,
    status: Option<&ProjectStatus>,
    project_failures: &[String],
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
    if open.is_empty() && project_failures.is_empty() {
        return None;
    }
    let mut text = "## Checks\n\nThese decide whether a deliverable has passed. Autonoe runs them on a clean checkout of the last commit, \
                    when you set a status to `passed` and again at the end, each in a checkout of its own: nothing is built or installed there. So commit first. If the call is refused, the answer says what \
                    failed.\n"
        .to_owned();
    for check in open.iter().take(MAX_LISTED) {
        text.push_str(&format!("- {}\n", describe(check)));
    }
    if open.len() > MAX_LISTED {
        text.push_str(&format!("- and {} more\n", open.len() - MAX_LISTED));
    }
    if !registry.files.is_empty() {
        let files: Vec<String> = registry.files.keys().take(MAX_LISTED).map(ToString::to_string).collect();
        text.push_str(&format!(
            "\nThese files belong to the checks and cannot be changed: {}.\n",
            list_names(files)
        ));
    }
    for failure in project_failures {
        text.push_str(&format!("\nThe project as a whole fails: {failure}\n"));
    }
    Some(text)
}

fn for_planning(checks: &[Check]) -> String {
    let mut text = "## Checks\n\nA status set by an agent is only a claim; a passed check verifies it. Give each deliverable \
                    `checks` in `mcp__autonoe__create` where a command can decide: it must fail now and pass once the deliverable is \
                    built, and run on a clean checkout, without the network. List the acceptance criteria it covers in `criteria`, \
                    and the files it relies on in `protect`: write those now, in this session, since they cannot be changed later.\n"
        .to_owned();
    let (free, assigned): (Vec<&Check>, Vec<&Check>) = checks
        .iter()
        .filter(|check| check.origin == CheckOrigin::Spec)
        .partition(|check| check.deliverable.is_none());
    if !free.is_empty() {
        text.push_str("\nSPEC.md contains these checks. Name each in the `checks` of the deliverable it belongs to, as `{\"spec\": \"NAME\"}`:\n");
    }
    for check in free.iter().take(MAX_LISTED_IN_PLANNING) {
        text.push_str(&format!("- {}\n", describe(check)));
    }
    if free.len() > MAX_LISTED_IN_PLANNING {
        text.push_str(&format!("- and {} more in SPEC.md\n", free.len() - MAX_LISTED_IN_PLANNING));
    }
    let ids: BTreeSet<&str> = assigned.iter().filter_map(|check| check.deliverable.as_deref()).collect();
    if !ids.is_empty() {
        let named: Vec<&str> = ids.iter().copied().take(MAX_LISTED_IN_PLANNING).collect();
        let more = match ids.len().saturating_sub(MAX_LISTED_IN_PLANNING) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text.push_str(&format!(
            "\nThe other checks name their deliverables; use these ids: {}{more}.\n",
            named.join(", ")
        ));
    }
    text
}

/// A check in one line.
fn describe(check: &Check) -> String {
    let owner = check.deliverable.as_ref().map_or_else(|| "the project".to_owned(), |id| format!("`{id}`"));
    let mut text = format!("{owner}: check `{}` runs `{}`", check.name, check.command);
    if check.exit != 0 {
        text.push_str(&format!(", which must exit with {}", check.exit));
    }
    if !check.output.is_empty() {
        let output: Vec<String> = check.output.iter().map(|line| format!("`{line}`")).collect();
        let only = if check.exact { "exactly " } else { "" };
        text.push_str(&format!(", which must print {only}{}", output.join(", then ")));
    } else if !check.accepts_every_output() {
        text.push_str(", which must print nothing");
    }
    text.push_str(&format!(" (within {})", format_duration(check.time_limit)));
    text
}
