//! What a report says, and in which order: how it ended, what a person must decide, each deliverable, who worked, and what was
//! changed.

use std::collections::BTreeMap;

use autonoe_core::duration::format as format_duration;
use autonoe_core::event::RunEvent;
use autonoe_core::money::Usd;
use autonoe_core::redact::Redactor;
use autonoe_store::journal::history::SessionRow;
use autonoe_verify::Changes;
use jiff::Timestamp;

use super::changes::changes;
use super::cleaning::cleaned;
use super::decisions::decisions;
use super::deliverable::{deliverable, project_checks};
use super::document::{Block, Document, Line, Tone, badge, code, paragraph, section, text};
use super::facts::{Facts, shown, time};
use crate::present::{self, Level, cost};

/// Says what is known of a run. What was changed may not be known; then it is said why.
pub fn document(facts: &Facts, changed: &Result<Changes, String>, redactor: &Redactor) -> Document {
    let run = &facts.run;
    let day = time(&run.started_at).chars().take(10).collect::<String>();
    let title = format!("{}: {} {} of {day}", facts.project, run.command, run.id);
    let mut blocks = outcome(facts);
    blocks.extend(decisions(facts));
    blocks.push(match &facts.steps {
        Some(events) => section("Steps", vec![steps(events)]),
        None => deliverables(facts),
    });
    blocks.push(section("Who built it", vec![builders(&facts.sessions)]));
    blocks.push(section("Sessions", vec![sessions(&facts.sessions)]));
    blocks.push(section("What was changed", changes(facts, changed)));
    let version = env!("CARGO_PKG_VERSION");
    blocks.push(paragraph(format!("Written by autonoe {version} on {}.", shown(Timestamp::now()))));
    cleaned(Document { title, blocks }, redactor)
}

/// Each deliverable, and what stands behind it.
fn deliverables(facts: &Facts) -> Block {
    let mut parts: Vec<Block> = facts.status.active().map(|item| deliverable(item, facts)).collect();
    parts.extend(project_checks(facts));
    if parts.is_empty() {
        parts.push(paragraph("There are none yet."));
    }
    if !facts.is_last {
        let note = "They are shown as they stand now; a later run may have changed them.";
        parts.insert(0, paragraph(note));
    }
    section("Deliverables", parts)
}

/// How each step of a declarative agent ended, in the order of time.
fn steps(events: &[RunEvent]) -> Block {
    let rows: Vec<Vec<Line>> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::StepEnded { step, passed, message, next } => {
                let (tone, word) = if *passed { (Tone::Good, "passed") } else { (Tone::Bad, "failed") };
                let next = next.clone().unwrap_or_default();
                Some(vec![
                    vec![code(step.as_str())],
                    vec![badge(tone, word)],
                    vec![text(message.as_str())],
                    vec![text(next)],
                ])
            }
            RunEvent::Escalated { step, to, message } => {
                let help = badge(Tone::Open, "calls for help");
                Some(vec![
                    vec![code(step.as_str())],
                    vec![help],
                    vec![text(message.as_str())],
                    vec![text(to.as_str())],
                ])
            }
            _ => None,
        })
        .collect();
    match rows.is_empty() {
        true => paragraph("No step has ended."),
        false => Block::Table { head: vec!["Step", "Result", "Why", "Next"], rows },
    }
}

/// How the run ended, in a sentence and in numbers.
fn outcome(facts: &Facts) -> Vec<Block> {
    let run = &facts.run;
    let tally = facts.status.tally();
    let counts = match &run.report {
        Some(report) => present::assurance(report),
        None => present::passed(tally.passed, tally.verified, tally.claimed()),
    };
    let (tone, name, sentence, next) = match &run.report {
        Some(report) => {
            let (level, sentence, next) = present::ending(&report.outcome);
            let tone = match level {
                // What nobody has checked is not yet good.
                Level::Good | Level::Info if report.deliverables_claimed == 0 => Tone::Good,
                Level::Good | Level::Info | Level::Debug | Level::Setback | Level::Warning | Level::Hint => {
                    Tone::Open
                }
                Level::Error => Tone::Bad,
            };
            (tone, report.outcome.name(), sentence, next)
        }
        None if facts.is_under_way => (Tone::Plain, "under way", "It has not ended yet.".to_owned(), None),
        None => {
            let next = "The same command resumes it.".to_owned();
            (Tone::Bad, "unfinished", "Its process ended unexpectedly.".to_owned(), Some(next))
        }
    };
    let name = name.replace('_', " ");
    let sentence = match facts.steps {
        Some(_) => format!(" {sentence}"),
        None => format!(" {sentence} {counts}."),
    };
    let mut blocks = vec![Block::Paragraph(vec![badge(tone, name), text(sentence)])];
    blocks.extend(next.map(paragraph));

    let (total, blocked) = match &run.report {
        Some(report) => (report.deliverables_total, report.deliverables_blocked),
        None => (tally.total, tally.blocked),
    };
    let spent = match &run.report {
        Some(report) => report.cost_usd,
        None => facts.sessions.iter().map(|row| row.cost_usd.map(Usd)).sum(),
    };
    let mut list: Vec<(&'static str, Line)> =
        vec![("Command", vec![code(format!("autonoe {}", run.command))])];
    if let Some(report) = &run.report {
        list.push(("Exit code", vec![text(report.exit_code.to_string())]));
    }
    match &facts.steps {
        Some(events) => {
            let left = events.iter().filter(|event| matches!(event, RunEvent::StepEnded { .. })).count();
            list.push(("Steps", vec![text(format!("{left} ended"))]));
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
    list.push(("Began", vec![text(time(&run.started_at))]));
    list.extend(run.ended_at.as_ref().map(|at| ("Ended", vec![text(time(at))])));
    blocks.push(Block::Facts(list));
    blocks
}

/// Each backend and model, with the sessions that it had and what they cost.
fn builders(sessions: &[SessionRow]) -> Block {
    let mut of: BTreeMap<(&str, &str), Vec<&SessionRow>> = BTreeMap::new();
    for row in sessions {
        of.entry((&row.backend, &row.model)).or_default().push(row);
    }
    let rows = of.into_iter().map(|((backend, model), sessions)| {
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

fn sessions(sessions: &[SessionRow]) -> Block {
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

fn table(head: Vec<&'static str>, rows: Vec<Vec<Line>>) -> Block {
    match rows.is_empty() {
        true => paragraph("There was no session."),
        false => Block::Table { head, rows },
    }
}
