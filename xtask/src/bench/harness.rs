//! Measures the parts of the harness that run between sessions: roadmaps, their schedule, the score of a session, and how a killed one is
//! resumed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use autonoe_harness::progress::{ProgressDetector, SessionTrace, TreeSnapshot};
use autonoe_harness::roadmap::Roadmap;
use autonoe_harness::schedule::{Next, Schedule, TaskRecord, TaskStatus};
use autonoe_scripted::ScriptedServer;

use super::project::{BenchProject, id, serve};
use super::resume::first_request;
use super::sample::Sample;
use super::script;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const ROUNDS: usize = 50;
const TASKS: usize = 1000;
const SCHEDULE_TARGET_MS: f64 = 50.0;
const FILES: usize = 5000;
const FILES_PER_DIRECTORY: usize = 50;
const CHANGED_FILES: usize = 20;
const SCORE_TARGET_MS: f64 = 30.0;
const RESUMED_TASKS: usize = 30;
const RESUMES: usize = 20;
const RESUME_TARGET_MS: f64 = 100.0;
/// Maximum time of the sessions before the kill.
const PREPARATION: Duration = Duration::from_secs(120);

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    Ok(vec![measure_schedule()?, measure_dry_run(autonoe)?, measure_score()?, measure_resume(autonoe)?])
}

fn measure_schedule() -> Result<BenchRow> {
    let text = roadmap();
    let mut sample = Sample::default();
    for _ in 0..ROUNDS {
        let run = sample.time(|| run_all(&text))?;
        if run != TASKS {
            return Err(format!("{run} of {TASKS} tasks were scheduled").into());
        }
    }
    Ok(BenchRow {
        what: format!("a roadmap of {TASKS} tasks with dependencies: parsed, and each task scheduled"),
        target: format!("at most {SCHEDULE_TARGET_MS:.0} ms"),
        measured: format!("{} ({ROUNDS} times)", sample.summary()),
        peer: "none".to_owned(),
        verdict: BenchVerdict::at_most(sample.median(), SCHEDULE_TARGET_MS),
    })
}

/// As a user sees it: with the start of the process, and the prompts of all tasks.
fn measure_dry_run(autonoe: &Path) -> Result<BenchRow> {
    let project = BenchProject::empty()?;
    fs::write(project.root().join("ROADMAP.md"), roadmap())?;
    let mut commands = [project.command(autonoe), project.command(autonoe)];
    commands[0].args(["harness", "run", "--dry-run"]);
    commands[1].arg("--version");
    let [ours, bare] = Sample::of_commands(&mut commands, ROUNDS)?;
    Ok(BenchRow {
        what: format!("… whole: `autonoe harness run --dry-run`, {TASKS} tasks"),
        target: format!("at most {SCHEDULE_TARGET_MS:.0} ms"),
        measured: format!("{} ({ROUNDS} times)", ours.summary()),
        peer: format!("`autonoe --version`: {}", bare.summary()),
        verdict: BenchVerdict::at_most(ours.median(), SCHEDULE_TARGET_MS),
    })
}

/// To the first request to the model, of a run that was killed in its last task.
fn measure_resume(autonoe: &Path) -> Result<BenchRow> {
    let runs = [killed_run(autonoe, RESUMED_TASKS)?, killed_run(autonoe, 1)?];
    let mut samples = [Sample::default(), Sample::default()];
    for _ in 0..RESUMES {
        for (project, sample) in runs.iter().zip(&mut samples) {
            let model = serve(&script::silent())?;
            sample.add(first_request(&mut harness_run(project, autonoe, &model), &model)?);
        }
    }
    let [ours, one] = samples;
    Ok(BenchRow {
        what: format!(
            "resume of a {RESUMED_TASKS}-task run: `autonoe harness run` to its first model request"
        ),
        target: format!("at most {RESUME_TARGET_MS:.0} ms"),
        measured: format!("{} ({RESUMES} times)", ours.summary()),
        peer: format!("1-task run: {}", one.summary()),
        verdict: BenchVerdict::at_most(ours.median(), RESUME_TARGET_MS),
    })
}

