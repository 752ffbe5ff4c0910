//! The section of one deliverable: status, assurance, acceptance criteria, and checks with their results.

use autonoe_core::check::{Assurance, Check, CheckOrigin};
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::duration::format as format_duration;
use autonoe_core::file_names::list_names;
use autonoe_verify::{CheckEvidence, Evidence, coverage, doubt_about};

use crate::checks::{check_state, does_not_count, says_builder};
use crate::document::{
    CodeBlock, CodeKind, ReportBlock, ReportLine, ReportSpan, Tone, badge, code, paragraph, section, text,
};
use crate::facts::{RunFacts, journal_time, utc_time};
use crate::wording::cost;

pub(crate) fn deliverable(item: &Deliverable, facts: &RunFacts) -> ReportBlock {
    let evidence = facts.evidence.get(&item.id);
    let own = facts.checks_of(Some(&item.id));
    let mut blocks = vec![ReportBlock::KeyValues(summary(item, evidence))];
    blocks.extend([paragraph("Acceptance criteria:"), criteria(item, &own, facts)]);
    match evidence {
        // The checks as they were run are what counts, not their current definition.
        Some(evidence) => {
            let mut checks: Vec<&CheckEvidence> = evidence.checks.iter().collect();
            checks.sort_by_key(|proof| is_proposed(&proof.check));
            blocks.extend(checks.into_iter().map(|proof| check_with_evidence(proof, facts)))
        }
        None => {
            let mut checks: Vec<&Check> = own.iter().collect();
            checks.sort_by_key(|check| is_proposed(check));
            blocks.extend(checks.into_iter().map(|check| check_without_evidence(check, facts)))
        }
    }
    let title = vec![status_badge(item), text(format!(" {}: {}", item.id, item.description))];
    ReportBlock::Section { title, blocks }
}

/// The user's own checks come first.
fn is_proposed(check: &Check) -> bool {
    check.origin == CheckOrigin::Proposed
}

/// Checks that belong to no single deliverable; `None` if there are none.
pub(crate) fn project_checks(facts: &RunFacts) -> Option<ReportBlock> {
    let own = facts.checks_of(None);
    let blocks: Vec<ReportBlock> = own.iter().map(|check| check_without_evidence(check, facts)).collect();
    (!blocks.is_empty()).then(|| section("Project-wide checks", blocks))
}

fn status_badge(item: &Deliverable) -> ReportSpan {
    match (item.assurance(), item.status) {
        (Some(Assurance::Verified), _) => badge(Tone::Good, item.assurance_words().unwrap_or_default()),
        (Some(Assurance::Claimed), _) => badge(Tone::Open, "claimed"),
        (Some(Assurance::Failed), _) => badge(Tone::Bad, "failed"),
        (None, DeliverableStatus::Blocked) => badge(Tone::Open, "blocked"),
        (None, DeliverableStatus::Pending | DeliverableStatus::Passed) => badge(Tone::Plain, "pending"),
    }
}

fn summary(item: &Deliverable, evidence: Option<&Evidence>) -> Vec<(&'static str, ReportLine)> {
    let assurance = match (item.assurance(), evidence) {
        (Some(Assurance::Verified), Some(_)) => &format!(
            ", {}: autonoe ran its checks on a clean checkout and they passed",
            item.assurance_words().unwrap_or_default()
        ),
        (Some(Assurance::Verified), None) => {
            ", verified, but the evidence is missing or does not match; the next run verifies it again"
        }
        (Some(Assurance::Claimed), _) => ", claimed: the agent says so, but no valid check confirms it",
        (Some(Assurance::Failed), _) => ", failed: autonoe ran its checks and at least one did not pass",
        (None, _) => "",
    };
    let mut list: Vec<(&'static str, ReportLine)> =
        vec![("Status", vec![text(format!("{}{assurance}", item.status))])];
    if let Some(reason) = &item.blocked_reason {
        list.push(("Blocked by", vec![text(reason.clone())]));
    }
    if let Some(finding) = &item.finding {
        let mut line = Vec::new();
        if let Some(commit) = &finding.commit {
            line.extend([text("commit "), code(short(commit))]);
        }
        if let Some(tree) = &finding.tree {
            let kind = if line.is_empty() { "copied files, tree " } else { ", tree " };
            line.extend([text(kind), code(short(tree))]);
        }
        let when = utc_time(finding.at);
        list.push(match line.is_empty() {
            // Without a check there is no commit or tree to name.
            true => ("Claimed on", vec![text(when)]),
            false => {
                line.push(text(format!(", {when}")));
                ("Checked", line)
            }
        });
    }
    if let Some(review) = &item.review {
        let verdict = if review.holds { badge(Tone::Good, "confirmed") } else { badge(Tone::Bad, "doubted") };
        let by = format!(" by {} on {}: {}", review.by, utc_time(review.at), review.reason);
        list.push(("Reviewed", vec![verdict, text(by)]));
    }
    let Some(evidence) = evidence else {
        return list;
    };
    if let Some(builder) = &evidence.builder {
        let spent = cost(builder.cost_usd);
        let by = format!("{}, {}; session cost up to then: {spent}", builder.backend, builder.model);
        list.push(("Built by", vec![text(by)]));
    }
    let environment = &evidence.environment;
    let mut platform =
        format!("{} on {}, sandbox {}", environment.os, environment.architecture, environment.sandbox);
    for version in environment.tools.values() {
        platform.push_str(&format!("; {version}"));
    }
    list.push(("Environment", vec![text(platform)]));
    if !evidence.uncommitted.is_empty() {
        list.push(("Not checked", vec![text(format!("uncommitted: {}", list_names(&evidence.uncommitted)))]));
    }
    list.extend(evidence.noted.all_clauses().into_iter().map(|clause| ("Look at", vec![text(clause)])));
    list.push(("To reproduce", vec![code(format!("autonoe verify {}", item.id))]));
    list
}

fn criteria(item: &Deliverable, checks: &[Check], facts: &RunFacts) -> ReportBlock {
    let lines = coverage(item, &checks.iter().collect::<Vec<_>>()).into_iter().map(|criterion| {
        let mut line = vec![text(format!("{} ", criterion.text))];
        let covering = checks.iter().filter(|check| criterion.checks.contains(&check.name));
        let covering: Vec<&Check> = covering.filter(|check| !does_not_count(check, &facts.book)).collect();
        let says_builder =
            !covering.is_empty() && covering.iter().all(|check| says_builder(check, &facts.book));
        match covering.is_empty() {
            true => line.push(badge(Tone::Open, "no check")),
            false => {
                line.push(text(if says_builder {
                    "(checked, says the builder, by "
                } else {
                    "(checked by "
                }));
                line.extend(comma_separated(covering.iter().map(|check| check.name.clone()).collect()));
                line.push(text(")"));
            }
        }
        line
    });
    ReportBlock::Numbered(lines.collect())
}

fn comma_separated(names: Vec<String>) -> Vec<ReportSpan> {
    let mut line = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        line.extend((index > 0).then(|| text(", ")));
        line.push(code(name));
    }
    line
}

