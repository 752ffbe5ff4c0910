//! `autonoe status`

use std::collections::BTreeMap;

use autonoe_core::check::{Assurance, Check};
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::duration::format as format_duration;
use autonoe_core::event::WaitReason;
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use autonoe_core::status::ProjectStatus;
use autonoe_report::{
    assurance, beyond_criteria, check_state, cost, does_not_count, one_line, project_checks, says_builder,
    sparkline,
};
use autonoe_store::journal::history::{DeniedCall, History, RunRow, WaitRow};
use autonoe_store::{
    CheckRegistry, ControlDirectory, DeliveryRow, LockStatus, Outbox, Project, ProjectLock, StatusStore,
};
use autonoe_verify::{
    Evidence, NotedFiles, checks_of, coverage, describe_change, disown_foreign_findings,
    disown_outdated_findings, doubt_about, of_project, why_other_project, without_deliverable,
};
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::commands::notify::because;
use crate::commands::steer::paused_harnesses;
use crate::engine::{DeliverableCost, average, cost_by_deliverable, is_old_plan, why_blocked};
use crate::environment::Environment;
use crate::present::{self, CostEstimate, local_time, short, status_tag};
use crate::project_args::ReportArgs;
use crate::unseen_commits::{UnseenWork, left_by_kill};
use crate::watch::{self, WatchedState};

/// Sessions whose progress is shown.
const SHOWN_SCORES: usize = 60;

/// Show deliverables, cost and the last outcome
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    report: ReportArgs,

    /// Show it anew whenever it changes, until the run ends
    #[arg(long, short, conflicts_with = "json")]
    watch: bool,
}

struct StatusFacts {
    status: Option<ProjectStatus>,
    /// The journal's copy if `status.json` was deleted.
    deleted: Option<ProjectStatus>,
    checks: Vec<Check>,
    book: CheckRegistry,
    /// Deliverables whose evidence is not ours.
    disowned: Vec<String>,
    last_run: Option<RunRow>,
    /// Of the sessions of the last run, in order.
    scores: Vec<f64>,
    /// Tool calls of the last run that a gate denied.
    denied: Vec<DeniedCall>,
    /// Notifications that were not delivered.
    undelivered: Vec<DeliveryRow>,
    waiting: Option<WaitRow>,
    cost: Option<Usd>,
    lock: LockStatus,
    is_paused: bool,
    /// Why what was verified does not count any more, a clause each.
    outdated: Vec<String>,
    /// Whether SPEC.md has changed since the deliverables were planned.
    is_old_plan: bool,
    costs: BTreeMap<String, DeliverableCost>,
    estimate: Option<CostEstimate>,
    unseen: UnseenWork,
    /// What a killed process has left, a sentence each.
    left: Vec<&'static str>,
    /// The user's checks that belong to no deliverable that counts, a clause each.
    without_deliverable: Vec<String>,
    /// Files of verified deliverables to look at, by id.
    noted: BTreeMap<String, NotedFiles>,
}

pub fn cmd_status(args: &StatusArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.report.project)?;
    let redactor = Redactor::new(&environment.secrets());
    if args.report.json {
        let mut value = as_json(&gather(&project, environment)?);
        redactor.value(&mut value);
        present::print_json(&format!("{value:#}\n"));
        return Ok(exit::DONE);
    }
    let read = || {
        let facts = gather(&project, environment)?;
        let text = redactor.text(&as_text(&facts)).into_owned();
        Ok(WatchedState { text, is_over: facts.lock == LockStatus::Free })
    };
    watch::show(args.watch, read, |text| present::print(text))
}

