//! One deliverable: where it stands, what stands behind that, its criteria, and its checks with what was seen of them.

use autonoe_core::check::{Assurance, Check};
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::duration::format as format_duration;
use autonoe_verify::{Evidence, Proof, coverage};

use super::document::{Block, Code, Kind, Line, Span, Tone, badge, code, paragraph, section, text};
use super::facts::Facts;
use super::facts::{shown, time};
use crate::commands::checks::state;
use crate::present::cost;

/// Says what is known of a deliverable.
pub fn deliverable(item: &Deliverable, facts: &Facts) -> Block {
    let evidence = facts.evidence.get(&item.id);
    let own = facts.checks_of(Some(&item.id));
    let mut blocks = vec![Block::Facts(standing(item, evidence))];
    blocks.extend([paragraph("Acceptance criteria:"), criteria(item, &own)]);
    match evidence {
        // What was run then decides, not what a check says now.
        Some(evidence) => blocks.extend(evidence.checks.iter().map(|proof| proven(proof, facts))),
        None => blocks.extend(own.iter().map(|check| unproven(check, facts))),
    }
    let title = vec![word(item), text(format!(" {}: {}", item.id, item.description))];
    Block::Section { title, blocks }
}

/// The checks of the project as a whole; none if there are none.
pub fn project_checks(facts: &Facts) -> Option<Block> {
    let own = facts.checks_of(None);
    let blocks: Vec<Block> = own.iter().map(|check| unproven(check, facts)).collect();
    (!blocks.is_empty()).then(|| section("The project as a whole", blocks))
}

/// The one word for a deliverable.
fn word(item: &Deliverable) -> Span {
    match (item.assurance(), item.status) {
        (Some(Assurance::Verified), _) => badge(Tone::Good, "verified"),
        (Some(Assurance::Claimed), _) => badge(Tone::Open, "claimed"),
        (Some(Assurance::Failed), _) => badge(Tone::Bad, "failed"),
        (None, DeliverableStatus::Blocked) => badge(Tone::Open, "blocked"),
        (None, DeliverableStatus::Pending | DeliverableStatus::Passed) => badge(Tone::Plain, "pending"),
    }
}

