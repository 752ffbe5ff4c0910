//! One project on its way to the end of its run, stopped again and again.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use std::collections::HashMap;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::job::Job;
use super::layer::Layer;
use super::residue::{self, Remains};
use crate::bench::project::{BenchProject, serve};
use crate::result::Result;

/// Kills of one journey at most: then it is let through.
const KILLS_A_JOURNEY: usize = 12;

/// How long a run may take to end when it is asked to; the promise is a second, and the machine is busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a run may take that nobody stops.
const LONGEST_RUN: Duration = Duration::from_secs(300);

/// What came of journeys.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Projects that came to their end.
    pub journeys: usize,
    /// Runs that were stopped on the way.
    pub kills: usize,
    /// What should not be.
    pub wrong: Vec<String>,
}

impl Account {
    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.journeys += other.journeys;
        self.kills += other.kills;
        self.wrong.extend(other.wrong);
    }

    /// In words.
    pub fn summary(&self) -> String {
        format!("{} kills in {} projects, {} wrong", self.kills, self.journeys, self.wrong.len())
    }
}

/// A journey that nobody stops: how long it takes, and what is there at its end.
#[derive(Clone)]
struct Reference {
    duration: Duration,
    remains: Remains,
}

/// Stops a run at random moments, `kills` times at most, then lets it come to its end and looks at what is left.
pub fn travel(autonoe: &Path, job: &Job, layer: &Layer, kills: usize) -> Result<Account> {
    let reference = reference(autonoe, job, layer)?;
    let (place, model) = (job.lay_out()?, serve(&job.script())?);
    let mut account = Account { journeys: 1, ..Account::default() };
    let (mut is_done, mut was_killed) = (false, false);
    while !is_done && account.kills < kills.min(KILLS_A_JOURNEY) {
        let mut child = start(autonoe, job, layer, &place, &model, account.kills > 0)?;
        let moment = reference.duration.mul_f64(random());
        let signal = [Signal::SIGKILL, Signal::SIGINT, Signal::SIGTERM][(random() * 3.0) as usize % 3];
        match wait(&mut child, moment)? {
            Some(status) => is_done = ended_well(status, &place, &mut account),
            None => {
                kill(Pid::from_raw(i32::try_from(child.id())?), signal)?;
                stopped(&mut child, signal, &place, &mut account)?;
                account.kills += 1;
                is_done = residue::is_done(&place);
                was_killed = is_done && signal == Signal::SIGKILL;
            }
        }
        account
            .wrong
            .extend(residue::processes(&place.root()).map(|left| format!("left after {signal}: {left}")));
        if !account.wrong.is_empty() {
            return Ok(account);
        }
    }
    if !is_done {
        let mut child = start(autonoe, job, layer, &place, &model, account.kills > 0)?;
        match wait(&mut child, LONGEST_RUN)? {
            Some(status) => drop(ended_well(status, &place, &mut account)),
            None => {
                child.kill()?;
                account.wrong.push("the last run does not end".to_owned());
            }
        }
    }
    if was_killed {
        // What a killed process leaves, the next start removes; one that acquires the project and does nothing else is enough.
        let (mut command, programs) = job.command(&place, autonoe, &model)?;
        layer.apply(command.args(["checks", "reject", "nothing"]), &programs);
        command.status()?;
    }
    let remains = residue::remains(&place)?;
    account.wrong.extend(reference.remains.differences(&remains));
    Ok(account)
}

/// Made once for each kind of journey.
fn reference(autonoe: &Path, job: &Job, layer: &Layer) -> Result<Reference> {
    static KNOWN: OnceLock<Mutex<HashMap<String, Reference>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    let name = format!("{} {}", job.name, layer.name);
    let lock = || known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(reference) = lock().get(&name) {
        return Ok(reference.clone());
    }
    let (place, model) = (job.lay_out()?, serve(&job.script())?);
    let begun = Instant::now();
    let mut child = start(autonoe, job, layer, &place, &model, false)?;
    let status = wait(&mut child, LONGEST_RUN)?;
    let duration = begun.elapsed();
    if !status.is_some_and(|status| status.success()) {
        let _ = child.kill();
        return Err(format!("{name}: a run that nobody stops ended with {status:?}").into());
    }
    let reference = Reference { duration, remains: residue::remains(&place)? };
    lock().insert(name, reference.clone());
    Ok(reference)
}

fn start(
    autonoe: &Path,
    job: &Job,
    layer: &Layer,
    place: &BenchProject,
    model: &autonoe_scripted::ScriptedServer,
    was_stopped: bool,
) -> Result<Child> {
    let (mut command, programs) = job.command(place, autonoe, model)?;
    // An agent that was stopped before it was on record has nothing to resume.
    let has_begun = was_stopped && residue::has_begun(place);
    command.args(job.commands[usize::from(has_begun)]);
    command.args(["--backend", job.backend(), "--session-delay", "0s"]);
    layer.apply(&mut command, &programs);
    Ok(command.spawn()?)
}

/// How it ended, if it did in time.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= limit {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A run that was not stopped has to end well.
fn ended_well(status: ExitStatus, place: &BenchProject, account: &mut Account) -> bool {
    if !status.success() {
        account.wrong.push(format!("a run ended with {status}: {}", residue::last_outcome(place)));
    }
    true
}

/// A run that was asked to stop does, and says that it was interrupted unless it was done already.
fn stopped(child: &mut Child, signal: Signal, place: &BenchProject, account: &mut Account) -> Result {
    let Some(status) = wait(child, PATIENCE)? else {
        child.kill()?;
        child.wait()?;
        account.wrong.push(format!("{signal} did not end it"));
        return Ok(());
    };
    // Before it listens to signals, nothing has begun that must be ended first.
    let was_early = status.signal() == Some(signal as i32);
    if !was_early && !matches!(status.code(), Some(0 | 130)) {
        account
            .wrong
            .push(format!("after {signal} it ended with {status}: {}", residue::last_outcome(place)));
    }
    Ok(())
}

/// A number from 0 to 1.
fn random() -> f64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let bits = RandomState::new().build_hasher().finish();
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
