//! `autonoe verify`

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_store::{Project, StatusStore};
use autonoe_verify::{Evidence, Reproduction, reproduce};
use clap::Args;
use serde_json::json;

use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::present;
use crate::room_config;
use crate::system::runtime;

/// Rerun the checks of verified deliverables on a fresh checkout of the commit they were verified on
///
/// Exits with 0 if everything is reproduced, with 7 if not.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Ids of deliverables [default: all that have evidence]
    ids: Vec<String>,

    #[command(flatten)]
    project: ProjectArgs,

    /// Run without the sandbox
    #[arg(long)]
    no_sandbox: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn cmd_verify(args: &VerifyArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let evidence = gather(&project, &args.ids)?;
    project.check_writable()?;
    let runtime = runtime()?;
    let mut results = Vec::new();
    runtime.block_on(async {
        let checkouts = room_config::checkouts_outside_runs(&project, environment, args.no_sandbox).await?;
        for evidence in &evidence {
            let reproduction = reproduce(&project, &checkouts, evidence).await?;
            if !args.json {
                present::print(&as_text(evidence, &reproduction));
            }
            results.push((evidence, reproduction));
        }
        Ok(())
    })?;
    let reproduced = results.iter().filter(|(_, reproduction)| reproduction.holds()).count();
    if args.json {
        let results: Vec<_> = results.iter().map(|(evidence, result)| as_json(evidence, result)).collect();
        present::print(&format!(
            "{:#}\n",
            json!({ "reproduced": reproduced, "total": results.len(), "deliverables": results })
        ));
    } else {
        present::print(&format!("\n{reproduced} of {} reproduced.\n", results.len()));
    }
    Ok(if reproduced == results.len() { exit::DONE } else { exit::STUCK })
}

/// The evidence of the named deliverables, or of all that have any.
fn gather(project: &Project, ids: &[String]) -> Result<Vec<Evidence>, Fault> {
    let status = StatusStore::read(project)?;
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

fn as_text(evidence: &Evidence, reproduction: &Reproduction) -> String {
    let word = if reproduction.holds() { "reproduced" } else { "NOT reproduced" };
    let mut text = format!("{}: {word}, on {}\n", evidence.deliverable, reproduction.shown);
    if !reproduction.same_tree {
        text.push_str("  the files differ from those that were verified\n");
    }
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

fn as_json(evidence: &Evidence, reproduction: &Reproduction) -> serde_json::Value {
    let checks: Vec<_> = reproduction
        .runs
        .iter()
        .map(|(before, now)| json!({ "before": before, "now": now, "same_output": before.output_sha256 == now.output_sha256 }))
        .collect();
    json!({
        "deliverable": evidence.deliverable, "reproduced": reproduction.holds(), "commit": evidence.commit,
        "same_files": reproduction.same_tree, "checks": checks,
    })
}