fn standing(item: &Deliverable, evidence: Option<&Evidence>) -> Vec<(&'static str, Line)> {
    let behind = match (item.assurance(), evidence) {
        (Some(Assurance::Verified), Some(_)) => {
            ", verified: our own process ran its checks on a clean checkout, and they passed"
        }
        (Some(Assurance::Verified), None) => {
            ", verified; but the evidence of it is gone, or is about something else; the next run looks again"
        }
        (Some(Assurance::Claimed), _) => {
            ", claimed: an agent says so, and no check that counts stands behind it"
        }
        (Some(Assurance::Failed), _) => ", failed: our own process ran its checks, and one did not pass",
        (None, _) => "",
    };
    let mut list: Vec<(&'static str, Line)> =
        vec![("Status", vec![text(format!("{}{behind}", item.status))])];
    if let Some(finding) = &item.finding {
        let mut words = Vec::new();
        if let Some(commit) = &finding.commit {
            words.extend([text("commit "), code(short(commit))]);
        }
        if let Some(tree) = &finding.tree {
            let kind = if words.is_empty() { "copied files, tree " } else { ", tree " };
            words.extend([text(kind), code(short(tree))]);
        }
        let when = shown(finding.at);
        list.push(match words.is_empty() {
            // Where there is no check, nothing was looked at.
            true => ("Said on", vec![text(when)]),
            false => {
                words.push(text(format!(", {when}")));
                ("Looked at", words)
            }
        });
    }
    if let Some(review) = &item.review {
        let verdict = if review.holds { badge(Tone::Good, "holds") } else { badge(Tone::Bad, "doubted") };
        let by = format!(" by {} on {}: {}", review.by, shown(review.at), review.reason);
        list.push(("Reviewed", vec![verdict, text(by)]));
    }
    let Some(evidence) = evidence else {
        return list;
    };
    if let Some(builder) = &evidence.builder {
        let spent = cost(builder.cost_usd);
        let who = format!("{}, {}; its session had cost {spent} by then", builder.backend, builder.model);
        list.push(("Built by", vec![text(who)]));
    }
    let around = &evidence.environment;
    let mut place = format!("{} on {}, sandbox {}", around.os, around.architecture, around.sandbox);
    for version in around.tools.values() {
        place.push_str(&format!("; {version}"));
    }
    list.push(("Checked on", vec![text(place)]));
    if !evidence.uncommitted.is_empty() {
        list.push((
            "Not looked at",
            vec![text(format!("not committed: {}", evidence.uncommitted.join(", ")))],
        ));
    }
    list.push(("To do it again", vec![code(format!("autonoe verify {}", item.id))]));
    list
}

/// The criteria, each with the checks that cover it.
fn criteria(item: &Deliverable, checks: &[Check]) -> Block {
    let lines = coverage(item, &checks.iter().collect::<Vec<_>>()).into_iter().map(|criterion| {
        let mut line = vec![text(format!("{} ", criterion.text))];
        match criterion.checks.is_empty() {
            true => line.push(badge(Tone::Open, "no check")),
            false => {
                line.push(text("(checked by "));
                line.extend(listed(criterion.checks));
                line.push(text(")"));
            }
        }
        line
    });
    Block::Numbered(lines.collect())
}

/// Names with commas between them.
fn listed(names: Vec<String>) -> Vec<Span> {
    let mut line = Vec::new();
    for (place, name) in names.into_iter().enumerate() {
        line.extend((place > 0).then(|| text(", ")));
        line.push(code(name));
    }
    line
}

/// A check and what came of it, by the evidence.
fn proven(Proof { check, seen, counts }: &Proof, facts: &Facts) -> Block {
    let verdict = match (seen.passed(), counts) {
        (true, true) => badge(Tone::Good, "passed"),
        (true, false) => badge(Tone::Open, "passed, does not count"),
        (false, _) => badge(Tone::Bad, "failed"),
    };
    let mut list = about(check, facts);
    let exit = seen.exit.map_or_else(|| "none".to_owned(), |code| code.to_string());
    let took = format_duration(seen.duration);
    list.push(("Exit code", vec![text(format!("{exit} (must be {}), after {took}", check.exit))]));
    let mut blocks = vec![command(check), Block::Facts(list)];
    blocks.push(match seen.output.trim().is_empty() {
        true => paragraph("It printed nothing."),
        false => Block::Code(Code { kind: Kind::Output, text: seen.output.clone() }),
    });
    Block::Section { title: vec![verdict, text(format!(" Check {}", check.name))], blocks }
}

/// A check of which there is no evidence, and what was last seen of it in the run.
fn unproven(check: &Check, facts: &Facts) -> Block {
    let mut list = about(check, facts);
    let verdict = match facts.seen.get(&(check.deliverable.clone(), check.name.clone())) {
        Some(seen) => {
            list.push(("Last seen", vec![text(format!("{}, {}", seen.message, time(&seen.at)))]));
            if seen.passed { badge(Tone::Open, "passed") } else { badge(Tone::Bad, "failed") }
        }
        None => badge(Tone::Plain, "not run"),
    };
    let blocks = vec![command(check), Block::Facts(list)];
    Block::Section { title: vec![verdict, text(format!(" Check {}", check.name))], blocks }
}

fn about(check: &Check, facts: &Facts) -> Vec<(&'static str, Line)> {
    let mut list: Vec<(&'static str, Line)> = vec![
        ("From", vec![text(check.origin.to_string())]),
        ("Before the work", vec![text(state(check, &facts.book))]),
    ];
    let numbers: Vec<String> = check.criteria.iter().map(usize::to_string).collect();
    list.push(match numbers.is_empty() {
        true => ("Covers", vec![text("the whole, and no criterion by name")]),
        false => ("Covers", vec![text(format!("criterion {}", numbers.join(", ")))]),
    });
    if !check.output.is_empty() {
        list.push(("Must print", listed(check.output.clone())));
    }
    if !check.protect.is_empty() {
        list.push(("Judges by", listed(check.protect.clone())));
    }
    list
}

fn command(check: &Check) -> Block {
    Block::Code(Code { kind: Kind::Command, text: check.command.clone() })
}

/// The beginning of a hash.
fn short(hash: &str) -> String {
    hash.chars().take(10).collect()
}
