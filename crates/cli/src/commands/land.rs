//! `autonoe land` and `autonoe diff`

use autonoe_core::clock::Clock as _;
use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use autonoe_report::escape_controls;
use autonoe_store::{LockHolder, Project, ProjectUse};
use autonoe_workspace::{HubLayout, Landing, LandingConsent};
use clap::Args;

use crate::environment::Environment;
use crate::lock_project::lock_project;
use crate::open_hub::open_hub;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::system::{SystemClock, runtime};
use crate::unseen_commits::verified_commits_of;

const NOTHING: &str = "Nothing is waiting to land.\n";
const NOTHING_CHECKED: &str = "No commit that checks have seen is waiting to land. `autonoe diff` shows the others, `autonoe land` lands them.\n";

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
        let finished = hub.finish_interrupted_landing().await?;
        if let Some((branch, commit)) = &finished {
            let landed = present::landed(branch, commit);
            present::print(&format!("{landed}: a landing that was interrupted is finished now\n"));
        }
        let Some(unlanded) = hub.unlanded().await? else {
            if finished.is_none() {
                present::print(NOTHING);
            }
            return Ok(exit::DONE);
        };
        let part = hub.checked_unlanded(&unlanded, &verified_commits_of(&project)?).await?;
        if args.discard {
            let kept = hub.discard(&unlanded).await?;
            present::print_lines(&discarded(part.unlanded, &unlanded.branch, &kept, &project));
            return Ok(exit::DONE);
        }
        let to_land = if args.checked { unlanded.only_checked(&part) } else { Some(unlanded) };
        let Some(unlanded) = to_land else {
            present::print(NOTHING_CHECKED);
            return Ok(exit::DONE);
        };
        let consent =
            LandingConsent { self_acting: args.accept_self_acting, protected: args.accept_protected };
        let landing = hub.land_unlanded(&unlanded, consent).await?;
        let commit = &unlanded.commit;
        let mut lines = vec![match &landing {
            Landing::Landed { branch, .. } => present::landed(branch, commit),
            Landing::Apart { branch, why } => {
                present::not_landed(branch, commit, &why.to_string(), Some(&why.advice(branch)))
            }
        }];
        lines.extend(present::unseen(&part).filter(|_| !args.checked));
        let Landing::Landed { ci_files, hook_files, .. } = landing else {
            present::print(&lines.join("\n"));
            return Ok(exit::STUCK);
        };
        lines.extend((!ci_files.is_empty()).then(|| present::ci_files(&ci_files)));
        lines.extend((!hook_files.is_empty()).then(|| present::hook_files(&hook_files)));
        present::print(&lines.join("\n"));
        Ok(exit::DONE)
    })
}

fn discarded(count: usize, branch: &str, kept: &str, project: &Project) -> String {
    let hub = HubLayout::in_state(project.state_dir()).git_dir();
    format!(
        "[DISCARDED] {count} commit(s) of {branch}. The next run begins from your last commit.\n\
         What they finished may still be marked as passed: `autonoe verify` looks at it again.\n\
         To have them back: git fetch {} {kept}\n",
        hub.display()
    )
}

pub fn cmd_diff(args: &DiffArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    runtime()?.block_on(async {
        let hub = open_hub(&project, environment).await?;
        let shown = match hub.unlanded().await? {
            // An agent has written it, and it must not act on the terminal.
            Some(unlanded) => {
                let shown = hub.show_unlanded(&unlanded).await?;
                escape_controls(&Redactor::new(&environment.secrets()).text(&shown))
            }
            None => NOTHING.to_owned(),
        };
        present::print_lines(&shown);
        Ok(exit::DONE)
    })
}
