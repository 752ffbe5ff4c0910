//! `autonoe harness run`

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::money::Usd;
use autonoe_core::outcome::{PlanReport, RunOutcome, RunReport, exit};
use autonoe_core::redact::Redactor;
use autonoe_core::status::Tally;
use autonoe_fleet::BEGIN;
use autonoe_harness::alerts::OnCritical;
use autonoe_harness::control::HarnessFileError;
use autonoe_harness::id::check_harness_id;
use autonoe_harness::roadmap::Roadmap;
use autonoe_harness::task_plan::RoadmapFile;
use autonoe_workspace::{LandWhen, OwnEditedFile, SiteOptions};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use serde_json::Value;

use super::{dry_run, open_roadmap};
use crate::arguments::{CommonArgs, WorkArgs};
use crate::backend_name::BackendWithModel;
use crate::commands::run::LandChoice;
use crate::completion_candidates;
use crate::detach::leave_terminal;
use crate::engine::{RoadmapJob, RunJob, RunRequest, drive};
use crate::environment::Environment;
use crate::present;

/// Run the tasks of a roadmap until all of them are completed or blocked
#[derive(Debug, Args)]
pub struct HarnessRunArgs {
    /// The roadmap, a file in the project
    #[arg(value_name = "FILE", default_value = "ROADMAP.md")]
    file: PathBuf,

    /// Show the order of the tasks and their prompts without calling a model; nothing is marked as done
    #[arg(long)]
    dry_run: bool,

    /// Name of the directory below .harness/ with the control files [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    id: Option<String>,

    /// Pause when something critical happens, such as a blocked task, until the file .harness/NAME/pause is removed
    #[arg(long)]
    pause_on_critical: bool,

    /// Begin unfinished tasks anew, with all of their attempts, instead of continuing where the last run ended
    #[arg(long)]
    fresh: bool,

    /// When all tasks are completed, let an agent propose at most N further ones, add them to the file, and run them
    #[arg(long, value_name = "N", value_parser = further_tasks)]
    growth: Option<NonZeroUsize>,

    /// Set for the harnesses of a fleet: the project whose context they share
    #[arg(long, value_name = "DIR", hide = true)]
    in_fleet: Option<PathBuf>,

    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    work: WorkArgs,

    /// When the agents' commits come to your branch [default: passed]
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["in_place", "no_sandbox"])]
    land: Option<LandChoice>,

    /// Agent that reviews tasks without checks: NAME or NAME:MODEL [default: the agent of the run, in a session of its own]
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion_candidates::agents))]
    verifier: Option<BackendWithModel>,
}

pub fn cmd_run(args: &HarnessRunArgs, environment: &Environment) -> Result<u8, Fault> {
    if args.in_fleet.is_some() && !may_begin() {
        // The supervisor was killed before it had this process on record, so nobody would know of it.
        return Ok(exit::DONE);
    }
    let Opened { file, roadmap, id } = open(args, environment).inspect_err(|fault| {
        if args.common.json {
            print_json_line(&outcome(&RunOutcome::Failed { fault: fault.clone() }), environment);
        }
    })?;
    if args.dry_run {
        match args.common.json {
            true => {
                let outcome = outcome(&RunOutcome::ConditionMet { reason: NOTHING_RUN.to_owned() });
                let lines = dry_run::as_json(&roadmap).into_iter().chain([outcome]);
                lines.for_each(|line| print_json_line(&line, environment));
            }
            false => present::print(&dry_run::as_text(&roadmap, args.growth)),
        }
        return Ok(exit::DONE);
    }
    let on_critical = if args.pause_on_critical { OnCritical::Pause } else { OnCritical::Continue };
    let file = Arc::new(file);
    let own_edits = Some(OwnEditedFile(Arc::clone(&file) as _));
    let has_time_limit = args.common.max_duration.is_some();
    let job = Box::new(RoadmapJob {
        file,
        roadmap,
        id,
        on_critical,
        growth: args.growth,
        is_fresh: args.fresh,
        has_time_limit,
        fleet: args.in_fleet.clone(),
    });
    let site = || SiteOptions {
        when: args.land.map(LandWhen::from).unwrap_or_default(),
        own_edits,
        ..SiteOptions::default()
    };
    let job = RunJob::Roadmap { job, verifier: args.verifier.as_ref() };
    let request = RunRequest::new(job, &args.common).working(&args.work, site);
    drive(request, environment)
}

