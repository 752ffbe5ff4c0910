//! What the comparison says about our own targets. They hold for the agent as a user runs it, in its sandbox.

use super::comparison::{Line, Readings};
use super::native;
use crate::bench::sample::Sample;
use crate::bench::table::{Row, Verdict};

/// Parts of the best peer's time that we may take.
const WALL_PART: f64 = 0.5;
const CPU_PART: f64 = 0.25;
/// How much longer an agent may take when it is driven.
const DRIVING_PART: f64 = 0.05;
/// How much memory driving may take.
const DRIVING_MB: f64 = 30.0;
const PEAK_MB: f64 = 40.0;
const FIRST_REQUEST_MS: f64 = 50.0;

/// One row a target; none if ours could not be measured.
pub fn rows(lines: &[Line]) -> Vec<Row> {
    let measured = |is_ours: bool| {
        let chosen = lines.iter().filter(move |line| line.is_ours == is_ours && line.beside.is_none());
        chosen.filter_map(|line| Some((line.name.as_str(), line.readings.as_ref().ok()?)))
    };
    let Some((_, ours)) = measured(true).find(|(name, _)| name.starts_with(native::SANDBOXED.name)) else {
        return Vec::new();
    };
    let peers: Vec<_> = measured(false).collect();
    let mut rows = vec![
        beside_the_best("wall time", "half", WALL_PART, ours, &peers, |readings| &readings.wall),
        beside_the_best("processor time", "a quarter", CPU_PART, ours, &peers, |readings| &readings.cpu),
        Row {
            what: format!("{TASK}: largest process"),
            target: format!("under {PEAK_MB} MB"),
            measured: format!("{:.1} MB", ours.peak_mb),
            peer: best(&peers, |readings| readings.peak_mb, "MB"),
            verdict: Verdict::at_most(ours.peak_mb, PEAK_MB),
        },
        Row {
            what: format!("{TASK}: first request"),
            target: format!("within {FIRST_REQUEST_MS} ms of the start"),
            measured: ours.first_request.summary(),
            peer: best(&peers, |readings| readings.first_request.median(), "ms"),
            verdict: Verdict::at_most(ours.first_request.median(), FIRST_REQUEST_MS),
        },
    ];
    rows.extend(lines.iter().filter_map(|line| driven(line, lines)).flatten());
    rows
}

/// What it costs to drive an agent, beside the same agent alone: held by a sandbox, if it has one, as ours holds it.
fn driven(line: &Line, lines: &[Line]) -> Option<[Row; 2]> {
    let beside = line.beside?;
    let vendor = line.name.split("--backend ").nth(1)?.split('`').next()?;
    let alone = lines.iter().find(|other| other.name.starts_with(beside))?;
    let (ours, bare) = (line.readings.as_ref().ok()?, alone.readings.as_ref().ok()?);
    let more = ours.wall.times(&bare.wall) - 1.0;
    let a_session = more * bare.wall.median();
    let an_event = a_session / ours.events.max(1) as f64;
    let time = Row {
        what: format!("{TASK}: {vendor} driven by autonoe, wall time"),
        target: format!("at most {:.0} % more than alone", DRIVING_PART * 100.0),
        measured: format!(
            "{}: {:+.1} %, {a_session:+.0} ms a session, {an_event:+.2} ms an event ({} events)",
            ours.wall.summary(),
            more * 100.0,
            ours.events
        ),
        peer: format!("{}: {}", alone.name, bare.wall.summary()),
        verdict: Verdict::at_most(more, DRIVING_PART),
    };
    let memory = Row {
        what: format!("{TASK}: {vendor} driven by autonoe, memory of all our own processes"),
        target: format!("at most {DRIVING_MB} MB"),
        measured: format!("{:.1} MB", ours.own_mb),
        peer: format!("its largest process alone: {:.0} MB", bare.peak_mb),
        verdict: Verdict::at_most(ours.own_mb, DRIVING_MB),
    };
    Some([time, memory])
}

const TASK: &str = "ten shell calls and an answer";

fn beside_the_best(
    what: &str,
    part_in_words: &str,
    part: f64,
    ours: &Readings,
    peers: &[(&str, &Readings)],
    of: fn(&Readings) -> &Sample,
) -> Row {
    let least = peers.iter().map(|(_, peer)| of(peer).median()).reduce(f64::min);
    let ours = of(ours);
    let share = least.map(|least| format!(": {:.0} % of the best", ours.median() / least * 100.0));
    Row {
        what: format!("{TASK}: {what}"),
        target: format!("at most {part_in_words} of the best of the others"),
        measured: format!("{}{}", ours.summary(), share.unwrap_or_default()),
        peer: best(peers, |readings| of(readings).median(), "ms"),
        verdict: least.map_or(Verdict::NoTarget, |least| Verdict::at_most(ours.median(), least * part)),
    }
}

/// The peer that took the least, and what it took.
fn best(peers: &[(&str, &Readings)], of: impl Fn(&Readings) -> f64, unit: &str) -> String {
    let best = peers.iter().min_by(|(_, one), (_, other)| of(one).total_cmp(&of(other)));
    best.map_or_else(|| "none".to_owned(), |(name, readings)| format!("{name}: {:.0} {unit}", of(readings)))
}
