//! Detects that the deliverables on record belong to another project, which was at the same path before.

use autonoe_core::fault::Fault;
use autonoe_store::journal::history::{History, StatusOrigin};
use autonoe_store::{Project, StatusStore, sha256_hex};

use crate::object_lookup::may_have_object;

/// Why the recorded deliverables are not this project's, as a clause; `None` if they may be, if nothing is recorded, or if there is a
/// `status.json`.
pub fn why_other_project(project: &Project) -> Result<Option<String>, Fault> {
    if StatusStore::read(project)?.is_some() {
        return Ok(None);
    }
    let origin = match History::open(&project.journal_file())? {
        Some(history) => history.status_origin()?,
        None => None,
    };
    let Some(StatusOrigin { spec, commit }) = origin else {
        return Ok(None);
    };
    let now = project.find_spec()?.map(|text| sha256_hex(text.as_bytes()));
    if spec.is_some_and(|spec| now.is_some_and(|now| now != spec)) {
        return Ok(Some("SPEC.md is not the one that was planned".to_owned()));
    }
    let lost = commit.filter(|commit| !may_have_object(project.root(), commit));
    Ok(lost.map(|commit| {
        format!(
            "its repository does not have commit {}, the last one of the last run",
            &commit[..10.min(commit.len())]
        )
    }))
}
