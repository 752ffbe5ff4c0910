//! Measures what several agents gain: the same deliverables, built one after another and by several agents at the same time.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::checkout::{fill, git};
use super::project::{BenchProject, check_run, id, serve};
use super::resume::first_request;
use super::sample::Sample;
use super::script;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const DELIVERABLES: usize = 16;
const AGENTS: usize = 8;
/// Before each piece of a reply, of which there are about seven.
const PAUSE: Duration = Duration::from_millis(150);
const TARGET: f64 = 5.0;

/// Deliverables that wait for each other, so that only the queue differs.
const CHAIN: usize = 8;
const CHAIN_ROUNDS: usize = 5;
const QUEUE_TARGET_MS: f64 = 100.0;

const SPAWNS: usize = 15;
const SPAWN_TARGET_MS: f64 = 300.0;

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let mut rows = measure_gain(autonoe)?;
    rows.push(measure_queue(autonoe)?);
    rows.push(measure_spawn(autonoe)?);
    Ok(rows)
}

fn measure_gain(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let alone = build(autonoe, &[])?;
    let agents = AGENTS.to_string();
    let together = build(autonoe, &["--agents", &agents])?;
    let times = alone.as_secs_f64() / together.as_secs_f64();
    let slowest = alone.as_secs_f64() / DELIVERABLES as f64;
    let rounds = DELIVERABLES.div_ceil(AGENTS) as f64;
    let queue = (together.as_secs_f64() - rounds * slowest) * 1000.0 / DELIVERABLES as f64;
    Ok(vec![
        BenchRow {
            what: format!(
                "{DELIVERABLES} deliverables with a check each, {AGENTS} agents, a model that takes about 1 s for a reply"
            ),
            target: format!("at least {TARGET:.0} times as fast as one at a time"),
            measured: format!("{:.1} s: {times:.1} times as fast", together.as_secs_f64()),
            peer: format!("one at a time: {:.1} s", alone.as_secs_f64()),
            verdict: BenchVerdict::at_most(TARGET / times, 1.0),
        },
        BenchRow {
            what: "… of these, what each deliverable takes longer than its part of the rounds: queue, checks and waiting".to_owned(),
            target: String::new(),
            measured: format!("{queue:.0} ms"),
            peer: "none".to_owned(),
            verdict: BenchVerdict::NoTarget,
        },
    ])
}

fn build(autonoe: &Path, options: &[&str]) -> Result<Duration> {
    let project = BenchProject::with_deliverables(DELIVERABLES)?;
    let check = |number: usize| json!({ "name": format!("file-{number}"), "deliverable": id(number), "run": format!("test -f {}.txt", id(number)) });
    let checks: Vec<_> = (1..=DELIVERABLES).map(check).collect();
    fs::write(project.root().join(".autonoe/checks.json"), json!({ "checks": checks }).to_string())?;
    begin(&project)?;
    run(&project, autonoe, options, &model_script(DELIVERABLES, options.is_empty(), PAUSE))
}

fn run(project: &BenchProject, autonoe: &Path, options: &[&str], script: &str) -> Result<Duration> {
    let model = serve(script)?;
    let mut command = project.run(autonoe, &model);
    command.args(options);
    let start = Instant::now();
    let status = command.status()?;
    let taken = start.elapsed();
    check_run(status, 0, &model)?;
    Ok(taken)
}

/// What merging and landing by the queue costs: the same chain without checks, with a model that answers at once.
fn measure_queue(autonoe: &Path) -> Result<BenchRow> {
    let mut samples = [Sample::default(), Sample::default()];
    for _ in 0..CHAIN_ROUNDS {
        for (options, sample) in [["--agents", "2"].as_slice(), &[]].into_iter().zip(&mut samples) {
            let project = chain()?;
            let script = model_script(CHAIN, options.is_empty(), Duration::ZERO);
            sample.add(run(&project, autonoe, options, &script)? / CHAIN as u32);
        }
    }
    let [queued, alone] = samples;
    let more = queued.median() - alone.median();
    Ok(BenchRow {
        what: format!(
            "{CHAIN} deliverables without checks, each after the one before: what the queue adds to each"
        ),
        target: format!("at most {QUEUE_TARGET_MS} ms"),
        measured: format!("{more:.0} ms: {} each ({} times)", queued.summary(), queued.count()),
        peer: format!("one agent: {}", alone.summary()),
        verdict: BenchVerdict::at_most(more, QUEUE_TARGET_MS),
    })
}