/// A project whose run was killed in the last of its tasks.
fn killed_run(autonoe: &Path, tasks: usize) -> Result<BenchProject> {
    let project = BenchProject::empty()?;
    let mut text = "# Roadmap: Bench\n## Tasks\n".to_owned();
    for number in 1..=tasks {
        let _ = writeln!(text, "- [ ] **{}**: Task {number}", id(number));
    }
    fs::write(project.root().join("ROADMAP.md"), text)?;
    let sessions = tasks - 1;
    let model = serve(&(script::passing(sessions) + &script::silent()))?;
    let mut run = harness_run(&project, autonoe, &model).spawn()?;
    // Two requests of each session, and the first one of the last.
    let start = Instant::now();
    while model.requests().len() <= 2 * sessions {
        if run.try_wait()?.is_some() || start.elapsed() > PREPARATION {
            return Err(format!("The run of {tasks} tasks ended too early: {:?}", model.problems()).into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    run.kill()?;
    run.wait()?;
    Ok(project)
}

fn harness_run(project: &BenchProject, autonoe: &Path, model: &ScriptedServer) -> Command {
    let mut command = project.with_model(autonoe, model);
    command.args(["harness", "run", "--backend", "native", "--session-delay", "0s"]);
    command
}

/// Each task depends on three earlier ones.
fn roadmap() -> String {
    let mut text = "# Roadmap: Bench\n## Objective\nMeasure.\n## Tasks\n".to_owned();
    for number in 0..TASKS {
        let depends: Vec<String> = [1, 7, 50]
            .iter()
            .filter(|back| **back <= number)
            .map(|back| format!("t{}", number - back))
            .collect();
        let depends = if depends.is_empty() { "none".to_owned() } else { depends.join(", ") };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "- [ ] **t{number}**: Task {number}\n  - timeout: 1h\n  - depends: {depends}\n  - check: `make t{number}`\n"
        );
    }
    text
}

/// The number of tasks that were run.
fn run_all(text: &str) -> Result<usize> {
    let mut schedule = Schedule::new(&Roadmap::parse(text, &[])?);
    let mut run = 0;
    while let Next::Run(id) = schedule.next() {
        schedule.set(id.as_str(), TaskRecord { status: TaskStatus::Completed, attempts: 1 });
        run += 1;
    }
    Ok(run)
}

fn measure_score() -> Result<BenchRow> {
    let directory = tempfile::tempdir()?;
    let root = directory.path();
    for number in 0..FILES {
        let path = root.join(format!("d{}", number / FILES_PER_DIRECTORY));
        fs::create_dir_all(&path)?;
        fs::write(path.join(format!("f{number}.rs")), format!("fn f{number}() {{}}\n").repeat(40))?;
    }
    fs::write(root.join(".gitignore"), "/target\n*.log\n")?;
    let mut detector = ProgressDetector::default();
    detector.start(Some(TreeSnapshot::take(root, None)?), BTreeSet::new());
    let mut sample = Sample::default();
    for round in 0..ROUNDS {
        for number in 0..CHANGED_FILES {
            fs::write(root.join(format!("d{number}/new.rs")), format!("// {round}\n").repeat(40))?;
        }
        let output = output(round);
        let report = sample.time(|| {
            let tree = TreeSnapshot::take(root, detector.tree())?;
            let session = SessionTrace { output, tree: Some(tree), ..SessionTrace::default() };
            Ok::<_, std::io::Error>(detector.observe(session))
        })?;
        if report.signal.file_changes_score != Some(1.0) {
            return Err(format!("the changed files were not seen: {report:?}").into());
        }
    }
    Ok(BenchRow {
        what: format!(
            "the score of a session: {FILES} files, {CHANGED_FILES} of them changed, 32 KiB of output"
        ),
        target: format!("at most {SCORE_TARGET_MS:.0} ms"),
        measured: format!("{} ({ROUNDS} times)", sample.summary()),
        peer: "none".to_owned(),
        verdict: BenchVerdict::at_most(sample.median(), SCORE_TARGET_MS),
    })
}

/// Differs from round to round, but not in every word.
fn output(round: usize) -> String {
    let mut text = String::new();
    for line in 0..700 {
        let _ =
            writeln!(text, "line {line}: compiled part {} of round {}", line * 7 % 97, (line * round) % 11);
    }
    text
}
