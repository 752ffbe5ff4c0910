//! Compares the results with our own targets, which apply to the native agent in its sandbox.

use super::comparison::{AgentReadings, ComparisonRow};
use super::native;
use crate::bench::sample::Sample;
use crate::bench::table::{BenchRow, BenchVerdict};

/// The largest allowed part of the best peer's time.
const WALL_PART: f64 = 0.5;
const CPU_PART: f64 = 0.25;
/// How much longer an agent may take when `autonoe` drives it.
const DRIVING_PART: f64 = 0.05;
/// How much memory our own processes may take to drive an agent.
const DRIVING_MB: f64 = 30.0;
const PEAK_MB: f64 = 40.0;
const FIRST_REQUEST_MS: f64 = 50.0;

/// One row per target; empty if our own agent could not be measured.
pub fn rows(lines: &[ComparisonRow]) -> Vec<BenchRow> {
    let measured = |is_ours: bool| {
        let chosen = lines.iter().filter(move |line| line.is_ours == is_ours && line.compared_with.is_none());
        chosen.filter_map(|line| Some((line.name.as_str(), line.readings.as_ref().ok()?)))
    };
    let Some((_, ours)) = measured(true).find(|(name, _)| name.starts_with(native::SANDBOXED.name)) else {
        return Vec::new();
    };
    let peers: Vec<_> = measured(false).collect();
    let mut rows = vec![
        compared_with_best("wall time", "half", WALL_PART, ours, &peers, |readings| &readings.wall),
        compared_with_best("processor time", "a quarter", CPU_PART, ours, &peers, |readings| &readings.cpu),
        BenchRow {
            what: format!("{TASK}: largest process"),
            target: format!("under {PEAK_MB} MB"),
            measured: format!("{:.1} MB", ours.peak_mb),
            peer: best(&peers, |readings| readings.peak_mb, "MB"),
            verdict: BenchVerdict::at_most(ours.peak_mb, PEAK_MB),
        },
        BenchRow {
            what: format!("{TASK}: first request"),
            target: format!("within {FIRST_REQUEST_MS} ms of the start"),
            measured: ours.first_request.summary(),
            peer: best(&peers, |readings| readings.first_request.median(), "ms"),
            verdict: BenchVerdict::at_most(ours.first_request.median(), FIRST_REQUEST_MS),
        },
    ];
    rows.extend(lines.iter().filter_map(|line| driven(line, lines)).flatten());
    rows
}

/// The cost of driving an agent, compared with the same agent alone, in its own sandbox if it has one.
fn driven(line: &ComparisonRow, lines: &[ComparisonRow]) -> Option<[BenchRow; 2]> {
    let compared_with = line.compared_with?;
    let vendor = line.name.split("--backend ").nth(1)?.split('`').next()?;
    let alone = lines.iter().find(|other| other.name.starts_with(compared_with))?;
    let (ours, bare) = (line.readings.as_ref().ok()?, alone.readings.as_ref().ok()?);
    let more = ours.wall.ratio(&bare.wall) - 1.0;
    let a_session = more * bare.wall.median();
    let an_event = a_session / ours.events.max(1) as f64;
    let time = BenchRow {
        what: format!("{TASK}: {vendor} driven by autonoe, wall time"),
        target: format!("at most {:.0} % more than alone", DRIVING_PART * 100.0),
        measured: format!(
            "{}: {:+.1} %, {a_session:+.0} ms a session, {an_event:+.2} ms an event ({} events)",
            ours.wall.summary(),
            more * 100.0,
            ours.events
        ),
        peer: format!("{}: {}", alone.name, bare.wall.summary()),
        verdict: BenchVerdict::at_most(more, DRIVING_PART),
    };
    let memory = BenchRow {
        what: format!("{TASK}: {vendor} driven by autonoe, memory of all our own processes"),
        target: format!("at most {DRIVING_MB} MB"),
        measured: format!("{:.1} MB", ours.own_mb),
        peer: format!("its largest process alone: {:.0} MB", bare.peak_mb),
        verdict: BenchVerdict::at_most(ours.own_mb, DRIVING_MB),
    };
    Some([time, memory])
}

const TASK: &str = "ten shell calls and an answer";

fn compared_with_best(
    what: &str,
    part_in_words: &str,
    part: f64,
    ours: &AgentReadings,
    peers: &[(&str, &AgentReadings)],
    of: fn(&AgentReadings) -> &Sample,
) -> BenchRow {
    let least = peers.iter().map(|(_, peer)| of(peer).median()).reduce(f64::min);
    let ours = of(ours);
    let share = least.map(|least| format!(": {:.0} % of the best", ours.median() / least * 100.0));
    BenchRow {
        what: format!("{TASK}: {what}"),
        target: format!("at most {part_in_words} of the best of the others"),
        measured: format!("{}{}", ours.summary(), share.unwrap_or_default()),
        peer: best(peers, |readings| of(readings).median(), "ms"),
        verdict: least
            .map_or(BenchVerdict::NoTarget, |least| BenchVerdict::at_most(ours.median(), least * part)),
    }
}

/// The peer that took the least, and what it took.
fn best(peers: &[(&str, &AgentReadings)], of: impl Fn(&AgentReadings) -> f64, unit: &str) -> String {
    let best = peers.iter().min_by(|(_, one), (_, other)| of(one).total_cmp(&of(other)));
    best.map_or_else(|| "none".to_owned(), |(name, readings)| format!("{name}: {:.0} {unit}", of(readings)))
}
