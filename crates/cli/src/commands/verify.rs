//! `autonoe verify`

use std::collections::BTreeMap;

use autonoe_core::check::{Assurance, Check, CheckOrigin};
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::{list_names, shown_name};
use autonoe_core::outcome::exit;
use autonoe_core::status::ProjectStatus;
use autonoe_report::{one_line, project_checks};
use autonoe_store::{CheckRegistry, LockHolder, Project, ProjectLock, ProjectUse, StatusStore};
use autonoe_verify::{
    CheckRun, CheckoutFactory, Evidence, NO_COMMIT, Reproduction, Strictness, changes_concerning,
    is_of_unfinished, last_commit, of_project, reproduce,
};
use autonoe_workspace::SiteOptions;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::arguments::variable_name;
use crate::completion_candidates;
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::room_config;
use crate::system::runtime;
use crate::work_place::WorkPlace;

/// Rerun the checks of verified deliverables on a fresh checkout of the commit they were verified on
///
/// Exits with 0 if everything is reproduced by your present checks, with 7 if not. Without ids, your checks of the whole project must pass too.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Ids of deliverables [default: all that have evidence]
    #[arg(add = ArgValueCandidates::new(completion_candidates::deliverables))]
    ids: Vec<String>,

    #[command(flatten)]
    project: ProjectArgs,

    /// Pass this environment variable to the checks, as the run did; its value is redacted (repeatable)
    #[arg(long, value_name = "NAME", value_parser = variable_name)]
    env: Vec<String>,

    /// Count a check only if it also passes with new files that protected patterns hide from it
    #[arg(long)]
    strict: bool,

    /// Run without the sandbox
    #[arg(long)]
    no_sandbox: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn cmd_verify(args: &VerifyArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let status = StatusStore::read(&project)?;
    let evidence = gather(&project, status.as_ref(), &args.ids)?;
    project.check_writable()?;
    let runtime = runtime()?;
    let (mut results, mut unfinished, mut written_for) = (Vec::new(), Vec::new(), BTreeMap::new());
    runtime.block_on(async {
        let checkouts =
            room_config::checkouts_outside_runs(&project, environment, args.no_sandbox, &args.env).await?;
        let mut book = CheckRegistry::load(&project)?;
        let checks = project_checks(&project, &mut book)?;
        let of_users = |check: &&Check| check.origin != CheckOrigin::Proposed;
        let whole = status.as_ref().filter(|_| args.ids.is_empty()).map(|status| of_project(&checks, status));
        let whole: Vec<&Check> = whole.unwrap_or_default().into_iter().filter(of_users).collect();
        if let Some(status) = status.as_ref().filter(|_| args.ids.is_empty()) {
            let left = checks.iter().filter(|check| is_of_unfinished(check, status));
            unfinished = left.map(|check| check.name.clone()).collect();
        }
        let lost = whole.iter().filter_map(|check| Some((check.name.clone(), check.deliverable.clone()?)));
        written_for.extend(lost);
        let strictness = if args.strict { Strictness::WithAddedFiles } else { Strictness::Nothing };
        let newest =
            evidence.iter().enumerate().max_by_key(|(_, evidence)| evidence.at).map(|(index, _)| index);
        for (index, evidence) in evidence.iter().enumerate() {
            // Once, on the files that were verified last.
            let whole = if Some(index) == newest { whole.as_slice() } else { &[] };
            let look_at = if args.json { evidence.noted.all_clauses() } else { evidence.noted.clauses() };
            let mut notes = notes(&project, evidence, look_at);
            let mut outdated = why_void(status.as_ref(), &evidence.deliverable);
            outdated.extend(changes_concerning(&book, &evidence.deliverable));
            outdated.extend(evidence.outdated(&checks));
            let reproduction = match reproduce(&project, &checkouts, evidence, whole, strictness).await {
                // The commit of a run in a workspace may not have landed.
                Err(fault) if fault.code == NO_COMMIT => {
                    notes.push("its commit is not in your repository; see `autonoe diff`".to_owned());
                    let hub = WorkPlace::workspace(&project, &SiteOptions::default()).hub_objects();
                    let Some(hub) = hub.filter(|hub| hub.git_dir.is_dir()) else { return Err(fault) };
                    let checkouts = CheckoutFactory { hub: Some(hub), ..checkouts.clone() };
                    reproduce(&project, &checkouts, evidence, whole, strictness).await?
                }
                reproduced => {
                    notes.extend(checkouts.why_unreachable(evidence.commit.as_deref()).await?);
                    reproduced?
                }
            };
            let verified = Reproduced { evidence, reproduction, outdated, notes };
            if !args.json {
                present::print(&as_text(&verified));
            }
            results.push(verified);
        }
        Ok(())
    })?;
    record(&project, &results)?;
    let whole: Vec<&CheckRun> = results.iter().flat_map(|verified| &verified.reproduction.whole).collect();
    let failing: Vec<&CheckRun> = whole.iter().filter(|run| !run.passed()).copied().collect();
    let reproduced = results.iter().filter(|verified| verified.holds()).count();
    let disputed: BTreeMap<&String, &String> = results
        .iter()
        .flat_map(|verified| &verified.reproduction.disputed)
        .map(|(path, clause)| (path, clause))
        .collect();
    if args.json {
        let whole: Vec<_> = whole.iter().map(|run| whole_as_json(run, &written_for)).collect();
        let results: Vec<_> = results.iter().map(as_json).collect();
        present::print_json(&format!(
            "{:#}\n",
            json!({ "reproduced": reproduced, "total": results.len(), "deliverables": results, "project_checks": whole, "not_run": unfinished, "disputed": disputed })
        ));
    } else {
        let disputed = disputed.iter();
        let disputed: String =
            disputed.map(|(path, clause)| format!("Disputed: {}: {clause}\n", shown_name(path))).collect();
        let but = match failing.len() {
            0 => String::new(),
            1 => ", but one of your other checks FAILS".to_owned(),
            more => format!(", but {more} of your other checks FAIL"),
        };
        present::print(&format!(
            "{}{}{disputed}\n{reproduced} of {} reproduced{but}.\n",
            whole_as_text(&failing, &written_for),
            unfinished_as_text(&unfinished),
            results.len()
        ));
    }
    Ok(if reproduced == results.len() && failing.is_empty() { exit::DONE } else { exit::STUCK })
}