/// A check with its recorded evidence.
fn check_with_evidence(
    CheckEvidence { check, run, counts }: &CheckEvidence,
    facts: &RunFacts,
) -> ReportBlock {
    let verdict = match (run.passed(), counts) {
        (true, true) => badge(Tone::Good, "passed"),
        (true, false) => badge(Tone::Open, "passed, does not count"),
        (false, _) => badge(Tone::Bad, "failed"),
    };
    let mut list = about(check, facts);
    let exit = run.exit.map_or_else(|| "none".to_owned(), |code| code.to_string());
    let took = format_duration(run.duration);
    list.push(("Exit code", vec![text(format!("{exit} (expected {}), after {took}", check.exit))]));
    let mut blocks = vec![command(check), ReportBlock::KeyValues(list)];
    blocks.push(match run.output.trim().is_empty() {
        true => paragraph("It printed no output."),
        false => ReportBlock::Code(CodeBlock { kind: CodeKind::Output, text: run.output.clone() }),
    });
    ReportBlock::Section { title: vec![verdict, text(format!(" Check {}", check.name))], blocks }
}

/// A check without evidence, with its last result in this run.
fn check_without_evidence(check: &Check, facts: &RunFacts) -> ReportBlock {
    let mut list = about(check, facts);
    let verdict = match facts.last_results.get(&(check.deliverable.clone(), check.name.clone())) {
        Some(result) => {
            list.push((
                "Last result",
                vec![text(format!("{}, {}", result.message, journal_time(&result.at)))],
            ));
            if result.passed { badge(Tone::Open, "passed") } else { badge(Tone::Bad, "failed") }
        }
        None => badge(Tone::Plain, "not run"),
    };
    let blocks = vec![command(check), ReportBlock::KeyValues(list)];
    ReportBlock::Section { title: vec![verdict, text(format!(" Check {}", check.name))], blocks }
}

fn about(check: &Check, facts: &RunFacts) -> Vec<(&'static str, ReportLine)> {
    let mut list: Vec<(&'static str, ReportLine)> = vec![
        ("From", vec![text(check.origin.to_string())]),
        ("Before the work", vec![text(check_state(check, &facts.book))]),
    ];
    list.extend(doubt_about(check, &facts.book).map(|doubt| ("Does not count", vec![text(doubt)])));
    let numbers: Vec<String> = check.criteria.iter().map(usize::to_string).collect();
    list.push(match numbers.is_empty() {
        true => ("Covers", vec![text("the deliverable as a whole")]),
        false => {
            let by = if says_builder(check, &facts.book) { ", says the builder" } else { "" };
            ("Covers", vec![text(format!("criterion {}{by}", numbers.join(", ")))])
        }
    });
    if !check.output.is_empty() {
        list.push(("Expected output", comma_separated(check.output.clone())));
    } else if !check.accepts_every_output() {
        list.push(("Expected output", vec![text("nothing")]));
    }
    if !check.protect.is_empty() {
        list.push(("Depends on", comma_separated(check.protect.clone())));
    }
    list
}

fn command(check: &Check) -> ReportBlock {
    ReportBlock::Code(CodeBlock { kind: CodeKind::Command, text: check.command.clone() })
}

fn short(hash: &str) -> String {
    hash.chars().take(10).collect()
}
