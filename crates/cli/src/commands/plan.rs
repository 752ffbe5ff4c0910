//! `autonoe plan`

mod plan_file;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use autonoe_core::clock::Clock as _;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_core::status::{ChangeError, ProjectStatus};
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use autonoe_store::{ControlDirectory, LockHolder, Project, ProjectUse, StatusStore};
use autonoe_workspace::SiteOptions;
use clap::Args;
use jiff::tz::TimeZone;

use self::plan_file::{apply, parse, render};
use crate::arguments::{CommonArgs, SpecArgs};
use crate::engine::{RunJob, RunRequest, drive, estimate, is_old_plan};
use crate::environment::Environment;
use crate::lock_project::{LockedProject, lock_project};
use crate::present::{self, plan_text};
use crate::system::SystemClock;
use crate::write_fault::cannot_write;

/// Make the deliverables from SPEC.md and show them, without building anything
///
/// If there is a plan already, it is shown. `autonoe run` builds it.
#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    spec: SpecArgs,

    /// Edit the plan in $EDITOR
    #[arg(long, conflicts_with_all = ["start_over", "json", "detach"])]
    edit: bool,
}

pub fn cmd_plan(args: &PlanArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.common.project)?;
    if args.edit {
        return edit(&project, environment);
    }
    if !args.spec.start_over
        && let Some(text) = plan_text(&project, estimate(&project)?)?
    {
        present::print(&text);
        if is_old_plan(&project)? {
            present::print(
                "\nSPEC.md has changed since this was planned: `autonoe run` updates the plan first, `autonoe plan --start-over` plans anew\n",
            );
        }
        return Ok(exit::DONE);
    }
    let request = RunRequest {
        site: Some(SiteOptions { is_throwaway: true, ..SiteOptions::default() }),
        ..RunRequest::of_spec(RunJob::Plan, &args.common, &args.spec)
    };
    drive(request, environment)
}

/// What was edited and could not be used is kept, and opened the next time.
fn edit(project: &Project, environment: &Environment) -> Result<u8, Fault> {
    let Some(status) = StatusStore::read(project)? else {
        return Err(Fault::permanent(FaultLayer::Config, "no_plan", "There is no plan to edit yet.")
            .hint("`autonoe plan` makes one from SPEC.md."));
    };
    let _lock = lock_unless_paused(project)?;
    let (file, shown) = (project.state_dir().join("plan-edit.txt"), render(&status));
    let kept = read_edited(&file)?;
    if kept.is_none() {
        fs::write(&file, &shown).map_err(|error| cannot_write(FaultLayer::System, "plan", &file, &error))?;
    }
    open_editor(&file, environment)?;
    let edited = read_edited(&file)?.unwrap_or_default();
    let now = SystemClock.now().to_zoned(TimeZone::UTC).date();
    let planned = parse(&edited).map_err(|problems| not_a_plan(&file, &problems))?;
    let is_unchanged = edited == shown || planned.is_empty();
    if !is_unchanged {
        let changed =
            StatusStore::edit(project, now, |status: &mut ProjectStatus| apply(status, planned, now));
        changed.map_err(|error| match error {
            ChangeError::Fault(fault) => fault,
            ChangeError::Refused(refusal) => not_a_plan(&file, &[format!("{refusal}.")]),
        })?;
    }
    // Ignored: it would only be shown again.
    let _ = fs::remove_file(&file);
    if is_unchanged {
        present::print("Nothing was changed.\n");
    } else if let Some(text) = plan_text(project, estimate(project)?)? {
        present::print(&text);
    }
    Ok(exit::DONE)
}

/// A run that waits for its plan to be approved does not write the plan.
fn lock_unless_paused(project: &Project) -> Result<Option<LockedProject>, Fault> {
    if ControlDirectory::of(project).is_paused() {
        return Ok(None);
    }
    let holder = LockHolder {
        pid: std::process::id(),
        command: "plan --edit".to_owned(),
        since: SystemClock.now(),
        socket: None,
    };
    lock_project(project, &holder, ProjectUse::Deliverables).map(Some)
}

fn read_edited(file: &Path) -> Result<Option<String>, Fault> {
    read_text(file, DOCUMENT_LIMIT).map_err(|error| {
        let message = format!("The edited plan {} cannot be read: {error}.", file.display());
        Fault::permanent(FaultLayer::Config, "plan", message).hint(error.advice())
    })
}

fn open_editor(file: &PathBuf, environment: &Environment) -> Result<(), Fault> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| environment.variable(name));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    // As git does it: the variable may have arguments.
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$@\"")).arg(&editor).arg(file).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        ended => {
            let why = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
            let message = format!("The editor `{editor}` failed: {why}. The plan was not changed.");
            Err(Fault::permanent(FaultLayer::Config, "editor", message)
                .hint("Set EDITOR to a program that you have."))
        }
    }
}

fn not_a_plan(file: &Path, problems: &[String]) -> Fault {
    let message = format!(
        "The plan was not changed, since the edited text is not a plan:\n  {}",
        problems.join("\n  ")
    );
    Fault::permanent(FaultLayer::Config, "plan", message).hint(format!(
        "Your text is kept: `autonoe plan --edit` opens it again. To begin with the plan as it is, delete {}.",
        file.display()
    ))
}
