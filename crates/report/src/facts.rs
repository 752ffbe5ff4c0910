//! Gathers the facts about a run from the journal, `status.json`, the check book and the evidence.

use std::collections::BTreeMap;

use autonoe_core::attempt::BestOfResult;
use autonoe_core::check::{Assurance, Check};
use autonoe_core::deliverable::Deliverable;
use autonoe_core::event::{CheckPurpose, HookFile, RunEvent};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::status::ProjectStatus;
use autonoe_store::journal::history::{DeniedCall, EventRow, History, RunCommits, RunRow, SessionRow};
use autonoe_store::{CheckRegistry, LockStatus, Project, ProjectLock, StatusStore};
use autonoe_verify::{Evidence, disown_foreign_findings, disown_outdated_findings};
use jiff::Timestamp;

use crate::checks::project_checks;

/// Prefix of the recorded command of declarative agents.
const AGENT_RUN: &str = "agent run ";

pub struct RunFacts {
    /// When the facts were gathered.
    pub(crate) gathered_at: Timestamp,
    /// Name of the project directory.
    pub project: String,
    pub run: RunRow,
    /// Whether this is the latest run.
    pub is_last: bool,
    pub is_in_progress: bool,
    /// In chronological order.
    pub sessions: Vec<SessionRow>,
    /// Of its sessions, in chronological order.
    pub(crate) scores: Vec<f64>,
    /// Attempts by several agents, in chronological order.
    pub(crate) best_of: Vec<BestOfResult>,
    /// Tool calls that a gate denied, in chronological order.
    pub denied: Vec<DeniedCall>,
    /// The last commits before and after the run.
    pub commits: Option<RunCommits>,
    /// The current state, which a later run may have changed.
    pub status: ProjectStatus,
    pub checks: Vec<Check>,
    pub book: CheckRegistry,
    /// Why what was verified does not count any more, a clause each.
    pub(crate) outdated: Vec<String>,
    /// Evidence of verified deliverables, by deliverable id.
    pub evidence: BTreeMap<String, Evidence>,
    /// Steps of a declarative agent in chronological order; `None` for runs over deliverables.
    pub(crate) steps: Option<Vec<StepRow>>,
    /// What no check has seen, a sentence each without a full stop; the caller finds it.
    pub unseen: Vec<String>,
    /// Changed files that the user's hooks run through other programs; the caller finds them.
    pub hook_files: Vec<HookFile>,
    /// Changed files that programs on a user's machine act on by themselves; the caller finds them.
    pub self_acting: Vec<String>,
    /// The last result of each check in this run, by deliverable id and check name.
    pub(crate) last_results: BTreeMap<(Option<String>, String), LastCheckResult>,
}

pub(crate) struct StepRow {
    pub step: String,
    pub result: StepResult,
    pub message: String,
    /// `None` after the last step.
    pub next: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepResult {
    Passed,
    Failed,
    Escalated,
}

pub(crate) struct LastCheckResult {
    pub passed: bool,
    pub message: String,
    /// UTC, as in the journal.
    pub at: String,
}

impl RunFacts {
    /// `None` selects the project-wide checks.
    pub(crate) fn checks_of(&self, deliverable: Option<&str>) -> Vec<Check> {
        self.checks.iter().filter(|check| check.deliverable.as_deref() == deliverable).cloned().collect()
    }
}

/// `number` selects the run; `None` is the last one.
pub fn gather(project: &Project, number: Option<i64>, now: Timestamp) -> Result<RunFacts, Fault> {
    let no_run = || {
        Fault::permanent(FaultLayer::Config, "no_run", "There are no runs to report yet.")
            .hint("Start one with `autonoe run`.")
    };
    let history = History::open(&project.journal_file())?.ok_or_else(no_run)?;
    let last = history.last_run()?.ok_or_else(no_run)?;
    let last_number = last.id;
    let run = match number {
        None => last,
        Some(number) => history.run(number)?.ok_or_else(|| {
            Fault::permanent(FaultLayer::Config, "no_run", format!("There is no run {number}."))
                .hint(format!("The latest run is {last_number}; `autonoe sessions list` shows the others."))
        })?,
    };
    let is_last = run.id == last_number;
    let mut status = StatusStore::read(project)?
        .unwrap_or_else(|| ProjectStatus::empty(now.to_zoned(jiff::tz::TimeZone::UTC).date()));
    disown_foreign_findings(project, &mut status)?;
    let mut book = CheckRegistry::load(project)?;
    let checks = project_checks(project, &mut book)?;
    let outdated = disown_outdated_findings(project, &mut status, &book, &checks)?;
    let mut evidence = BTreeMap::new();
    for item in status.active().filter(|item| item.assurance() == Some(Assurance::Verified)) {
        let found = Evidence::load(project, &item.id)?.filter(|evidence| matches_status(evidence, item));
        evidence.extend(found.map(|evidence| (item.id.clone(), evidence)));
    }
    let between = history.between_sessions(run.id)?;
    Ok(RunFacts {
        gathered_at: now,
        project: project.root().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        is_last,
        is_in_progress: is_last && run.ended_at.is_none() && ProjectLock::status(project) != LockStatus::Free,
        sessions: history.sessions_of(run.id)?,
        scores: history.scores(run.id)?,
        best_of: history.best_of(run.id)?,
        denied: history.denied_calls(run.id)?,
        commits: history.commits(run.id)?,
        checks,
        book,
        outdated,
        evidence,
        steps: run.command.starts_with(AGENT_RUN).then(|| between.iter().filter_map(step_row).collect()),
        unseen: Vec::new(),
        hook_files: Vec::new(),
        self_acting: Vec::new(),
        last_results: between.into_iter().filter_map(check_result).collect(),
        status,
        run,
    })
}

fn step_row(row: &EventRow) -> Option<StepRow> {
    let event = serde_json::from_value(row.event.clone()).ok()?;
    if let RunEvent::StepEnded { step, passed, message, next } = event {
        let result = if passed { StepResult::Passed } else { StepResult::Failed };
        return Some(StepRow { step, result, message, next });
    }
    let RunEvent::Escalated { step, to, message } = event else { return None };
    Some(StepRow { step, result: StepResult::Escalated, message, next: Some(to) })
}

/// Whether the evidence is for the tree that the deliverable's status is based on.
fn matches_status(evidence: &Evidence, item: &Deliverable) -> bool {
    let tree = item.finding.as_ref().and_then(|finding| finding.tree.as_ref());
    tree == Some(&evidence.tree)
}

fn check_result(row: EventRow) -> Option<((Option<String>, String), LastCheckResult)> {
    let RunEvent::Checked {
        deliverable,
        check,
        purpose: CheckPurpose::Claim | CheckPurpose::Confirmation,
        passed,
        message,
    } = serde_json::from_value(row.event).ok()?
    else {
        return None;
    };
    Some(((deliverable, check), LastCheckResult { passed, message, at: row.at }))
}

/// Formats a timestamp of the journal, in UTC.
pub(crate) fn journal_time(utc: &str) -> String {
    utc.parse().map_or_else(|_| utc.to_owned(), utc_time)
}

pub(crate) fn utc_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
