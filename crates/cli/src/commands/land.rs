//! `autonoe land` and `autonoe diff`

use std::collections::BTreeSet;

use autonoe_core::clock::Clock as _;
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::shown_name;
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use autonoe_core::status::ChangeError;
use autonoe_report::{escape_controls, one_line};
use autonoe_store::{LockHolder, LockStatus, Project, ProjectLock, ProjectUse, StatusStore};
use autonoe_workspace::{
    Discarded, HubLayout, InterruptedLanding, Landing, LandingConsent, LandingRefusal, Settled, Unlanded,
};
use clap::Args;
use jiff::tz::TimeZone;

use crate::environment::Environment;
use crate::lock_project::lock_project;
use crate::open_hub::open_hub;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::system::{SystemClock, runtime};
use crate::unseen_commits::{left_in_workspace, verified_commits_of};

const NOTHING: &str = "Nothing is waiting to land.\n";
const HAD_LANDED: &str = "Some of these commits had landed before, and your branch was reset since.";
const NOTHING_CHECKED: &str = "No commit on which checks still pass is waiting to land. `autonoe diff` shows the others, `autonoe land` lands them.\n";

/// Bring commits of the last run that have not landed to your branch
///
/// Exits with 0 if they landed or there are none, with 7 if something is in the way.
#[derive(Debug, Args)]
pub struct LandArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Land only up to the last commit on which checks have passed
    #[arg(long)]
    checked: bool,

    /// Also land files that programs on your machine act on by themselves, such as .envrc or .vscode
    #[arg(long)]
    accept_self_acting: bool,

    /// Also land changes to files that your checks judge by; `autonoe checks` then asks which version counts
    #[arg(long)]
    accept_protected: bool,

    /// Give up these commits instead: nothing lands, and the next run begins from your last commit
    #[arg(long, conflicts_with_all = ["checked", "accept_self_acting", "accept_protected"])]
    discard: bool,
}

/// Show the commits of the last run that have not landed, and their changes
#[derive(Debug, Args)]
pub struct DiffArgs {
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn cmd_land(args: &LandArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    project.check_writable()?;
    let holder = LockHolder {
        pid: std::process::id(),
        command: "land".to_owned(),
        since: SystemClock.now(),
        socket: None,
    };
    let _locked = lock_project(&project, &holder, ProjectUse::Deliverables)?;
    runtime()?.block_on(async {
        let hub = open_hub(&project, environment).await?;
        let status = StatusStore::read(&project)?;
        let settled = status.as_ref().map(Settled::of).unwrap_or_default();
        // It may have begun with more than the user wants.
        let finished = match args.discard || args.checked {
            true => hub.take_back_interrupted_landing().await?,
            false => hub.finish_interrupted_landing(&settled).await?,
        };
        if let Some(interrupted) = &finished {
            let mut lines = match interrupted {
                InterruptedLanding::Finished { commit, landing } => describe(commit, landing),
                InterruptedLanding::TakenBack { .. } => Vec::new(),
            };
            lines.push(format!("{interrupted}\n"));
            present::print_lines(&lines.join("\n"));
        }
        if args.discard {
            hub.fetch_killed_work().await?;
        }
        let Some(unlanded) = hub.unlanded().await? else {
            if finished.is_none() {
                present::print_lines(&nothing(&project));
            }
            return Ok(exit::DONE);
        };
        let part = hub.checked_unlanded(&unlanded, &verified_commits_of(&project)?).await?;
        if args.discard {
            let lost = hub.lost_with(&unlanded, &settled).await?;
            let discarded = hub.discard(&unlanded).await?;
            reset(&project, &lost)?;
            present::print_lines(&describe_discarded(part.unlanded, &unlanded, &discarded, &lost, &project));
            return Ok(exit::DONE);
        }
        let to_land = if args.checked { unlanded.only_checked(&part) } else { Some(unlanded) };
        let Some(unlanded) = to_land else {
            present::print(NOTHING_CHECKED);
            return Ok(exit::DONE);
        };
        let consent =
            LandingConsent { self_acting: args.accept_self_acting, protected: args.accept_protected };
        let landing = hub.land_unlanded(&unlanded, consent, &settled).await?;
        let mut lines = describe(&unlanded.commit, &landing);
        lines.extend(present::unseen(&part).filter(|_| !args.checked));
        lines.extend(unlanded.had_landed.then(|| HAD_LANDED.to_owned()));
        present::print(&lines.join("\n"));
        Ok(match landing {
            Landing::Landed { .. } => exit::DONE,
            Landing::Apart { .. } => exit::STUCK,
        })
    })
}

fn nothing(project: &Project) -> String {
    match left_in_workspace(project) {
        Some(left) => format!("{NOTHING}{left}.\n"),
        None => NOTHING.to_owned(),
    }
}

/// A line for each file, if the sentence about the landing does not name all of them.
fn all_files(why: &LandingRefusal) -> Option<String> {
    let files: Vec<String> = why.more_files().iter().map(|file| format!("  {}", shown_name(file))).collect();
    (!files.is_empty()).then(|| format!("All {} files:\n{}", files.len(), files.join("\n")))
}

fn describe(commit: &str, landing: &Landing) -> Vec<String> {
    match landing {
        Landing::Landed { branch, ci_files, hook_files, filtered_files } => {
            let ci = (!ci_files.is_empty()).then(|| present::ci_files(ci_files));
            let hooks = (!hook_files.is_empty()).then(|| present::hook_files(hook_files));
            let filtered = present::filtered_files(filtered_files);
            [present::landed(branch, commit)].into_iter().chain(filtered).chain(ci).chain(hooks).collect()
        }
        Landing::Apart { branch, why } => {
            let line = present::not_landed(branch, commit, &why.to_string(), Some(&why.advice(branch)));
            [line].into_iter().chain(all_files(why)).collect()
        }
    }
}

/// Makes deliverables pending again.
fn reset(project: &Project, ids: &BTreeSet<String>) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let today = SystemClock.now().to_zoned(TimeZone::UTC).date();
    let edited = StatusStore::edit(project, today, |status| {
        ids.iter().try_for_each(|id| status.set_status(id, DeliverableStatus::Pending).map(drop))
    });
    edited.map_err(|error| match error {
        ChangeError::Fault(fault) => fault,
        ChangeError::Refused(refusal) => {
            Fault::permanent(FaultLayer::Config, "not_reset", format!("{refusal}."))
        }
    })
}