/// Remembers what was not confirmed, for `status` and the report. A run that is going on looks for itself when it ends.
fn record(project: &Project, results: &[Reproduced<'_>]) -> Result<(), Fault> {
    let now = Timestamp::now();
    let record = |book: &mut CheckRegistry| {
        let ours = results.iter().filter(|verified| verified.evidence.is_ours);
        ours.for_each(|verified| verified.reproduction.record(book, &verified.evidence.deliverable, now));
    };
    let known = CheckRegistry::load(project)?;
    let mut book = known.clone();
    record(&mut book);
    if book == known {
        return Ok(());
    }
    let holder =
        LockHolder { pid: std::process::id(), command: "verify".to_owned(), since: now, socket: None };
    let Ok(_lock) = ProjectLock::take_for(project, &holder, ProjectUse::Deliverables) else {
        present::warn("This look is not recorded, since another process works on the project.");
        return Ok(());
    };
    let mut book = CheckRegistry::load(project)?;
    record(&mut book);
    book.save(project)
}

/// The checks that fail and belong to no active deliverable. `written_for`: by name, the deliverable that one was written for.
fn whole_as_text(failing: &[&CheckRun], written_for: &BTreeMap<String, String>) -> String {
    let (mut whole, mut lost) = (String::new(), String::new());
    for run in failing {
        let (name, sentence) = (&run.check, run.sentence());
        match written_for.get(name) {
            None => whole.push_str(&format!("  {name}: {sentence}\n")),
            Some(id) => lost.push_str(&format!("  {name}, written for {}: {sentence}\n", one_line(id))),
        }
    }
    let section = |title: &str, lines: String| match lines.is_empty() {
        true => lines,
        false => format!("{title}:\n{lines}"),
    };
    let whole = section("Your checks of the whole project FAIL", whole);
    whole + &section("Your checks of deliverables that do not exist, or are deprecated, FAIL", lost)
}

fn whole_as_json(run: &CheckRun, written_for: &BTreeMap<String, String>) -> Value {
    let mut value = json!(run);
    if let Some(id) = written_for.get(&run.check) {
        value["deliverable"] = json!(id);
    }
    value
}

/// The checks of deliverables that have not passed: there is nothing to reproduce.
fn unfinished_as_text(checks: &[String]) -> String {
    match checks.is_empty() {
        true => String::new(),
        false => {
            format!(
                "Your checks of deliverables that have not passed were not run: {}.\n",
                list_names(checks)
            )
        }
    }
}

/// Evidence, how its checks ran now, and what else a reader should know.
struct Reproduced<'a> {
    evidence: &'a Evidence,
    reproduction: Reproduction,
    /// Why it does not count any more, or not by the user's present checks, a clause each.
    outdated: Vec<String>,
    notes: Vec<String>,
}

impl Reproduced<'_> {
    fn holds(&self) -> bool {
        let Reproduction { fails_with_added, .. } = &self.reproduction;
        self.evidence.is_ours
            && self.reproduction.holds()
            && self.outdated.is_empty()
            && fails_with_added.is_empty()
    }
}