fn gather(project: &Project, environment: &Environment) -> Result<StatusFacts, Fault> {
    let mut status = StatusStore::read(project)?;
    let disowned = status.as_mut().map(|status| disown_foreign_findings(project, status)).transpose()?;
    let disowned = disowned.unwrap_or_default();
    let deleted = match status {
        None if why_other_project(project)?.is_none() => StatusStore::deleted(project)?,
        Some(_) | None => None,
    };
    let history = History::open(&project.journal_file())?;
    let lock = ProjectLock::status(project);
    let costs = history.as_ref().map(History::session_costs).transpose()?.unwrap_or_default();
    let costs = cost_by_deliverable(&costs);
    let estimate = average(costs.values());
    let (last_run, denied, scores, waiting, cost) = match &history {
        None => (None, Vec::new(), Vec::new(), None, Some(Usd::ZERO)),
        Some(history) => {
            let (spent, unknown) = history.total_cost()?;
            let waiting =
                if matches!(lock, LockStatus::By(_)) { history.waiting(Timestamp::now())? } else { None };
            let last_run = history.last_run()?;
            let denied = last_run.as_ref().map(|run| history.denied_calls(run.id)).transpose()?;
            let scores = last_run.as_ref().map(|run| history.scores(run.id)).transpose()?;
            let (denied, scores) = (denied.unwrap_or_default(), scores.unwrap_or_default());
            (last_run, denied, scores, waiting, (!unknown).then_some(Usd(spent)))
        }
    };
    let undelivered = undelivered(project, last_run.as_ref());
    let is_paused = matches!(lock, LockStatus::By(_))
        && (ControlDirectory::of(project).is_paused() || paused_harnesses(project.root()).next().is_some());
    let is_old_plan = is_old_plan(project)?;
    let mut book = CheckRegistry::load(project)?;
    let checks = project_checks(project, &mut book)?;
    let outdated = match status.as_mut() {
        Some(status) => disown_outdated_findings(project, status, &book, &checks)?,
        None => Vec::new(),
    };
    // While agents work, there always are some.
    let (unseen, left) = match lock {
        LockStatus::Free => (UnseenWork::of(project, status.as_ref(), environment), left_by_kill(project)),
        LockStatus::By(_) | LockStatus::Unknown { .. } => Default::default(),
    };
    let noted =
        status.as_ref().map(|status| Evidence::noted_files(project, status)).transpose()?.unwrap_or_default();
    let lost = status.as_ref().map(|status| without_deliverable(&checks, status));
    Ok(StatusFacts {
        noted,
        without_deliverable: lost.unwrap_or_default(),
        status,
        disowned,
        deleted,
        checks,
        book,
        last_run,
        scores,
        denied,
        undelivered,
        waiting,
        cost,
        lock,
        is_paused,
        outdated,
        is_old_plan,
        costs,
        estimate,
        unseen,
        left,
    })
}

/// An outbox that cannot be read is reported by the next run, and hides nothing else here.
fn undelivered(project: &Project, last_run: Option<&RunRow>) -> Vec<DeliveryRow> {
    let outbox = Outbox::find(project).ok().flatten();
    let rows = outbox.zip(last_run).map(|(outbox, run)| outbox.undelivered(run.id));
    rows.and_then(Result::ok).unwrap_or_default()
}

