//! An agent that takes part, and its runs of the task.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use autonoe_scripted::{Answer, Server};
use autonoe_store::journal::history::History;

use super::comparison::{Line, Readings};
use super::install::{Package, install};
use super::meter::{Look, Reading, meter};
use crate::Result;
use crate::bench::place::{Place, serve};
use crate::bench::script::{call, conversation, passed, turn, turn_after, word};

/// Shell calls in the task.
const CALLS: usize = 10;

/// Longer than any of them takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// An agent, and how it is told to do the task.
pub struct Contestant {
    /// What it is called in the table.
    pub name: &'static str,
    /// Where it comes from.
    pub origin: Origin,
    /// How the model calls its shell.
    pub shell: Shell,
    /// Its command for one run in a place, given the program and the model.
    pub command: fn(&Programs, &Place, &Server) -> Result<Command>,
}

/// What is started.
pub struct Programs {
    /// Ours.
    pub autonoe: PathBuf,
    /// The vendor's, if there is one.
    pub vendor: PathBuf,
}

/// Where an agent comes from.
#[derive(Clone, Copy)]
pub enum Origin {
    /// This repository.
    Ours,
    /// A registry.
    Package(&'static Package),
    /// A registry, driven by this repository's; beside the same agent alone, as its users start it.
    Driven { package: &'static Package, beside: &'static str },
}

impl Origin {
    /// Whether a run is one of `autonoe run`, with a deliverable to pass.
    fn is_run(self) -> bool {
        matches!(self, Self::Ours | Self::Driven { .. })
    }
}

/// A call of `true` in an agent's own terms.
pub struct Shell {
    /// The tool's name.
    pub tool: &'static str,
    /// Its arguments.
    pub arguments: &'static [(&'static str, &'static str)],
    /// What the result says if the command really ran: that it succeeded, or at least that it wrote nothing.
    pub success: &'static str,
}

/// A contestant at work: what it has shown so far, or why it cannot go on.
pub struct Runner<'a> {
    contestant: &'a Contestant,
    state: Result<Ready>,
}

struct Ready {
    programs: Programs,
    /// The project and the home that its runs share, so that all but the first are warm.
    place: Place,
    readings: Readings,
}

impl<'a> Runner<'a> {
    /// Installs it if need be.
    pub fn new(contestant: &'a Contestant, autonoe: &Path) -> Self {
        let ready = || {
            let vendor = match contestant.origin {
                Origin::Ours => PathBuf::new(),
                Origin::Package(package) | Origin::Driven { package, .. } => install(package)?,
            };
            let programs = Programs { autonoe: autonoe.to_owned(), vendor };
            Ok(Ready { programs, place: Place::new()?, readings: Readings::default() })
        };
        Self { contestant, state: ready() }
    }

    /// Does the task once more, unless it failed before.
    pub fn run(&mut self, look: Look) {
        let Ok(ready) = &mut self.state else { return };
        match run(self.contestant, ready, look) {
            Ok((reading, events)) => {
                ready.readings.add(reading);
                ready.readings.events = events;
            }
            Err(error) => self.state = Err(error),
        }
    }

    /// Forgets what was measured so far.
    pub fn forget(&mut self) {
        if let Ok(ready) = &mut self.state {
            ready.readings = Readings::default();
        }
    }

    /// What came of it.
    pub fn into_line(self) -> Line {
        let Contestant { name, origin, .. } = self.contestant;
        let version = match origin {
            Origin::Ours => env!("CARGO_PKG_VERSION"),
            Origin::Package(package) | Origin::Driven { package, .. } => package.version,
        };
        Line {
            name: format!("{name} ({version})"),
            is_ours: matches!(origin, Origin::Ours),
            beside: match origin {
                Origin::Driven { beside, .. } => Some(beside),
                Origin::Ours | Origin::Package(_) => None,
            },
            readings: self.state.map(|ready| ready.readings).map_err(|error| error.to_string()),
        }
    }
}

fn run(contestant: &Contestant, ready: &Ready, look: Look) -> Result<(Reading, usize)> {
    let model = serve(&script(contestant))?;
    if contestant.origin.is_run() {
        // It passed in the run before.
        ready.place.ask_for(1)?;
    }
    let command = (contestant.command)(&ready.programs, &ready.place, &model)?;
    let reading = meter(command, &ready.programs.autonoe, &model, look, PATIENCE)?;
    did_the_task(&model)?;
    let events = if contestant.origin.is_run() { events(&ready.place)? } else { 0 };
    Ok((reading, events))
}

/// How many events the last session had.
fn events(place: &Place) -> Result<usize> {
    let history = History::open(&place.project()?.journal_file())?.ok_or("there is no journal")?;
    let last = history.sessions(1)?.into_iter().next().ok_or("there was no session")?;
    Ok(history.session(last.run, last.number)?.map_or(0, |(_, events)| events.len()))
}

/// The calls, one a turn, each after the success of the one before, and an answer. A run passes its deliverable in between;
/// the others make one call more, so that all take the same number of turns.
fn script(contestant: &Contestant) -> String {
    let Shell { tool, arguments, success } = contestant.shell;
    let call = [call(tool, arguments)];
    let mut turns = vec![turn(&call)];
    turns.extend((1..CALLS).map(|_| turn_after(success, &call)));
    if contestant.origin.is_run() {
        turns.extend([turn_after(success, &[passed(1)]), word()]);
    } else {
        turns.extend([turn_after(success, &call), format!("  expect = \"{success}\"\n{}", word())]);
    }
    conversation(&turns)
}

fn did_the_task(model: &Server) -> Result {
    let expected = CALLS + 2;
    let problems = model.problems();
    if !problems.is_empty() {
        return Err(format!("it went against the script: {}", problems.join("; ")).into());
    }
    let turns = model.requests().iter().filter(|asked| matches!(asked.answer, Answer::Turn(_))).count();
    if turns == expected { Ok(()) } else { Err(format!("it took {turns} turns of {expected}").into()) }
}
