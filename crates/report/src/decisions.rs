//! The decisions section: disputed files, checks that do not count, doubted deliverables and blocked ones.

use autonoe_core::deliverable::DeliverableStatus;
use autonoe_verify::{describe_change, describe_dispute, doubt_about, without_deliverable};

use crate::document::{ReportBlock, ReportLine, code, section, text};
use crate::facts::RunFacts;

/// `None` if nothing needs a decision.
pub(crate) fn decisions(facts: &RunFacts) -> Option<ReportBlock> {
    let mut items: Vec<ReportLine> = Vec::new();
    for path in facts.book.disputes.keys() {
        items.push(vec![
            code(path.to_string()),
            text(format!(", which checks depend on, {}: ", describe_dispute(&facts.book, path))),
            code(format!("autonoe checks accept {path}")),
            text(" or "),
            code(format!("autonoe checks reject {path}")),
            text("."),
        ]);
    }
    for (name, why) in &facts.book.failing {
        items.push(vec![text("Your check "), code(name.as_str()), text(format!(" fails: {why}."))]);
    }
    for clause in without_deliverable(&facts.checks, &facts.status) {
        items.push(vec![text(format!("Your check {clause}; ")), code("autonoe verify"), text(" runs it.")]);
    }
    for (name, change) in &facts.book.changed {
        items.push(vec![text(capitalized(&describe_change(name, change))), text(".")]);
    }
    for clause in &facts.outdated {
        items.push(vec![text(capitalized(clause)), text(".")]);
    }
    for check in &facts.checks {
        if let Some(doubt) = doubt_about(check, &facts.book) {
            let sentence = format!(" does not count: {doubt}.");
            items.push(vec![text("The check "), code(check.name.as_str()), text(sentence)]);
        }
    }
    for item in facts.status.active() {
        let doubted = item.review.as_ref().filter(|review| !review.holds);
        if let Some(review) = doubted.filter(|_| item.status == DeliverableStatus::Passed) {
            let sentence = format!(" passed, but {} doubts it: {}", review.by, review.reason);
            items.push(vec![code(item.id.as_str()), text(sentence)]);
        }
        if item.status == DeliverableStatus::Blocked {
            let end = |sentence: &str| format!("{}. ", sentence.trim_end_matches(['.', ' ']));
            let why = match &item.blocked_reason {
                Some(reason) => vec![text(end(reason))],
                None => vec![text("It says nothing about why; "), code(".autonoe-note.md"), text(" may. ")],
            };
            let begin =
                vec![code(item.id.as_str()), text(format!(" is blocked: {}", end(&item.description)))];
            let then =
                vec![text("When that is settled: "), code(format!("autonoe unblock {}", item.id)), text(".")];
            items.push([begin, why, then].concat());
        }
    }
    (!items.is_empty()).then(|| section("Decisions for you", vec![ReportBlock::Points(items)]))
}

fn capitalized(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