fn as_text(facts: &StatusFacts) -> String {
    let mut text = String::new();
    match &facts.status {
        None => match facts.deleted.as_ref().map(ProjectStatus::tally) {
            None => text.push_str("No deliverables yet; `autonoe run` creates them from SPEC.md.\n"),
            Some(tally) => text.push_str(&format!(
                ".autonoe/status.json was deleted. The journal has a copy with {} deliverable(s), {} passed: `autonoe run` restores it, \
                 `autonoe run --start-over` plans SPEC.md from scratch.\n",
                tally.total, tally.passed
            )),
        },
        Some(status) => {
            let tally = status.tally();
            for item in status.active() {
                text.push_str(&format!(
                    "{:<9} {}  {}{}{}\n",
                    status_tag(item.status),
                    one_line(&item.id),
                    one_line(&item.description),
                    assurance_note(item),
                    cost_note(item, facts),
                ));
                if item.status == DeliverableStatus::Blocked {
                    text.push_str(&format!("            {}\n", one_line(why_blocked(item))));
                }
                text.push_str(&covered(item, facts));
                for clause in facts.noted.get(&item.id).into_iter().flat_map(NotedFiles::clauses) {
                    text.push_str(&format!("            look at {clause}\n"));
                }
            }
            if facts.is_old_plan {
                text.push_str(
                    "\nSPEC.md has changed since these were planned: `autonoe run` updates them first, `autonoe sync` reviews them too\n",
                );
            }
            let deprecated = status.deliverables.len() - tally.total;
            text.push_str(&format!("\n{}/{} deliverables passed", tally.passed, tally.total));
            if tally.blocked > 0 {
                text.push_str(&format!(" ({} blocked)", tally.blocked));
            }
            if deprecated > 0 {
                text.push_str(&format!(", {deprecated} deprecated"));
            }
            text.push_str(&format!("\n{}\n", assurance(tally)));
            for id in &facts.disowned {
                text.push_str(&format!(
                    "{}: it was verified elsewhere, or its evidence was edited: claimed until a run verifies it here\n",
                    one_line(id)
                ));
            }
            for (name, why) in &facts.book.failing {
                text.push_str(&format!("Your check '{}' fails: {}\n", one_line(name), one_line(why)));
            }
            for clause in &facts.without_deliverable {
                text.push_str(&format!("Your check {}\n", one_line(clause)));
            }
            for doubt in doubts(&of_project(&facts.checks, status), facts) {
                text.push_str(&format!("{doubt}\n"));
            }
            for (name, change) in &facts.book.changed {
                text.push_str(&format!("Changed: {}\n", one_line(&describe_change(name, change))));
            }
            for clause in &facts.outdated {
                text.push_str(&format!("Outdated: {}\n", one_line(clause)));
            }
            let disputed = facts.book.disputes.len();
            if disputed > 0 {
                text.push_str(&format!(
                    "{disputed} file(s) that checks depend on are disputed: see `autonoe checks`\n"
                ));
            }
        }
    }
    for sentence in facts.unseen.sentences() {
        text.push_str(&format!("{}\n", one_line(&sentence)));
    }
    for sentence in &facts.left {
        text.push_str(&format!("{sentence}\n"));
    }
    match (&facts.lock, &facts.last_run) {
        (LockStatus::By(holder), _) => {
            text.push_str(&format!(
                "Now: `autonoe {}` is running (process {})\n",
                holder.command, holder.pid
            ));
            if facts.is_paused {
                text.push_str(
                    "Paused, or about to be when its session ends; `autonoe resume` continues it\n",
                );
            }
            text.extend(facts.waiting.as_ref().map(|wait| format!("{}\n", waiting_line(wait))));
        }
        (LockStatus::Unknown { pid }, _) => {
            let pid = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            text.push_str(&format!(
                "Now: the project is locked by another user or with another state directory{pid}\n"
            ));
        }
        (LockStatus::Free, Some(run)) => {
            text.push_str(&format!("Last run: {}, {}\n", run.command, last_outcome(run)));
        }
        (LockStatus::Free, None) => {}
    }
    let shown = &facts.scores[facts.scores.len().saturating_sub(SHOWN_SCORES)..];
    if !shown.is_empty() {
        let which = if facts.lock == LockStatus::Free { "the last run" } else { "this run" };
        let part = match shown.len() < facts.scores.len() {
            true => format!(" (the last {SHOWN_SCORES} of {} sessions)", facts.scores.len()),
            false => String::new(),
        };
        text.push_str(&format!("Progress of {which}: {}{part}\n", sparkline(shown)));
    }
    if !facts.denied.is_empty() {
        text.push_str(&format!(
            "Denied in the last run: {} call(s); `autonoe report` lists them with what would allow them\n",
            facts.denied.len()
        ));
    }
    for row in &facts.undelivered {
        text.push_str(&format!(
            "Not notified: {} of '{}' ({}){}\n",
            one_line(&row.target),
            row.event.name(),
            row.state.name(),
            because(row)
        ));
    }
    let cost = facts.cost.map_or_else(|| "unknown".to_owned(), |cost| cost.to_string());
    text.push_str(&format!("Cost of all runs: {cost}\n"));
    text
}

