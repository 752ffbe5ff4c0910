//! Which deliverables can be built at the same time.

use crate::deliverable::{Deliverable, DeliverableStatus};
use crate::status::ProjectStatus;

/// The deliverables that can be begun while those in `at_work` are built, in the order of the list. What was not said to be independent is
/// built alone, after everything before it. Those that `counts` does not let through are neither begun nor waited for, but by what depends on
/// them.
pub fn startable<'a>(
    status: &'a ProjectStatus,
    at_work: &[&str],
    counts: impl Fn(&Deliverable) -> bool,
) -> Vec<&'a Deliverable> {
    let pending: Vec<&Deliverable> =
        status.active().filter(|item| item.status == DeliverableStatus::Pending).collect();
    let open: Vec<&Deliverable> = pending.iter().copied().filter(|item| counts(item)).collect();
    let working: Vec<&Deliverable> = at_work.iter().filter_map(|id| status.find(id)).collect();
    let is_ready = |item: &Deliverable| match &item.order.depends {
        Some(depends) => !pending.iter().any(|other| depends.contains(&other.id)),
        None => true,
    };
    let is_free = |item: &Deliverable| working.iter().all(|other| can_be_built_together(item, other));
    let mut startable = Vec::new();
    for (place, item) in open.iter().enumerate() {
        let is_at_work = at_work.contains(&item.id.as_str());
        let has_its_turn = is_independent(item) || place == 0;
        if !is_at_work && has_its_turn && is_ready(item) && is_free(item) {
            startable.push(*item);
        }
        if !is_independent(item) {
            // The rest comes after it.
            break;
        }
    }
    // Those that wait for each other would wait for ever.
    if startable.is_empty() && at_work.is_empty() && open.len() == pending.len() {
        startable.extend(open.first());
    }
    startable
}

fn is_independent(item: &Deliverable) -> bool {
    item.order.depends.is_some() || !item.order.touches.is_empty()
}

fn can_be_built_together(one: &Deliverable, other: &Deliverable) -> bool {
    let shares = |path: &String| {
        other.order.touches.iter().any(|touched| is_below(path, touched) || is_below(touched, path))
    };
    is_independent(one) && is_independent(other) && !one.order.touches.iter().any(shares)
}

/// Whether a path is in a directory, or the same. A pattern stands for the directory before its first wildcard.
fn is_below(path: &str, directory: &str) -> bool {
    let (path, directory) = (parts(path), parts(directory));
    path.starts_with(&directory)
}

fn parts(path: &str) -> Vec<&str> {
    let all = path.split('/').filter(|part| !matches!(*part, "" | "."));
    all.take_while(|part| !part.contains(['*', '?', '[', '{'])).collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::startable;
    use crate::deliverable::{BuildOrder, DeliverableStatus, NewDeliverable};
    use crate::status::ProjectStatus;

    /// `A` says nothing, `B:` depends on nothing, `C:B` depends on B, `D=src/x` touches that.
    fn status(words: &str) -> ProjectStatus {
        let mut status = ProjectStatus::empty(date(2026, 1, 10));
        for word in words.split(' ') {
            let (word, touches) = word.split_once('=').unwrap_or((word, ""));
            let (id, depends) = word.split_once(':').map_or((word, None), |(id, on)| (id, Some(on)));
            let list =
                |text: &str| text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            let order = BuildOrder { depends: depends.map(list), touches: list(touches) };
            let (id, description) = (id.to_owned(), id.to_owned());
            let acceptance_criteria = vec!["it works".to_owned()];
            let new = NewDeliverable { id, description, acceptance_criteria, order };
            status.create(vec![new]).expect("created");
        }
        status
    }

    fn ids(status: &ProjectStatus, at_work: &[&str]) -> String {
        startable(status, at_work, |_| true).iter().map(|item| item.id.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_not_said_to_be_independent_is_built_one_after_another() {
        let status = status("A B C");
        assert_eq!(ids(&status, &[]), "A");
        assert_eq!(ids(&status, &["A"]), "");
    }

    #[test]
    fn what_depends_on_nothing_is_built_at_the_same_time() {
        let mut all = status("A: B: C:A D");
        assert_eq!(ids(&all, &[]), "A B");
        assert_eq!(ids(&all, &["A"]), "B");
        assert_eq!(ids(&all, &["A", "B"]), "");
        all.set_status("A", DeliverableStatus::Passed).expect("passed");
        assert_eq!(ids(&all, &["B"]), "C", "what was not said to be independent comes last, and alone");
        all.set_status("B", DeliverableStatus::Passed).expect("passed");
        all.set_status("C", DeliverableStatus::Blocked).expect("blocked");
        assert_eq!(ids(&all, &[]), "D");
    }

    #[test]
    fn what_changes_the_same_files_is_not_built_at_the_same_time() {
        let all = status("A=src/api B=src/web C=./src/api/v2/** D=docs,src/web/index.html E=*.md F:");
        assert_eq!(ids(&all, &["A"]), "B D F", "a pattern may match anything in its directory");
        assert_eq!(ids(&all, &["A", "B"]), "F");
    }

    #[test]
    fn what_waits_for_each_other_is_built_anyway() {
        let mut all = status("A: B:A");
        all.deliverables[0].order.depends = Some(vec!["B".to_owned()]);
        assert_eq!(ids(&all, &[]), "A");
        assert_eq!(ids(&all, &["A"]), "");
    }

    #[test]
    fn a_dependency_that_is_blocked_holds_nothing_back() {
        let mut all = status("A: B:A");
        all.set_status("A", DeliverableStatus::Blocked).expect("blocked");
        assert_eq!(ids(&all, &[]), "B");
    }
}