fn describe_discarded(
    count: usize,
    unlanded: &Unlanded,
    discarded: &Discarded,
    lost: &BTreeSet<String>,
    project: &Project,
) -> String {
    let hub = HubLayout::in_state(project.state_dir()).git_dir();
    let ids: Vec<&str> = lost.iter().map(String::as_str).collect();
    let lost = match ids.is_empty() {
        true => String::new(),
        false => format!("Pending again: {}.\n", one_line(&ids.join(", "))),
    };
    let left: String = discarded
        .left
        .iter()
        .map(|branch| format!("Branch {branch} still has them; to remove it: git branch -D {branch}\n"))
        .collect();
    let below_others: String = discarded
        .left_below_others
        .iter()
        .map(|branch| {
            format!("Branch {branch} still has them, and other commits after them, such as your own.\n")
        })
        .collect();
    format!(
        "[DISCARDED] {count} commit(s) of {}. The next run begins from your last commit.\n{lost}{left}{below_others}To have them back: git fetch {} {}\n",
        unlanded.users_branch.as_ref().unwrap_or(&unlanded.branch),
        hub.display(),
        discarded.kept,
    )
}

pub fn cmd_diff(args: &DiffArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    runtime()?.block_on(async {
        let hub = open_hub(&project, environment).await?;
        let shown = match hub.unlanded().await? {
            // An agent has written it, and it must not act on the terminal.
            Some(unlanded) => {
                let mut shown = hub.show_unlanded(&unlanded).await?;
                for branch in &unlanded.others {
                    shown +=
                        &format!("\nMore commits wait on {branch}: `git diff ...{branch}` shows them.\n");
                }
                escape_controls(&Redactor::new(&environment.secrets()).text(&shown))
            }
            None if ProjectLock::status(&project) != LockStatus::Free => {
                format!("{NOTHING}What a run at work has begun is not shown before it has landed, or waits on a branch.\n")
            }
            None => nothing(&project),
        };
        present::print_lines(&shown);
        Ok(exit::DONE)
    })
}
