//! The sections of a report, in order: outcome, open decisions, deliverables or steps, attempts, backends, sessions, denied calls and changes.

use std::collections::BTreeMap;

use autonoe_core::attempt::{AttemptResult, BestOfResult, DecidedBy};
use autonoe_core::duration::format as format_duration;
use autonoe_core::ending::{Ending, EndingKind};
use autonoe_core::money::Usd;
use autonoe_core::redact::Redactor;
use autonoe_store::journal::history::{DeniedCall, SessionRow};
use autonoe_verify::Changes;

use crate::changes::{ChangesUnavailable, changes};
use crate::decisions::decisions;
use crate::deliverable::{deliverable, project_checks};
use crate::document::{Document, ReportBlock, ReportLine, Tone, badge, code, paragraph, section, text};
use crate::facts::{RunFacts, StepResult, StepRow, journal_time, utc_time};
use crate::sanitize::sanitize;
use crate::sparkline::sparkline;
use crate::wording::{assurance, cost};

pub fn document(
    facts: &RunFacts,
    changed: &Result<Changes, ChangesUnavailable>,
    redactor: &Redactor,
) -> Document {
    let run = &facts.run;
    let day = journal_time(&run.started_at).chars().take(10).collect::<String>();
    let title = format!("{}: {} {} of {day}", facts.project, run.command, run.id);
    let mut blocks = outcome(facts);
    blocks.extend(decisions(facts));
    blocks.push(match &facts.steps {
        Some(rows) => section("Steps", vec![steps(rows)]),
        None => deliverables(facts),
    });
    blocks.extend(best_of(&facts.best_of));
    blocks.push(section("Backends", vec![backends(&facts.sessions)]));
    let progress = (facts.scores.len() > 1)
        .then(|| paragraph(format!("Progress of each: {}", sparkline(&facts.scores))));
    let session_blocks = progress.into_iter().chain([sessions(&facts.sessions)]).collect();
    blocks.push(section("Sessions", session_blocks));
    blocks.extend(denied(&facts.denied));
    blocks.push(section("Changes", changes(facts, changed)));
    let version = env!("CARGO_PKG_VERSION");
    blocks.push(paragraph(format!("Written by autonoe {version} on {}.", utc_time(facts.gathered_at))));
    sanitize(Document { title, blocks }, redactor)
}

fn deliverables(facts: &RunFacts) -> ReportBlock {
    let mut blocks: Vec<ReportBlock> = facts.status.active().map(|item| deliverable(item, facts)).collect();
    blocks.extend(project_checks(facts));
    if blocks.is_empty() {
        blocks.push(paragraph("There are no deliverables yet."));
    }
    if !facts.is_last {
        let note = "This is their current state; a later run may have changed them.";
        blocks.insert(0, paragraph(note));
    }
    section("Deliverables", blocks)
}

/// The steps of a declarative agent, in chronological order.
fn steps(steps: &[StepRow]) -> ReportBlock {
    let row = |StepRow { step, result, message, next }: &StepRow| {
        let result = match result {
            StepResult::Passed => badge(Tone::Good, "passed"),
            StepResult::Failed => badge(Tone::Bad, "failed"),
            StepResult::Escalated => badge(Tone::Open, "escalated"),
        };
        let next = next.clone().unwrap_or_default();
        vec![vec![code(step.as_str())], vec![result], vec![text(message.as_str())], vec![text(next)]]
    };
    let rows: Vec<Vec<ReportLine>> = steps.iter().map(row).collect();
    match rows.is_empty() {
        true => paragraph("No step has ended."),
        false => ReportBlock::Table { head: vec!["Step", "Result", "Reason", "Next"], rows },
    }
}

