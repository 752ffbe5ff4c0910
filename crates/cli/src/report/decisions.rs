//! What only a person can decide: files and checks that wait for it, doubts, and what is blocked.

use autonoe_core::deliverable::DeliverableStatus;
use autonoe_verify::{doubt, key};

use super::document::{Block, Line, code, section, text};
use super::facts::Facts;

/// What a person must decide; none if there is nothing.
pub fn decisions(facts: &Facts) -> Option<Block> {
    let mut items: Vec<Line> = Vec::new();
    for path in facts.book.disputes.keys() {
        items.push(vec![
            code(path.as_str()),
            text(", by which checks judge, is not as it was accepted. The accepted one counts until you decide: "),
            code(format!("autonoe checks accept {path}")),
            text(" or "),
            code(format!("autonoe checks reject {path}")),
            text("."),
        ]);
    }
    for check in facts.checks.iter().filter(|check| facts.book.seen.contains_key(&key(check))) {
        if let Some(doubt) = doubt(check, &facts.book) {
            items.push(vec![
                text("The check "),
                code(check.name.as_str()),
                text(format!(" does not count: {doubt}. To let it count: ")),
                code(format!("autonoe checks accept {}", check.name)),
                text("."),
            ]);
        }
    }
    for item in facts.status.active() {
        let doubted = item.review.as_ref().filter(|review| !review.holds);
        if let Some(review) = doubted.filter(|_| item.status == DeliverableStatus::Passed) {
            let said = format!(" passed, but {} doubts it: {}", review.by, review.reason);
            items.push(vec![code(item.id.as_str()), text(said)]);
        }
        if item.status == DeliverableStatus::Blocked {
            items.push(vec![
                code(item.id.as_str()),
                text(format!(" is blocked: {}. ", item.description.trim_end_matches('.'))),
                code(".autonoe-note.md"),
                text(" should say what it waits for."),
            ]);
        }
    }
    (!items.is_empty()).then(|| section("For you to decide", vec![Block::Points(items)]))
}