/// Why a deliverable with evidence does not count as verified, a clause each.
fn why_void(status: Option<&ProjectStatus>, deliverable: &str) -> Vec<String> {
    let Some(item) = status.and_then(|status| status.find(deliverable)) else { return Vec::new() };
    let found = item.finding.as_ref().map(|finding| finding.assurance);
    match (item.status, found) {
        (DeliverableStatus::Passed, Some(Assurance::Claimed)) => {
            vec!["it counts only as claimed now, not as verified; see `autonoe status`".to_owned()]
        }
        (DeliverableStatus::Passed, _) => Vec::new(),
        (other, _) => vec![format!("its status is {other} now, no longer passed")],
    }
}

/// What a reader should know. `look_at` are the files to look at, a clause for each kind.
fn notes(project: &Project, evidence: &Evidence, look_at: Vec<String>) -> Vec<String> {
    let mut notes = Vec::new();
    if !evidence.is_ours {
        notes.push("the evidence was edited, or written elsewhere: its signature does not match".to_owned());
    }
    if let Some(unchecked) = evidence.unchecked() {
        notes.push(unchecked.to_string());
    }
    notes.extend(look_at.into_iter().map(|clause| format!("look at {clause}")));
    if let (Some(head), Some(commit)) = (last_commit(project.root()), &evidence.commit)
        && head != *commit
    {
        notes.push(format!("your HEAD is {}, not the commit that was verified", &head[..10.min(head.len())]));
    }
    notes
}

/// The evidence of the named deliverables, or of all that have any.
fn gather(project: &Project, status: Option<&ProjectStatus>, ids: &[String]) -> Result<Vec<Evidence>, Fault> {
    let known: Vec<String> =
        status.iter().flat_map(|status| status.active()).map(|item| item.id.clone()).collect();
    let fault = |message: String| Fault::permanent(FaultLayer::Config, "evidence", message);
    if let Some(unknown) = ids.iter().find(|id| !known.contains(id)) {
        return Err(
            fault(format!("There is no deliverable '{unknown}'.")).hint("`autonoe status` lists them.")
        );
    }
    let mut found = Vec::new();
    for id in if ids.is_empty() { &known } else { ids } {
        match Evidence::load(project, id)? {
            Some(evidence) => found.push(evidence),
            None if ids.is_empty() => {}
            None => {
                return Err(fault(format!("{id} has not been verified, so there is nothing to reproduce."))
                    .hint("`autonoe status` shows which deliverables are verified."));
            }
        }
    }
    match found.is_empty() {
        true => Err(fault("Nothing has been verified yet, so there is nothing to reproduce.".to_owned())
            .hint("Add checks (docs/verification.md), then start `autonoe run`.")),
        false => Ok(found),
    }
}

fn as_text(verified: &Reproduced<'_>) -> String {
    let Reproduced { evidence, reproduction, outdated, notes } = verified;
    let word = match (verified.holds(), reproduction.holds()) {
        (true, _) => "reproduced",
        (false, true) if !outdated.is_empty() => "OUT OF DATE",
        (false, _) => "NOT reproduced",
    };
    let qualification = if verified.holds() { reproduction.qualification.as_str() } else { "" };
    let mut text = format!("{}: {word}{qualification}, on {}\n", evidence.deliverable, reproduction.shown);
    if !reproduction.same_tree {
        text.push_str("  the files differ from those that were verified\n");
    }
    let clauses = outdated.iter().chain(&reproduction.fails_with_added).chain(notes);
    clauses.for_each(|note| text.push_str(&format!("  {note}\n")));
    for (before, now) in &reproduction.runs {
        let same = match (now.passed(), before.output_sha256 == now.output_sha256) {
            (true, true) => ", with the same output",
            (true, false) => ", with different output",
            (false, _) => "",
        };
        text.push_str(&format!("  {}: {}{same}\n", now.check, now.sentence()));
    }
    text
}

fn as_json(verified: &Reproduced<'_>) -> Value {
    let Reproduced { evidence, reproduction, outdated, notes } = verified;
    let notes: Vec<&String> = outdated.iter().chain(&reproduction.fails_with_added).chain(notes).collect();
    let checks: Vec<_> = reproduction
        .runs
        .iter()
        .map(|(before, now)| json!({ "before": before, "now": now, "same_output": before.output_sha256 == now.output_sha256 }))
        .collect();
    json!({
        "deliverable": evidence.deliverable, "reproduced": verified.holds(),
        "qualification": reproduction.qualification.trim(), "notes": notes, "commit": evidence.commit,
        "same_files": reproduction.same_tree, "checks": checks, "unchecked": evidence.unchecked(),
    })
}