fn chain() -> Result<BenchProject> {
    let project = BenchProject::with_deliverables(CHAIN)?;
    let file = project.root().join(".autonoe/status.json");
    let mut status: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    for number in 2..=CHAIN {
        status["deliverables"][number - 1]["depends"] = json!([id(number - 1)]);
    }
    fs::write(file, status.to_string())?;
    begin(&project)?;
    Ok(project)
}

/// To the first request of a worker whose workspace is new, in a repository of 5,000 files that agents have worked in.
fn measure_spawn(autonoe: &Path) -> Result<BenchRow> {
    let project = BenchProject::with_deliverables(2)?;
    fill(&project.root())?;
    begin(&project)?;
    let request = || {
        let model = serve(&script::silent())?;
        first_request(project.run(autonoe, &model).args(["--agents", "2"]), &model)
    };
    request()?;
    let workspaces = project.store_project()?.state_dir().join("hub/workspaces");
    let mut samples = [Sample::default(), Sample::default()];
    for round in 0..SPAWNS {
        // Removing 5,000 files keeps the disk busy afterwards. Either worker may be the first to ask.
        for name in ["worker-1", "worker-2"].into_iter().filter(|name| workspaces.join(name).exists()) {
            fs::rename(workspaces.join(name), project.home().join(format!("{name}-{round}")))?;
        }
        for sample in &mut samples {
            sample.add(request()?);
        }
    }
    let [new, again] = samples;
    Ok(BenchRow {
        what: "`autonoe run --agents 2` to the first model request of a worker with a new workspace, 5,000 files".to_owned(),
        target: format!("at most {SPAWN_TARGET_MS} ms"),
        measured: format!("{} ({} times)", new.summary(), new.count()),
        peer: format!("in the same workspace: {}", again.summary()),
        verdict: BenchVerdict::at_most(new.median(), SPAWN_TARGET_MS),
    })
}

/// Commits everything but the status.
fn begin(project: &BenchProject) -> Result {
    fs::write(project.root().join(".gitignore"), ".autonoe/\n")?;
    for arguments in
        [["init", "-q", "-b", "main", "."].as_slice(), &["add", "--all"], &["commit", "-q", "-m", "begin"]]
    {
        git(project, arguments)?;
    }
    Ok(())
}

/// One session per deliverable. One after another they come in the order of the list; at the same time, each says which it is.
fn model_script(deliverables: usize, is_alone: bool, pause: Duration) -> String {
    let session = |number: usize| {
        let file = format!("{}.txt", id(number));
        let command = format!("echo done > {file} && git add {file} && git commit -q -m {}", id(number));
        let calls = [script::call("Bash", &[("command", &command)]), script::passed(number)];
        let turns: Vec<String> = calls.into_iter().map(|call| slow(&script::turn(&[call]), pause)).collect();
        let conversation = script::conversation(&[turns, vec![slow(&script::done(), pause)]].concat());
        match is_alone {
            true => conversation,
            false => conversation.replacen('\n', &format!("\nwhen = \"Yours is **{}**\"\n", id(number)), 1),
        }
    };
    (1..=deliverables).map(session).collect()
}

fn slow(turn: &str, pause: Duration) -> String {
    if pause.is_zero() {
        return turn.to_owned();
    }
    format!("  fault = {{ kind = \"slow\", millis = {} }}\n{turn}", pause.as_millis())
}