fn waiting_line(wait: &WaitRow) -> String {
    let next = local_time(wait.until);
    match wait.reason {
        WaitReason::Quota => format!("Waiting for the quota, until {next}"),
        WaitReason::Service => {
            let since = wait.since.map(|at| format!(" since {}", local_time(at))).unwrap_or_default();
            let limit =
                wait.gives_up_at.map(|at| format!(", giving up at {}", local_time(at))).unwrap_or_default();
            let why = wait.message.as_deref().unwrap_or_default();
            format!("Waiting for the model service{since}: {why} Next try at {next}{limit}")
        }
    }
}

fn assurance_note(item: &Deliverable) -> String {
    let commit = item.finding.as_ref().and_then(|finding| finding.commit.as_deref());
    let commit = commit.map(|commit| format!(", commit {}", one_line(short(commit)))).unwrap_or_default();
    let review = item.review.as_ref().map(|review| {
        let verdict = if review.holds { "reviewed" } else { "doubted" };
        format!(", {verdict} by {}", review.by)
    });
    let review = review.unwrap_or_default();
    let words = item.assurance_words().unwrap_or_default();
    match item.assurance() {
        Some(Assurance::Verified) => format!("  ({words}{commit}{review})"),
        Some(Assurance::Claimed) => format!("  ({words}{review})"),
        Some(Assurance::Failed) => format!("  ({words}{commit})"),
        None => String::new(),
    }
}

/// What a deliverable has cost so far, or what one that is open will probably cost.
fn cost_note(item: &Deliverable, facts: &StatusFacts) -> String {
    match (facts.costs.get(&item.id), estimate_for(item, facts)) {
        (Some(DeliverableCost { usd, sessions, time }), _) => {
            format!("  {}, {} in {sessions} session(s)", cost(*usd), format_duration(*time))
        }
        (None, Some(CostEstimate { each, time_each, .. })) => {
            format!("  estimated: {each}, {}", format_duration(time_each))
        }
        (None, None) => String::new(),
    }
}

/// `None` for what has begun, and without earlier deliverables.
fn estimate_for(item: &Deliverable, facts: &StatusFacts) -> Option<CostEstimate> {
    let has_begun = facts.costs.contains_key(&item.id) || item.status != DeliverableStatus::Pending;
    facts.estimate.filter(|_| !has_begun)
}

/// The criteria of a deliverable with the checks that cover them; empty if the project has no checks.
fn covered(item: &Deliverable, facts: &StatusFacts) -> String {
    if facts.checks.is_empty() {
        return String::new();
    }
    let own = checks_of(&facts.checks, &item.id);
    let mut text = String::new();
    for (index, criterion) in coverage(item, &own).into_iter().enumerate() {
        let name = |check: &&Check| {
            let note = match (does_not_count(check, &facts.book), says_builder(check, &facts.book)) {
                (true, _) => " (does not count)",
                (false, true) => " (says the builder)",
                (false, false) => "",
            };
            format!("{}{note}", check.name)
        };
        let covering = own.iter().filter(|check| criterion.checks.contains(&check.name));
        let names: Vec<String> = covering.map(name).collect();
        let by = if names.is_empty() { "no check".to_owned() } else { names.join(", ") };
        let line = format!("{}. {}: {by}", index + 1, criterion.text);
        text.push_str(&format!("            {}\n", one_line(&line)));
    }
    for (check, criterion) in beyond_criteria(item, &own) {
        let line = format!("{} names criterion {criterion}, which is not there", check.name);
        text.push_str(&format!("            {}\n", one_line(&line)));
    }
    let whole = own.iter().filter(|check| check.criteria.is_empty());
    let whole: Vec<&str> = whole.map(|check| check.name.as_str()).collect();
    if !whole.is_empty() {
        text.push_str(&format!("            as a whole: {}\n", whole.join(", ")));
    }
    for doubt in doubts(&own, facts) {
        text.push_str(&format!("            {doubt}\n"));
    }
    text
}

