//! One agent of the comparison, and its runs of the task.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use autonoe_scripted::{ScriptedAnswer, ScriptedServer};
use autonoe_store::journal::history::History;

use super::comparison::{AgentReadings, ComparisonRow};
use super::install::{Package, install};
use super::meter::{Metric, RunReading, meter};
use crate::bench::project::{BenchProject, serve};
use crate::bench::script::{call, conversation, done, passed, turn, turn_after};
use crate::result::Result;

const CALLS: usize = 10;

/// Longer than any agent takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

pub struct Contestant {
    pub name: &'static str,
    pub origin: AgentOrigin,
    pub shell: ShellTool,
    pub command: fn(&Programs, &BenchProject, &ScriptedServer) -> Result<Command>,
}

pub struct Programs {
    pub autonoe: PathBuf,
    pub vendor: PathBuf,
}

#[derive(Clone, Copy)]
pub enum AgentOrigin {
    Ours,
    Package(&'static Package),
    /// From npm, driven by `autonoe` and compared with the same agent alone.
    Driven {
        package: &'static Package,
        compared_with: &'static str,
    },
}

impl AgentOrigin {
    /// Whether the agent runs in `autonoe run`, with a deliverable to pass.
    fn is_run(self) -> bool {
        matches!(self, Self::Ours | Self::Driven { .. })
    }
}

pub struct ShellTool {
    pub tool: &'static str,
    pub arguments: &'static [(&'static str, &'static str)],
    /// A part of the result that shows that the command ran.
    pub success: &'static str,
}

pub struct ContestantRunner<'a> {
    contestant: &'a Contestant,
    state: Result<ReadyContestant>,
}

struct ReadyContestant {
    programs: Programs,
    /// Shared by all runs, so that all but the first are warm.
    project: BenchProject,
    readings: AgentReadings,
}

impl<'a> ContestantRunner<'a> {
    pub fn new(contestant: &'a Contestant, autonoe: &Path) -> Self {
        let ready = || {
            let vendor = match contestant.origin {
                AgentOrigin::Ours => PathBuf::new(),
                AgentOrigin::Package(package) | AgentOrigin::Driven { package, .. } => install(package)?,
            };
            let programs = Programs { autonoe: autonoe.to_owned(), vendor };
            Ok(ReadyContestant {
                programs,
                project: BenchProject::new()?,
                readings: AgentReadings::default(),
            })
        };
        Self { contestant, state: ready() }
    }

    /// Runs the task once more, unless it failed before.
    pub fn run(&mut self, metric: Metric) {
        let Ok(ready) = &mut self.state else { return };
        match run(self.contestant, ready, metric) {
            Ok((reading, events)) => {
                ready.readings.add(reading);
                ready.readings.events = events;
            }
            Err(error) => self.state = Err(error),
        }
    }

    pub fn reset(&mut self) {
        if let Ok(ready) = &mut self.state {
            ready.readings = AgentReadings::default();
        }
    }

    pub fn into_row(self) -> ComparisonRow {
        let Contestant { name, origin, .. } = self.contestant;
        let version = match origin {
            AgentOrigin::Ours => env!("CARGO_PKG_VERSION"),
            AgentOrigin::Package(package) | AgentOrigin::Driven { package, .. } => package.version,
        };
        ComparisonRow {
            name: format!("{name} ({version})"),
            is_ours: matches!(origin, AgentOrigin::Ours),
            compared_with: match origin {
                AgentOrigin::Driven { compared_with, .. } => Some(compared_with),
                AgentOrigin::Ours | AgentOrigin::Package(_) => None,
            },
            readings: self.state.map(|ready| ready.readings),
        }
    }
}

fn run(contestant: &Contestant, ready: &ReadyContestant, metric: Metric) -> Result<(RunReading, usize)> {
    let model = serve(&script(contestant))?;
    if contestant.origin.is_run() {
        // The previous run passed it.
        ready.project.set_pending(1)?;
    }
    let command = (contestant.command)(&ready.programs, &ready.project, &model)?;
    let reading = meter(command, &ready.programs.autonoe, &model, metric, TIMEOUT)?;
    check_task(&model)?;
    let events = if contestant.origin.is_run() { events(&ready.project)? } else { 0 };
    Ok((reading, events))
}

/// The number of events of the last session.
fn events(project: &BenchProject) -> Result<usize> {
    let history = History::open(&project.store_project()?.journal_file())?.ok_or("there is no journal")?;
    let last = history.sessions(1)?.into_iter().next().ok_or("there was no session")?;
    Ok(history.session(last.run, last.number)?.map_or(0, |(_, events)| events.len()))
}

/// The shell calls, one per turn, each after the success of the one before, then an answer. `autonoe run` also passes its
/// deliverable; the other agents make one more call, so that all take the same number of turns.
fn script(contestant: &Contestant) -> String {
    let ShellTool { tool, arguments, success } = contestant.shell;
    let call = [call(tool, arguments)];
    let mut turns = vec![turn(&call)];
    turns.extend((1..CALLS).map(|_| turn_after(success, &call)));
    if contestant.origin.is_run() {
        turns.extend([turn_after(success, &[passed(1)]), done()]);
    } else {
        turns.extend([turn_after(success, &call), format!("  expect = \"{success}\"\n{}", done())]);
    }
    conversation(&turns)
}

fn check_task(model: &ScriptedServer) -> Result {
    let expected = CALLS + 2;
    let problems = model.problems();
    if !problems.is_empty() {
        return Err(format!("it did not follow the script: {}", problems.join("; ")).into());
    }
    let turns =
        model.requests().iter().filter(|request| matches!(request.answer, ScriptedAnswer::Turn(_))).count();
    if turns == expected { Ok(()) } else { Err(format!("expected {expected} turns, got {turns}").into()) }
}
