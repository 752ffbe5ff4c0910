//! What is known of a run, gathered from the journal, `status.json`, the book of checks and the evidence.

use std::collections::BTreeMap;

use autonoe_core::check::{Assurance, Check};
use autonoe_core::deliverable::Deliverable;
use autonoe_core::event::{Purpose, RunEvent};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::status::ProjectStatus;
use autonoe_store::journal::history::{EventRow, History, RunCommits, RunRow, SessionRow};
use autonoe_store::{CheckBook, Project, ProjectLock, StatusStore};
use autonoe_verify::Evidence;
use jiff::Timestamp;

use crate::commands::checks::known;

/// How runs of declarative agents are called on record.
const AGENT_RUN: &str = "agent run ";

/// What is known of a run.
pub struct Facts {
    /// The project's name.
    pub project: String,
    /// The run.
    pub run: RunRow,
    /// Whether there is a later one.
    pub is_last: bool,
    /// Whether it goes on at this moment.
    pub is_under_way: bool,
    /// Its sessions, the first one first.
    pub sessions: Vec<SessionRow>,
    /// The commits between which it worked.
    pub commits: Option<RunCommits>,
    /// The deliverables, as they stand now.
    pub status: ProjectStatus,
    /// The checks.
    pub checks: Vec<Check>,
    /// What is kept about them.
    pub book: CheckBook,
    /// The evidence of what is verified, by deliverable.
    pub evidence: BTreeMap<String, Evidence>,
    /// How each step of a declarative agent ended, the first first; none if the run was over deliverables.
    pub steps: Option<Vec<RunEvent>>,
    /// What was last seen of checks in this run, by deliverable and name.
    pub seen: BTreeMap<(Option<String>, String), Seen>,
}

/// What came of a check.
pub struct Seen {
    /// Whether it passed.
    pub passed: bool,
    /// What came of it, in words.
    pub message: String,
    /// When.
    pub at: String,
}

impl Facts {
    /// The checks of a deliverable, or those of the project as a whole.
    pub fn checks_of(&self, deliverable: Option<&str>) -> Vec<Check> {
        self.checks.iter().filter(|check| check.deliverable.as_deref() == deliverable).cloned().collect()
    }
}

/// Gathers what is known of a run, or of the last one.
pub fn gather(project: &Project, number: Option<i64>) -> Result<Facts, Fault> {
    let none = || {
        Fault::lasting(Layer::Config, "no_run", "There is no run yet, so there is nothing to report.")
            .hint("`autonoe run` builds what SPEC.md says.")
    };
    let history = History::open(&project.journal_file())?.ok_or_else(none)?;
    let last = history.last_run()?.ok_or_else(none)?;
    let last_number = last.id;
    let run = match number {
        None => last,
        Some(number) => history.run(number)?.ok_or_else(|| {
            Fault::lasting(Layer::Config, "no_run", format!("There is no run {number}."))
                .hint(format!("The last one is run {last_number}; `autonoe sessions list` names the others."))
        })?,
    };
    let is_last = run.id == last_number;
    let status = StatusStore::read(project)?
        .unwrap_or_else(|| ProjectStatus::empty(Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()));
    let book = CheckBook::load(project)?;
    let mut evidence = BTreeMap::new();
    for item in status.active().filter(|item| item.assurance() == Some(Assurance::Verified)) {
        let found = Evidence::load(project, &item.id)?.filter(|evidence| is_about(evidence, item));
        evidence.extend(found.map(|evidence| (item.id.clone(), evidence)));
    }
    let between = history.between_sessions(run.id)?;
    Ok(Facts {
        project: project.root().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        is_last,
        is_under_way: is_last && run.ended_at.is_none() && ProjectLock::holder(project).is_some(),
        sessions: history.sessions_of(run.id)?,
        commits: history.commits(run.id)?,
        checks: known(project, &book)?,
        book,
        evidence,
        steps: run.command.starts_with(AGENT_RUN).then(|| between.iter().filter_map(step).collect()),
        seen: between.into_iter().filter_map(seen).collect(),
        status,
        run,
    })
}

fn step(row: &EventRow) -> Option<RunEvent> {
    let event = serde_json::from_value(row.event.clone()).ok()?;
    matches!(event, RunEvent::StepEnded { .. } | RunEvent::Escalated { .. }).then_some(event)
}

/// Whether evidence is about what a deliverable's status rests on.
fn is_about(evidence: &Evidence, item: &Deliverable) -> bool {
    let tree = item.finding.as_ref().and_then(|finding| finding.tree.as_ref());
    tree == Some(&evidence.tree)
}

fn seen(row: EventRow) -> Option<((Option<String>, String), Seen)> {
    match serde_json::from_value(row.event).ok()? {
        RunEvent::Checked {
            deliverable,
            check,
            purpose: Purpose::Claim | Purpose::Confirmation,
            passed,
            message,
        } => Some(((deliverable, check), Seen { passed, message, at: row.at })),
        _ => None,
    }
}

/// A time of the journal as it is written into files: in UTC.
pub fn time(utc: &str) -> String {
    utc.parse().map_or_else(|_| utc.to_owned(), shown)
}

/// The same of any time.
pub fn shown(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
