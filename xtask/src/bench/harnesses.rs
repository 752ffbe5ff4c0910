//! Measures the supervisor of a large fleet: its memory, its processor time, how soon it says how all harnesses stand, and whether each
//! event comes once.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::checkout::git;
use super::process::{peak_mb, processor_time};
use super::project::{BenchProject, check_run, id, serve};
use super::sample::Sample;
use super::script;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const HARNESSES: usize = 200;
const AT_ONCE: usize = 8;
const TARGET_MB: f64 = 100.0;
/// Of one processor, in percent.
const TARGET_LOAD: f64 = 10.0;
const TARGET_STATUS_MS: f64 = 50.0;
const STATUS_ROUNDS: usize = 30;
const SAMPLE_EVERY: Duration = Duration::from_millis(200);
/// Events that each harness has once.
const ONCE: [&str; 2] = ["harness_started", "harness_ended"];

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let project = fleet()?;
    let model = serve(&(1..=HARNESSES).map(session).collect::<String>())?;
    let mut command = project.with_model(autonoe, &model);
    command.args(["fleet", "up", "--json", "--", "--backend", "native", "--session-delay", "0s"]);
    let start = Instant::now();
    let mut supervisor = command.stdout(Stdio::piped()).spawn()?;
    let output = supervisor.stdout.take().ok_or("no output")?;
    let events = thread::spawn(move || count_events(output));
    let (mut peak, mut used) = (0.0_f64, Duration::ZERO);
    let status = loop {
        if let Some(status) = supervisor.try_wait()? {
            break status;
        }
        peak = peak.max(peak_mb(supervisor.id()).unwrap_or_default());
        used = used.max(processor_time(supervisor.id()).unwrap_or_default());
        thread::sleep(SAMPLE_EVERY);
    };
    let taken = start.elapsed();
    check_run(status, 0, &model)?;
    let events = events.join().map_err(|_| "the events could not be read")?;
    let wrong: Vec<_> = (1..=HARNESSES)
        .flat_map(|number| ONCE.map(|kind| (id(number).to_lowercase(), kind)))
        .filter(|(id, kind)| events.get(&(id.clone(), (*kind).to_owned())) != Some(&1))
        .collect();
    if !wrong.is_empty() {
        return Err(format!("{} events were lost or doubled: {:?}", wrong.len(), wrong.first()).into());
    }
    let load = used.as_secs_f64() / taken.as_secs_f64() * 100.0;
    let what = format!("a fleet of {HARNESSES} harnesses with a check each, {AT_ONCE} at the same time: ");
    let row = |what: String, target: String, measured: String, verdict: BenchVerdict| BenchRow {
        what,
        target,
        measured,
        peer: "none".to_owned(),
        verdict,
    };
    Ok(vec![
        row(
            format!("{what}memory of the supervisor"),
            format!("at most {TARGET_MB:.0} MB"),
            format!("{peak:.0} MB"),
            BenchVerdict::at_most(peak, TARGET_MB),
        ),
        row(
            "… its processor time".to_owned(),
            format!("at most {TARGET_LOAD:.0} % of a processor"),
            format!("{load:.1} %: {:.1} s of {:.0} s", used.as_secs_f64(), taken.as_secs_f64()),
            BenchVerdict::at_most(load, TARGET_LOAD),
        ),
        row(
            "… events that were lost or came twice".to_owned(),
            "none".to_owned(),
            format!("none of {}", HARNESSES * ONCE.len()),
            BenchVerdict::at_most(0.0, 0.0),
        ),
        measure_status(&project, autonoe)?,
    ])
}

fn measure_status(project: &BenchProject, autonoe: &Path) -> Result<BenchRow> {
    let mut commands = [project.command(autonoe), Command::new("true")];
    commands[0].args(["fleet", "status", "--json"]);
    let [ours, bare] = Sample::of_commands(&mut commands, STATUS_ROUNDS)?;
    Ok(BenchRow {
        what: format!("… `autonoe fleet status`, {HARNESSES} harnesses"),
        target: format!("at most {TARGET_STATUS_MS:.0} ms"),
        measured: format!("{} ({STATUS_ROUNDS} times)", ours.summary()),
        peer: format!("`true`: {}", bare.summary()),
        verdict: BenchVerdict::at_most(ours.median(), TARGET_STATUS_MS),
    })
}

/// A project with a roadmap of one task for each harness.
fn fleet() -> Result<BenchProject> {
    let project = BenchProject::empty()?;
    let mut file = format!(
        "# Fleet: Many\n\n## Strategy\n- coordination: parallel\n- max_concurrent: {AT_ONCE}\n\n## Sub-Harnesses\n"
    );
    for number in 1..=HARNESSES {
        let id = id(number).to_lowercase();
        let roadmap = format!(
            "# Roadmap: {id}\n\n## Tasks\n- [ ] **{id}**: Make {id}\n  - check: `test -f {id}.txt`\n"
        );
        fs::write(project.root().join(format!("{id}.md")), roadmap)?;
        file.push_str(&format!("### {id}\n- roadmap: {id}.md\n"));
    }
    fs::write(project.root().join("FLEET.md"), file)?;
    for arguments in
        [["init", "-q", "-b", "main", "."].as_slice(), &["add", "."], &["commit", "-q", "-m", "begin"]]
    {
        git(&project, arguments)?;
    }
    Ok(project)
}

fn session(number: usize) -> String {
    let id = id(number).to_lowercase();
    let command = format!("echo done > {id}.txt && git add {id}.txt && git commit -q -m {id}");
    let pass = [("deliverableId", id.as_str()), ("status", "passed")];
    let calls =
        [script::call("Bash", &[("command", &command)]), script::call("mcp__autonoe__set_status", &pass)];
    let turns: Vec<String> = calls.into_iter().map(|call| script::turn(&[call])).collect();
    let conversation = script::conversation(&[turns, vec![script::done()]].concat());
    conversation.replacen('\n', &format!("\nwhen = \"the task `{id}`\"\n"), 1)
}

/// How often each harness had an event of each kind.
fn count_events(output: ChildStdout) -> BTreeMap<(String, String), usize> {
    let mut found = BTreeMap::new();
    let lines = BufReader::new(output).lines().map_while(std::io::Result::ok);
    for event in lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok()) {
        if let (Some(id), Some(kind)) = (event["id"].as_str(), event["type"].as_str()) {
            *found.entry((id.to_owned(), kind.to_owned())).or_insert(0) += 1;
        }
    }
    found
}