fn outcome(facts: &RunFacts) -> Vec<ReportBlock> {
    let run = &facts.run;
    let now = facts.status.tally();
    let mut tally = run.report.as_ref().map_or(now, |report| report.plan.tally());
    // What was verified may count as claimed since, because the checks were changed.
    tally.verified = tally.verified.min(now.verified);
    let counts = assurance(tally);
    let (tone, name, sentence, next) = match &run.report {
        Some(report) => {
            let Ending { kind, sentence, hint } =
                Ending::of(&report.outcome, |at| format!("It resets {}.", utc_time(at)));
            let tone = match kind {
                // A run with unverified claims is not an unqualified success.
                EndingKind::Success if tally.claimed() > 0 => Tone::Open,
                EndingKind::Success => Tone::Good,
                EndingKind::Stopped => Tone::Open,
                EndingKind::Failure => Tone::Bad,
            };
            (tone, report.outcome.shown_name(), sentence, hint)
        }
        None if facts.is_in_progress => {
            (Tone::Plain, "in progress", "The run has not ended yet.".to_owned(), None)
        }
        None => {
            let next = "Run the same command to resume it.".to_owned();
            (Tone::Bad, "unfinished", "Its process ended unexpectedly.".to_owned(), Some(next))
        }
    };
    let name = name.replace('_', " ");
    let sentence = match facts.steps {
        Some(_) => format!(" {sentence}"),
        None => format!(" {sentence} {counts}."),
    };
    let mut blocks = vec![ReportBlock::Paragraph(vec![badge(tone, name), text(sentence)])];
    blocks.extend(next.map(paragraph));
    blocks.extend(facts.unseen.iter().map(|sentence| paragraph(format!("{sentence}."))));

    let (total, blocked) = (tally.total, tally.blocked);
    let spent = match &run.report {
        Some(report) => report.cost_usd,
        None => facts.sessions.iter().map(|row| row.cost_usd.map(Usd)).sum(),
    };
    let mut list: Vec<(&'static str, ReportLine)> =
        vec![("Command", vec![code(format!("autonoe {}", run.command))])];
    if let Some(report) = &run.report {
        list.push(("Exit code", vec![text(report.exit_code.to_string())]));
    }
    match &facts.steps {
        Some(steps) => {
            let ended = steps.iter().filter(|step| step.result != StepResult::Escalated).count();
            list.push(("Steps", vec![text(format!("{ended} ended"))]));
        }
        None => {
            list.push(("Deliverables", vec![text(format!("{total}, of which {blocked} blocked; {counts}"))]));
        }
    }
    list.push(("Cost", vec![text(cost(spent))]));
    if let Some(report) = &run.report {
        list.push(("Duration", vec![text(format_duration(report.duration))]));
    }
    list.push(("Sessions", vec![text(facts.sessions.len().to_string())]));
    if !facts.denied.is_empty() {
        list.push(("Denied calls", vec![text(facts.denied.len().to_string())]));
    }
    list.push(("Started", vec![text(journal_time(&run.started_at))]));
    list.extend(run.ended_at.as_ref().map(|at| ("Ended", vec![text(journal_time(at))])));
    blocks.push(ReportBlock::KeyValues(list));
    blocks
}

/// Attempts by several agents at the same deliverable.
fn best_of(results: &[BestOfResult]) -> Option<ReportBlock> {
    let rows = |result: &BestOfResult| -> Vec<Vec<ReportLine>> {
        let row = |attempt: &AttemptResult| {
            let is_winner = result.winner == Some(attempt.number);
            let chosen = match result.decided_by.filter(|_| is_winner) {
                Some(DecidedBy::Checks) => badge(Tone::Good, "chosen by its checks"),
                Some(DecidedBy::Tournament) => badge(Tone::Good, "chosen by comparison"),
                Some(DecidedBy::SmallestDiff) => badge(Tone::Good, "chosen, since none has changed less"),
                None => text(attempt.problem.clone().unwrap_or_default()),
            };
            let checks = if attempt.passed { "none failed" } else { "not all passed" };
            let lines = attempt.changed_lines.map_or_else(|| "none".to_owned(), |lines| lines.to_string());
            vec![
                vec![text(attempt.number.to_string())],
                vec![text(attempt.backend.as_str())],
                vec![text(attempt.model.clone().unwrap_or_default())],
                vec![text(format!("{} passed, {checks}", attempt.checks_passed))],
                vec![text(lines)],
                vec![text(attempt.comparisons_won.to_string())],
                vec![chosen],
            ]
        };
        result.attempts.iter().map(row).collect()
    };
    let head = vec!["Attempt", "Backend", "Model", "Checks", "Lines changed", "Comparisons won", "Result"];
    let block = |result: &BestOfResult| {
        let table = ReportBlock::Table { head: head.clone(), rows: rows(result) };
        [table, paragraph(result.message.as_str())]
    };
    (!results.is_empty()).then(|| section("Attempts", results.iter().flat_map(block).collect()))
}

/// Sessions and cost per backend and model.
fn backends(sessions: &[SessionRow]) -> ReportBlock {
    let mut by_model: BTreeMap<(&str, &str), Vec<&SessionRow>> = BTreeMap::new();
    for row in sessions {
        by_model.entry((&row.backend, &row.model)).or_default().push(row);
    }
    let rows = by_model.into_iter().map(|((backend, model), sessions)| {
        let spent: Option<Usd> = sessions.iter().map(|row| row.cost_usd.map(Usd)).sum();
        vec![
            vec![text(backend)],
            vec![text(model)],
            vec![text(sessions.len().to_string())],
            vec![text(cost(spent))],
        ]
    });
    table(vec!["Backend", "Model", "Sessions", "Cost"], rows.collect())
}

fn sessions(sessions: &[SessionRow]) -> ReportBlock {
    let rows = sessions.iter().map(|row| {
        let outcome = row.outcome.as_ref().map_or("unfinished", |outcome| outcome.name());
        let took =
            row.duration_seconds.and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds).ok());
        vec![
            vec![text(row.number.to_string())],
            vec![text(row.instruction.as_str())],
            vec![text(row.backend.as_str())],
            vec![text(row.model.as_str())],
            vec![text(outcome.replace('_', " "))],
            vec![text(took.map(format_duration).unwrap_or_default())],
            vec![text(cost(row.cost_usd.map(Usd)))],
        ]
    });
    table(vec!["No.", "Instruction", "Backend", "Model", "Outcome", "Duration", "Cost"], rows.collect())
}

/// The denied calls that are listed.
const MAX_DENIED: usize = 50;

fn denied(calls: &[DeniedCall]) -> Option<ReportBlock> {
    if calls.is_empty() {
        return None;
    }
    let row = |call: &DeniedCall| {
        let subject = call.subject.as_deref().unwrap_or_default();
        vec![vec![text(call.tool.as_str())], vec![code(subject)], vec![text(call.reason.as_str())]]
    };
    let rows = calls.iter().take(MAX_DENIED).map(row).collect();
    let mut blocks = vec![ReportBlock::Table { head: vec!["Tool", "Call", "Reason"], rows }];
    if calls.len() > MAX_DENIED {
        blocks.push(paragraph(format!("{} more are in the journal.", calls.len() - MAX_DENIED)));
    }
    Some(section("Denied calls", blocks))
}

fn table(head: Vec<&'static str>, rows: Vec<Vec<ReportLine>>) -> ReportBlock {
    match rows.is_empty() {
        true => paragraph("There were no sessions."),
        false => ReportBlock::Table { head, rows },
    }
}
