//! Measures what several agents gain: the same deliverables, built one after another and by several agents at the same time.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::checkout::git;
use super::project::{BenchProject, check_run, id, serve};
use super::script;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const DELIVERABLES: usize = 16;
const AGENTS: usize = 8;
/// Before each piece of a reply, of which there are about seven.
const PAUSE: Duration = Duration::from_millis(150);
const TARGET: f64 = 5.0;

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
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
    for arguments in
        [["init", "-q", "-b", "main", "."].as_slice(), &["add", "SPEC.md"], &["commit", "-q", "-m", "begin"]]
    {
        git(&project, arguments)?;
    }
    let model = serve(&model_script(options.is_empty()))?;
    let mut command = project.run(autonoe, &model);
    command.args(options);
    let start = Instant::now();
    let status = command.status()?;
    let taken = start.elapsed();
    check_run(status, 0, &model)?;
    Ok(taken)
}

/// One session per deliverable. One after another they come in the order of the list; at the same time, each says which it is.
fn model_script(is_alone: bool) -> String {
    let session = |number: usize| {
        let file = format!("{}.txt", id(number));
        let command = format!("echo done > {file} && git add {file} && git commit -q -m {}", id(number));
        let calls = [script::call("Bash", &[("command", &command)]), script::passed(number)];
        let turns: Vec<String> = calls.into_iter().map(|call| slow(&script::turn(&[call]))).collect();
        let conversation = script::conversation(&[turns, vec![slow(&script::done())]].concat());
        match is_alone {
            true => conversation,
            false => conversation.replacen('\n', &format!("\nwhen = \"Yours is **{}**\"\n", id(number)), 1),
        }
    };
    (1..=DELIVERABLES).map(session).collect()
}

fn slow(turn: &str) -> String {
    format!("  fault = {{ kind = \"slow\", millis = {} }}\n{turn}", PAUSE.as_millis())
}
