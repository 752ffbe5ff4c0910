//! The user's checks are remembered: a change between runs, by whomever, is shown, and until the user accepts it the deliverables that it
//! concerns are not verified.

use std::collections::{BTreeMap, BTreeSet};

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_store::{CheckChange, CheckChangeKind, CheckRegistry};

/// Remembers the user's new checks and records the changed ones. Returns the names of those whose change was not recorded before.
pub fn record(registry: &mut CheckRegistry, written: &[Check]) -> Vec<String> {
    follow_renamed(registry, written);
    for check in written {
        registry.written.entry(check.name.clone()).or_insert_with(|| check.clone());
    }
    let now = changes(registry, written);
    let before = std::mem::replace(&mut registry.changed, now);
    registry
        .changed
        .iter()
        .filter(|(name, change)| before.get(*name) != Some(change))
        .map(|(name, _)| name.clone())
        .collect()
}

/// Those of the user's checks that are remembered, under this name or another.
pub(crate) fn remembered(registry: &CheckRegistry, written: &[Check]) -> Vec<Check> {
    let is_known = |check: &&Check| {
        let is_renamed =
            |(name, accepted)| is_same(&Check { name: String::clone(name), ..(*check).clone() }, accepted);
        registry.written.contains_key(&check.name) || registry.written.iter().any(is_renamed)
    };
    written.iter().filter(is_known).cloned().collect()
}

/// A check without a name has that of its heading. Under another heading it is still the same.
fn follow_renamed(registry: &mut CheckRegistry, written: &[Check]) {
    let is_gone = |name: &&String| !written.iter().any(|check| check.name == **name);
    let gone: Vec<String> = registry.written.keys().filter(is_gone).cloned().collect();
    for old in gone {
        let is_new_name = |check: &&Check| {
            let under_old_name = Check { name: old.clone(), ..(*check).clone() };
            !registry.written.contains_key(&check.name) && is_same(&under_old_name, &registry.written[&old])
        };
        let Some(check) = written.iter().find(is_new_name) else { continue };
        registry.written.remove(&old);
        registry.written.insert(check.name.clone(), check.clone());
        registry.failing.remove(&old);
        if let Some(assigned) = registry.assigned.remove(&old) {
            registry.assigned.insert(check.name.clone(), assigned);
        }
    }
}

/// Accepts the user's check with this name as it is now, or that it is gone.
pub(crate) fn accept(registry: &mut CheckRegistry, written: &[Check], name: &str) {
    registry.changed.remove(name);
    match written.iter().find(|check| check.name == name) {
        Some(check) => drop(registry.written.insert(name.to_owned(), check.clone())),
        None => drop(registry.written.remove(name)),
    }
}

/// Names of the changed checks of a file: SPEC.md or checks.json.
pub(crate) fn changed_in(registry: &CheckRegistry, file: &str) -> Vec<String> {
    let origin = match file {
        "SPEC.md" => CheckOrigin::Spec,
        ".autonoe/checks.json" | "checks.json" => CheckOrigin::User,
        _ => return Vec::new(),
    };
    let is_there = |name: &&String| registry.written.get(*name).is_some_and(|check| check.origin == origin);
    registry.changed.keys().filter(is_there).cloned().collect()
}

/// What is to be said about a change, as a clause.
pub fn describe_change(name: &str, change: &CheckChange) -> String {
    let what = match change.kind {
        CheckChangeKind::Changed => "was changed",
        CheckChangeKind::Removed => "was removed",
    };
    format!(
        "your check '{name}' {what} since you last accepted it; to accept that, run `autonoe checks accept {name}`"
    )
}

/// Why a deliverable cannot be verified until the user decides; empty if it can.
pub fn concerning(registry: &CheckRegistry, deliverable: &str) -> Vec<String> {
    let concerned = registry.changed.iter().filter(|(_, change)| change.deliverables.contains(deliverable));
    concerned.map(|(name, change)| describe_change(name, change)).collect()
}

fn changes(registry: &CheckRegistry, written: &[Check]) -> BTreeMap<String, CheckChange> {
    let changed = registry.written.iter().filter_map(|(name, accepted)| {
        let now = written.iter().find(|check| check.name == *name);
        let kind = match now {
            Some(now) if is_same(now, accepted) => return None,
            Some(_) => CheckChangeKind::Changed,
            None => CheckChangeKind::Removed,
        };
        let assigned = registry.assigned.get(name).map(|assigned| assigned.deliverable.clone());
        let deliverables = [Some(accepted), now].into_iter().flatten();
        let deliverables = deliverables.filter_map(|check| check.deliverable.clone()).chain(assigned);
        Some((name.clone(), CheckChange { kind, deliverables: deliverables.collect::<BTreeSet<_>>() }))
    });
    changed.collect()
}

/// Whether a check judges as another one does. More or less time makes no difference.
fn is_same(one: &Check, other: &Check) -> bool {
    Check { time_limit: other.time_limit, ..one.clone() } == *other
}
