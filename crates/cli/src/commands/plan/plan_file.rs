//! The plan as text that people edit.

use autonoe_core::deliverable::{Deliverable, DeliverableStatus, NewDeliverable};
use autonoe_core::status::{ProjectStatus, Refusal};
use jiff::civil::Date;

const HELP: &str = "\
; Deliverables in order of priority, each with its acceptance criteria:
;
;   [ID] Description
;   - criterion
;
; Change, reorder, remove or add some, then save. What had passed is open again if its criteria change, and stays
; on record if you remove it. Lines that begin with ; are ignored; if nothing else is left, nothing changes.
";

pub fn render(status: &ProjectStatus) -> String {
    let mut text = HELP.to_owned();
    for item in status.active() {
        text.push_str(&format!("\n[{}] {}\n", item.id, on_one_line(&item.description)));
        let criteria = item.acceptance_criteria.iter();
        criteria.for_each(|criterion| text.push_str(&format!("- {}\n", on_one_line(criterion))));
    }
    text
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The error lists everything that is wrong, with its line.
pub fn parse(text: &str) -> Result<Vec<NewDeliverable>, Vec<String>> {
    let (mut planned, mut problems): (Vec<NewDeliverable>, Vec<String>) = Default::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let mut wrong = |what: &str| problems.push(format!("line {}: {what}", index + 1));
        if line.is_empty() || line.starts_with(';') {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            match rest.split_once(']') {
                Some((id, description)) => planned.push(NewDeliverable {
                    id: id.trim().to_owned(),
                    description: description.trim().to_owned(),
                    acceptance_criteria: Vec::new(),
                    order: Default::default(),
                }),
                None => wrong("`]` is missing after the id"),
            }
        } else if let Some(criterion) = line.strip_prefix('-') {
            match planned.last_mut() {
                Some(item) => item.acceptance_criteria.push(criterion.trim().to_owned()),
                None => wrong("a criterion before the first deliverable"),
            }
        } else {
            wrong("expected `[ID] description`, `- criterion` or a comment");
        }
    }
    for item in &planned {
        let validated = ProjectStatus::empty(Date::default()).create(vec![item.clone()]);
        problems.extend(validated.err().map(|refusal| format!("[{}]: {refusal}", item.id)));
    }
    if problems.is_empty() { Ok(planned) } else { Err(problems) }
}

/// Makes the plan what the user wrote.
pub fn apply(status: &mut ProjectStatus, planned: Vec<NewDeliverable>, today: Date) -> Result<(), Refusal> {
    let mut fresh = ProjectStatus::empty(today);
    // Refuses an id that occurs twice.
    fresh.create(planned)?;
    let mut before = std::mem::take(&mut status.deliverables);
    for item in fresh.deliverables {
        let at = before.iter().position(|old| old.id == item.id);
        status.deliverables.push(match at.map(|at| before.remove(at)) {
            Some(old) => merged(old, item),
            None => item,
        });
    }
    let removed = before.into_iter().filter(|old| !is_untouched(old));
    status
        .deliverables
        .extend(removed.map(|old| Deliverable { deprecated_at: old.deprecated_at.or(Some(today)), ..old }));
    Ok(())
}

/// Whether nothing is lost if it is removed.
fn is_untouched(item: &Deliverable) -> bool {
    item.is_active() && item.status == DeliverableStatus::Pending && item.finding.is_none()
}

fn merged(old: Deliverable, new: Deliverable) -> Deliverable {
    let same = |(a, b): (&String, &String)| on_one_line(a) == on_one_line(b);
    let criteria = (&old.acceptance_criteria, &new.acceptance_criteria);
    let has_same_criteria =
        criteria.0.len() == criteria.1.len() && criteria.0.iter().zip(criteria.1).all(same);
    match has_same_criteria && old.is_active() {
        true => Deliverable { description: new.description, ..old },
        false => Deliverable { order: old.order, ..new },
    }
}

#[cfg(test)]
mod tests {
    use autonoe_core::deliverable::DeliverableStatus;
    use autonoe_core::status::ProjectStatus;
    use jiff::civil::{Date, date};

    use super::{apply, parse, render};

    const TODAY: Date = date(2026, 11, 16);

    fn status(text: &str) -> ProjectStatus {
        let mut status = ProjectStatus::empty(TODAY);
        apply(&mut status, parse(text).expect("a plan"), TODAY).expect("applied");
        status
    }

    #[test]
    fn a_plan_survives_being_written_and_read() {
        let before =
            status("[A] Count words\n- prints them\n- fails without a file\n\n[B] Help\n- shows usage\n");
        assert_eq!(status(&render(&before)), before);
    }

    #[test]
    fn everything_that_is_wrong_is_named_with_its_line() {
        let wrong = parse("- early\n[A Count\nCount words\n[B] Help\n[] x\n- y\n").expect_err("no plan");
        assert_eq!(
            wrong,
            [
                "line 1: a criterion before the first deliverable",
                "line 2: `]` is missing after the id",
                "line 3: expected `[ID] description`, `- criterion` or a comment",
                "[B]: At least one acceptance criterion is required",
                "[]: Deliverable ID is required",
            ]
        );
    }

    #[test]
    fn what_has_passed_stays_passed_unless_its_criteria_change() {
        let mut plan = status("[A] a\n- one\n[B] b\n- two\n[C] c\n- three\n[D] d\n- four\n");
        for id in ["A", "B", "C"] {
            plan.set_status(id, DeliverableStatus::Passed).expect("passed");
        }
        let edited = parse("[B] b, renamed\n- two\n[A] a\n- another\n[E] new\n- five\n").expect("a plan");
        apply(&mut plan, edited, TODAY).expect("applied");
        let now: Vec<_> =
            plan.deliverables.iter().map(|item| (item.id.as_str(), item.status, item.is_active())).collect();
        assert_eq!(
            now,
            [
                ("B", DeliverableStatus::Passed, true),
                ("A", DeliverableStatus::Pending, true),
                ("E", DeliverableStatus::Pending, true),
                ("C", DeliverableStatus::Passed, false),
            ]
        );
    }
}
