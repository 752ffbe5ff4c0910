//! `autonoe verify`

use autonoe_core::fault::{Fault, Layer};
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

/// Run the checks of verified deliverables again, from a fresh checkout of the commit that they were verified on
///
/// Exits with 0 if all of it is reproduced, with 7 if something is not.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The deliverables [default: all that have evidence]
    ids: Vec<String>,

    /// The project.
    #[command(flatten)]
    project: ProjectArgs,

    /// Run without the sandbox
    #[arg(long)]
    no_sandbox: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reproduces evidence.
pub fn cmd_verify(args: &VerifyArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let evidence = gather(&project, &args.ids)?;
    project.check_writable()?;
    let runtime = runtime()?;
    let mut results = Vec::new();
    runtime.block_on(async {
        let site = room_config::site_outside_runs(&project, environment, args.no_sandbox).await?;
        for evidence in &evidence {
            let reproduction = reproduce(&project, &site, evidence).await?;
            if !args.json {
                present::print(&told(evidence, &reproduction));
            }
            results.push((evidence, reproduction));
        }
        Ok(())
    })?;
    let held = results.iter().filter(|(_, reproduction)| reproduction.holds()).count();
    if args.json {
        let results: Vec<_> = results.iter().map(|(evidence, result)| as_json(evidence, result)).collect();
        present::print(&format!(
            "{:#}\n",
            json!({ "reproduced": held, "total": results.len(), "deliverables": results })
        ));
    } else {
        present::print(&format!("\n{held} of {} reproduced.\n", results.len()));
    }
    Ok(if held == results.len() { exit::DONE } else { exit::STUCK })
}

/// The evidence of some deliverables, or of all that have some.
fn gather(project: &Project, ids: &[String]) -> Result<Vec<Evidence>, Fault> {
    let status = StatusStore::read(project)?;
    let known: Vec<String> =
        status.iter().flat_map(|status| status.active()).map(|item| item.id.clone()).collect();
    let wrong = |message: String| Fault::lasting(Layer::Config, "evidence", message);
    if let Some(unknown) = ids.iter().find(|id| !known.contains(id)) {
        return Err(
            wrong(format!("There is no deliverable '{unknown}'.")).hint("`autonoe status` lists them.")
        );
    }
    let mut found = Vec::new();
    for id in if ids.is_empty() { &known } else { ids } {
        match Evidence::load(project, id)? {
            Some(evidence) => found.push(evidence),
            None if ids.is_empty() => {}
            None => {
                return Err(wrong(format!("{id} has not been verified, so there is nothing to reproduce."))
                    .hint("`autonoe status` says what stands behind each deliverable."));
            }
        }
    }
    match found.is_empty() {
        true => Err(wrong("Nothing has been verified yet, so there is nothing to reproduce.".to_owned())
            .hint("Give deliverables checks (docs/verification.md), then `autonoe run`.")),
        false => Ok(found),
    }
}

fn told(evidence: &Evidence, reproduction: &Reproduction) -> String {
    let word = if reproduction.holds() { "reproduced" } else { "NOT reproduced" };
    let mut text = format!("{}: {word}, on {}\n", evidence.deliverable, reproduction.shown);
    if !reproduction.same_tree {
        text.push_str("  the files are not those that were verified\n");
    }
    for (before, now) in &reproduction.trials {
        let same = match (now.passed(), before.output_sha256 == now.output_sha256) {
            (true, true) => ", with the same output",
            (true, false) => ", with another output than before",
            (false, _) => "",
        };
        text.push_str(&format!("  {}: {}{same}\n", now.check, now.sentence()));
    }
    text
}

fn as_json(evidence: &Evidence, reproduction: &Reproduction) -> serde_json::Value {
    let checks: Vec<_> = reproduction
        .trials
        .iter()
        .map(|(before, now)| json!({ "before": before, "now": now, "same_output": before.output_sha256 == now.output_sha256 }))
        .collect();
    json!({
        "deliverable": evidence.deliverable, "reproduced": reproduction.holds(), "commit": evidence.commit,
        "same_files": reproduction.same_tree, "checks": checks,
    })
}