struct Opened {
    file: RoadmapFile,
    roadmap: Roadmap,
    id: String,
}

fn open(args: &HarnessRunArgs, environment: &Environment) -> Result<Opened, Fault> {
    let (file, roadmap) = open_roadmap(&args.file, &args.common.project, environment)?;
    let id = args.id.clone().unwrap_or_else(|| default_id(file.name()));
    match check_harness_id(&id) {
        Ok(()) => Ok(Opened { file, roadmap, id }),
        Err(why) => {
            let message = HarnessFileError::Id { id, why }.to_string();
            Err(Fault::permanent(FaultLayer::Config, "harness_id", message)
                .hint("Choose another name with --id."))
        }
    }
}

/// The reason that the outcome of a dry run has.
const NOTHING_RUN: &str = "nothing was run (--dry-run).";

/// The last line of `--json`, where there is no run.
fn outcome(outcome: &RunOutcome) -> Value {
    let report = RunReport {
        outcome: outcome.clone(),
        exit_code: outcome.exit_code(),
        iterations: 0,
        duration: Duration::ZERO,
        cost_usd: Some(Usd::default()),
        plan: PlanReport::Deliverables(Tally::default()),
    };
    // An event can always be written.
    serde_json::to_value(RunEvent::Outcome(report)).unwrap_or_default()
}

fn print_json_line(line: &Value, environment: &Environment) {
    let mut line = line.clone();
    line["at"] = Timestamp::now().to_string().into();
    let line = Redactor::new(&environment.secrets()).json(&line).unwrap_or_default();
    present::print_json(&format!("{line}\n"));
}

/// Waits until the supervisor of the fleet has this process on record.
fn may_begin() -> bool {
    leave_terminal();
    let mut line = String::new();
    std::io::stdin().lock().take(BEGIN.len() as u64).read_to_string(&mut line).is_ok()
        && line.as_bytes() == BEGIN
}

/// `ROADMAP.md` is `roadmap`. A name that no harness can have becomes `roadmap-NAME`.
fn default_id(name: &Path) -> String {
    let stem = name.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let plain = stem.chars().map(|letter| match letter {
        letter if is_plain(letter) => letter.to_string(),
        letter if letter.is_ascii() => "-".to_owned(),
        // Two names must not become one.
        letter => format!("u{:x}", u32::from(letter)),
    });
    let id: String = plain.collect::<String>().chars().take(64).collect();
    match check_harness_id(&id) {
        Ok(()) => id,
        Err(_) => format!("roadmap-{}", id.trim_start_matches('-')).chars().take(64).collect(),
    }
}

/// Tasks that an agent may propose at once.
const MOST_FURTHER_TASKS: usize = 100;

#[derive(Debug, thiserror::Error)]
#[error("expected a whole number from 1 to {MOST_FURTHER_TASKS}")]
struct NotANumberOfTasks;

fn further_tasks(text: &str) -> Result<NonZeroUsize, NotANumberOfTasks> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= MOST_FURTHER_TASKS);
    number.ok_or(NotANumberOfTasks)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use autonoe_harness::id::check_harness_id;

    use super::default_id;

    #[test]
    fn every_name_of_a_file_gives_an_id() {
        for (name, id) in [
            ("ROADMAP.md", "roadmap"),
            ("a/My Plan.v2.md", "my-plan-v2"),
            ("shared.md", "roadmap-shared"),
            ("_x.md", "roadmap-_x"),
            (".hidden.md", "roadmap-hidden"),
            ("Ä.md", "ue4"),
            ("計画.md", "u8a08u753b"),
        ] {
            assert_eq!(default_id(Path::new(name)), id);
            assert_eq!(check_harness_id(id), Ok(()));
        }
        for long in ["x".repeat(200), format!("_{}", "x".repeat(200))] {
            assert_eq!(check_harness_id(&default_id(Path::new(&long))), Ok(()));
        }
    }
}
