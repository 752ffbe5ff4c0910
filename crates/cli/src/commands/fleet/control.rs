//! `autonoe fleet send`, `pause`, `resume`, `stop` and `kill`. They act on the harnesses themselves, so they work without a supervisor too.

use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_fleet::{HarnessRow, Request, SharedContext};
use autonoe_harness::control::{HarnessStop, Priority};
use autonoe_harness::handle::KILL_TIMEOUT;
use autonoe_store::Project;
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{KnownFleet, directory_of, fault, running};
use crate::environment::Environment;
use crate::present;
use crate::project_args::ReportArgs;

/// Send an instruction to a harness
#[derive(Debug, Args)]
pub struct FleetSendArgs {
    /// Id of the harness
    #[arg(value_name = "ID")]
    id: String,

    /// The instruction
    #[arg(required = true, value_name = "MESSAGE")]
    message: Vec<String>,

    /// Put it before others that wait
    #[arg(long)]
    urgent: bool,

    #[command(flatten)]
    report: ReportArgs,
}

/// Let no new session start
///
/// Without an id the whole fleet pauses: sessions in progress continue to their ends, and nothing new starts.
#[derive(Debug, Args)]
pub struct FleetPauseArgs {
    #[command(flatten)]
    choice: FleetChoiceArgs,
}

/// Continue what is paused
#[derive(Debug, Args)]
pub struct FleetResumeArgs {
    #[command(flatten)]
    choice: FleetChoiceArgs,
}

/// End harnesses after their current sessions
///
/// Without an id the whole fleet ends. Their commits come home to their branches.
#[derive(Debug, Args)]
pub struct FleetStopArgs {
    /// Do not wait for the sessions
    #[arg(long)]
    now: bool,

    #[command(flatten)]
    choice: FleetChoiceArgs,
}

/// End the processes of harnesses now
///
/// They get SIGTERM, and SIGKILL if they have not ended after 30 s. What they have committed is kept.
#[derive(Debug, Args)]
pub struct FleetKillArgs {
    /// Seconds until SIGKILL
    #[arg(long, value_name = "SECONDS", default_value_t = KILL_TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(0..=3600))]
    timeout: u64,

    #[command(flatten)]
    choice: FleetChoiceArgs,
}

/// Options of commands that control harnesses
#[derive(Debug, Args)]
pub struct FleetChoiceArgs {
    /// Ids of harnesses [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    #[command(flatten)]
    report: ReportArgs,
}

impl FleetChoiceArgs {
    /// The fleet, which must not have ended, and the chosen harnesses must be its own.
    fn open(&self, environment: &Environment) -> Result<KnownFleet, Fault> {
        let fleet = KnownFleet::open(&self.report.project, environment)?;
        fleet.chosen(&self.ids)?;
        needs_unfinished(&fleet)?;
        Ok(fleet)
    }

    fn is_everyone(&self) -> bool {
        self.ids.is_empty()
    }

    /// Does something to each chosen harness that is not over, and prints the state and the sentence that come of it.
    fn each(
        &self,
        fleet: &KnownFleet,
        mut act: impl FnMut(&HarnessRow) -> Result<Option<(&'static str, String)>, Fault>,
    ) -> Result<(), Fault> {
        let mut done = Done::new(&self.report);
        for harness in fleet.chosen(&self.ids)?.into_iter().filter(|harness| harness.result.is_none()) {
            if let Some((state, sentence)) = act(harness)? {
                done.add(harness, state, &sentence);
            }
        }
        done.print();
        Ok(())
    }
}

pub fn cmd_send(args: &FleetSendArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.report.project)?;
    let fleet = KnownFleet::find(&project, environment)?;
    let text = args.message.join(" ");
    let priority = if args.urgent { Priority::Urgent } else { Priority::Normal };
    let mut done = Done::new(&args.report);
    for harness in fleet.chosen(std::slice::from_ref(&args.id))? {
        let directory = needs_directory(harness)?;
        let name =
            directory.send(&text, priority, Timestamp::now()).map_err(|error| wrong("message", error))?;
        share_instruction(&project, &harness.id, &name, args.urgent);
        done.add(
            harness,
            "sent",
            &format!("{}: its agent gets it in this session or the next ({name}).", harness.id),
        );
    }
    done.print();
    Ok(exit::DONE)
}

pub fn cmd_pause(args: &FleetPauseArgs, environment: &Environment) -> Result<u8, Fault> {
    let fleet = args.choice.open(environment)?;
    if args.choice.is_everyone() {
        fleet.state.request(Some(Request::Pause)).map_err(|error| fault("fleet_state", error))?;
    }
    args.choice.each(&fleet, |harness| match directory_of(harness) {
        Some(directory) => {
            directory.request_pause().map_err(|error| fault("harness_files", error))?;
            Ok(Some(("paused", format!("{} pauses after its session.", harness.id))))
        }
        None => Ok(Some(("pending", format!("{} has not started.", harness.id)))),
    })?;
    Ok(exit::DONE)
}