/// Why some of the checks do not count, a sentence each.
fn doubts(checks: &[&Check], facts: &StatusFacts) -> Vec<String> {
    let doubt = |check: &&Check| {
        let doubt = doubt_about(check, &facts.book)?;
        Some(one_line(&format!("{} does not count: {doubt}", check.name)))
    };
    checks.iter().filter_map(doubt).collect()
}

fn last_outcome(run: &RunRow) -> &str {
    run.report
        .as_ref()
        .map_or("ended unexpectedly; `autonoe run` resumes it", |report| report.outcome.shown_name())
}

fn as_json(facts: &StatusFacts) -> Value {
    let tally = facts.status.as_ref().map(ProjectStatus::tally).unwrap_or_default();
    let deliverables: Vec<Value> = facts
        .status
        .iter()
        .flat_map(|status| &status.deliverables)
        .map(|item| deliverable_json(item, facts))
        .collect();
    json!({
        "deliverables": deliverables,
        "passed": tally.passed,
        "verified": tally.verified,
        "verified_by_builder": tally.verified_by_builder,
        "verified_partially": tally.verified_partially,
        "with_unchecked_criteria": tally.with_unchecked_criteria,
        "claimed": tally.claimed(),
        "blocked": tally.blocked,
        "total": tally.total,
        "cost_usd": facts.cost,
        "last_run": facts.last_run,
        "scores": facts.scores,
        "denied": facts.denied,
        "undelivered": facts.undelivered,
        "running": running(&facts.lock),
        "waiting": facts.waiting,
        "paused": facts.is_paused,
        "spec_changed": facts.is_old_plan,
        "verified_elsewhere": facts.disowned,
        "unseen_commits": facts.unseen.commits,
        "unseen_head": facts.unseen.head, "left_by_kill": facts.left,
        "verified_on_older_commit": facts.unseen.older.as_ref().map(|(_, ids)| ids),
        "failing_checks": facts.book.failing,
        "checks_without_deliverable": facts.without_deliverable,
        "changed_checks": facts.book.changed, "outdated": facts.outdated,
    })
}

/// Another user's process may be known by its id only, or not at all.
fn running(lock: &LockStatus) -> Value {
    match lock {
        LockStatus::Free => Value::Null,
        LockStatus::By(holder) => json!(holder),
        LockStatus::Unknown { pid } => json!({ "pid": pid, "command": null, "since": null, "socket": null }),
    }
}

fn deliverable_json(item: &Deliverable, facts: &StatusFacts) -> Value {
    let own = checks_of(&facts.checks, &item.id);
    let checks: Vec<Value> = own
        .iter()
        .map(|check| {
            json!({ "name": check.name, "criteria": check.criteria, "state": check_state(check, &facts.book),
                            "why_not_counted": doubt_about(check, &facts.book), "run": check.command })
        })
        .collect();
    json!({
        "assurance": item.assurance(),
        "verification": item.finding,
        "review": item.review,
        "checks": checks,
        "look_at": facts.noted.get(&item.id).map(NotedFiles::all_clauses).unwrap_or_default(),
        "id": item.id,
        "description": item.description,
        "acceptance_criteria": item.acceptance_criteria,
        "status": item.status,
        "blocked_reason": item.blocked_reason,
        "cost_usd": facts.costs.get(&item.id).map(|cost| cost.usd),
        "sessions": facts.costs.get(&item.id).map(|cost| cost.sessions),
        "seconds": facts.costs.get(&item.id).map(|cost| cost.time.as_secs_f64()),
        "estimated_cost_usd": estimate_for(item, facts).map(|estimate| estimate.each),
        "estimated_seconds": estimate_for(item, facts).map(|estimate| estimate.time_each.as_secs_f64()),
        "deprecated_at": item.deprecated_at,
    })
}
