//! `autonoe run "what to build"`: makes SPEC.md from one sentence, once the user has seen it and agreed.

use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_report::escape_controls;
use autonoe_store::Project;
use autonoe_verify::read_spec;

use crate::commands::init::create;
use crate::consent::ask;
use crate::present;
use crate::spec_draft::{CheckNetwork, from_sentence};
use crate::spec_template::is_template;
use crate::survey::ProjectSurvey;
use crate::write_fault::cannot_write;

/// Fails if there is a SPEC.md, which is never overwritten, or if the user does not agree.
pub fn write_spec(
    sentence: &str,
    project: &Project,
    network: CheckNetwork,
    agrees: bool,
) -> Result<(), Fault> {
    if sentence.trim().is_empty() {
        return Err(fault("The sentence that says what to build is empty.".to_owned())
            .hint("Say what you want, such as: autonoe run \"add a login page\""));
    }
    if let Some(existing) = project.find_spec()? {
        return Err(already_specified(sentence, &existing));
    }
    let spec = from_sentence(sentence, &ProjectSurvey::of(project.root()), network);
    read_spec(&spec).map_err(|error| {
        fault(format!("The sentence cannot become a SPEC.md: {error}."))
            .hint("Write SPEC.md yourself; `autonoe init` creates a template.")
    })?;
    present::notice(&escape_controls(&format!("SPEC.md will be:\n\n{}", indented(&spec))));
    if !agrees && !ask("Write this SPEC.md and build it?") {
        return Err(fault(
            "Nothing was written and nothing was started: you did not agree to this SPEC.md.".to_owned(),
        )
        .hint("Without a terminal, --yes agrees. To write more, `autonoe init` creates a template."));
    }
    let path = project.root().join("SPEC.md");
    let is_new = create(project.root(), Path::new("SPEC.md"), &spec)
        .map_err(|error| cannot_write(FaultLayer::Config, "spec", &path, &error))?;
    match is_new {
        true => Ok(()),
        false => Err(already_specified(sentence, "")),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}

fn already_specified(sentence: &str, existing: &str) -> Fault {
    let what =
        if is_template(existing) { "is here already, as the untouched template" } else { "is here already" };
    let advice = match is_template(existing) {
        true => {
            "Delete SPEC.md and start again, or replace its examples with what you want and start `autonoe run`."
        }
        false => {
            "Add it to SPEC.md and start `autonoe run`: the first session updates the plan. For something separate, move SPEC.md away first."
        }
    };
    fault(format!("SPEC.md {what}, so it was not made from \"{sentence}\".")).hint(advice)
}

fn fault(message: String) -> Fault {
    Fault::permanent(FaultLayer::Config, "spec", message)
}