pub fn cmd_resume(args: &FleetResumeArgs, environment: &Environment) -> Result<u8, Fault> {
    let fleet = args.choice.open(environment)?;
    if args.choice.is_everyone() && fleet.row.request == Some(Request::Pause) {
        fleet.state.request(None).map_err(|error| fault("fleet_state", error))?;
    }
    args.choice.each(&fleet, |harness| {
        let Some(directory) = directory_of(harness).filter(|directory| directory.is_paused()) else {
            return Ok(None);
        };
        directory.resume().map_err(|error| fault("harness_files", error))?;
        Ok(Some(("resumed", format!("{} continues.", harness.id))))
    })?;
    Ok(exit::DONE)
}

pub fn cmd_stop(args: &FleetStopArgs, environment: &Environment) -> Result<u8, Fault> {
    let fleet = args.choice.open(environment)?;
    let (stop, when) = match args.now {
        true => (HarnessStop::Now, "now"),
        false => (HarnessStop::AfterSession, "after its session"),
    };
    args.choice.each(&fleet, |harness| {
        record_request(&fleet, harness, Request::Stop)?;
        let Some(handle) = running(harness) else {
            return Ok(Some(("stopped", not_running(harness))));
        };
        handle.directory().request_stop(stop).map_err(|error| fault("harness_files", error))?;
        Ok(Some(("stopping", format!("{} ends {when}.", harness.id))))
    })?;
    Ok(exit::DONE)
}

pub fn cmd_kill(args: &FleetKillArgs, environment: &Environment) -> Result<u8, Fault> {
    let fleet = args.choice.open(environment)?;
    let mut is_alive = false;
    args.choice.each(&fleet, |harness| {
        // Before the process ends, so that the supervisor does not start it again.
        record_request(&fleet, harness, Request::Kill)?;
        let Some(mut handle) = running(harness) else {
            return Ok(Some(("stopped", not_running(harness))));
        };
        let has_ended = handle.force_kill(Duration::from_secs(args.timeout));
        is_alive |= !has_ended;
        let (state, what) = if has_ended { ("killed", "has ended") } else { ("running", "has not ended") };
        Ok(Some((state, format!("{} (process {}) {what}.", harness.id, handle.pid))))
    })?;
    Ok(if is_alive { exit::ERROR } else { exit::DONE })
}

/// That there is one; its text is for the one harness only.
fn share_instruction(project: &Project, id: &str, file: &str, is_urgent: bool) {
    let details = json!({ "file": file, "urgent": is_urgent });
    let shared = SharedContext::open(project.root())
        .and_then(|context| context.emit_event("instruction", Some(id), &details));
    if let Err(error) = shared {
        present::warn(&format!("No event is recorded of it: {error}"));
    }
}

fn record_request(fleet: &KnownFleet, harness: &HarnessRow, request: Request) -> Result<(), Fault> {
    fleet.state.request_of(&harness.id, request).map_err(|error| fault("fleet_state", error))
}

fn not_running(harness: &HarnessRow) -> String {
    match harness.attempts {
        0 => format!("{} will not start.", harness.id),
        _ => format!("{} is not running.", harness.id),
    }
}

fn needs_unfinished(fleet: &KnownFleet) -> Result<(), Fault> {
    if fleet.row.result.is_none() {
        return Ok(());
    }
    let message = format!("The fleet {} has ended.", fleet.row.plan.name);
    Err(Fault::permanent(FaultLayer::Config, "fleet_ended", message)
        .hint("`autonoe fleet status` shows how."))
}

fn needs_directory(harness: &HarnessRow) -> Result<autonoe_harness::control::HarnessDirectory, Fault> {
    let unstarted = || {
        let message = format!("The harness {} has not started.", harness.id);
        Fault::permanent(FaultLayer::Config, "harness_pending", message)
            .hint("`autonoe fleet status` shows what it waits for.")
    };
    match &harness.result {
        Some(_) => {
            let message = format!("The harness {} is over.", harness.id);
            Err(Fault::permanent(FaultLayer::Config, "harness_over", message))
        }
        None => directory_of(harness).ok_or_else(unstarted),
    }
}

fn wrong(code: &str, error: impl std::fmt::Display) -> Fault {
    Fault::permanent(FaultLayer::Config, code, error.to_string())
}

/// What was done to each harness, for people or as JSON.
struct Done {
    is_json: bool,
    sentences: Vec<String>,
    entries: Vec<Value>,
}

impl Done {
    fn new(args: &ReportArgs) -> Self {
        Self { is_json: args.json, sentences: Vec::new(), entries: Vec::new() }
    }

    fn add(&mut self, harness: &HarnessRow, state: &str, sentence: &str) {
        self.sentences.push(sentence.to_owned());
        self.entries.push(json!({ "id": harness.id, "state": state, "message": sentence }));
    }

    fn print(self) {
        match (self.is_json, self.sentences.is_empty()) {
            (true, _) => present::print_json(&format!("{:#}\n", json!({ "harnesses": self.entries }))),
            (false, true) => present::print("There was nothing to do.\n"),
            (false, false) => present::print(&format!("{}\n", self.sentences.join("\n"))),
        }
    }
}
