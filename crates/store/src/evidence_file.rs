//! Evidence files: one per verified deliverable.

use std::path::PathBuf;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use serde_json::Value;

use crate::atomic;
use crate::hash::sha256_hex;
use crate::project::Project;

/// Maximum length of a file name derived from a deliverable's id.
const MAX_NAME: usize = 80;

pub fn evidence_file(project: &Project, deliverable: &str) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = match deliverable.chars().all(is_plain) && !deliverable.starts_with('.') {
        true if deliverable.len() <= MAX_NAME => deliverable.to_owned(),
        // Not every id is a valid file name.
        _ => sha256_hex(deliverable.as_bytes())[..16].to_owned(),
    };
    project.autonoe_dir().join("evidence").join(format!("{name}.json"))
}

/// Returns the path of the file.
pub fn write_evidence(project: &Project, deliverable: &str, evidence: &Value) -> Result<PathBuf, Fault> {
    let path = evidence_file(project, deliverable);
    let text = format!("{evidence:#}\n");
    atomic::write(&path, text.as_bytes())
        .map_err(|error| atomic::write_fault("evidence", &path, &error, "Then start again."))?;
    Ok(path)
}

pub fn read_evidence(project: &Project, deliverable: &str) -> Result<Option<Value>, Fault> {
    let path = evidence_file(project, deliverable);
    let wrong = |what: String| {
        Fault::permanent(
            FaultLayer::Config,
            "evidence",
            format!("{} cannot be read: {what}.", path.display()),
        )
    };
    match read_text(&path, DOCUMENT_LIMIT) {
        Ok(Some(text)) => serde_json::from_str(&text).map(Some).map_err(|error| wrong(error.to_string())),
        Ok(None) => Ok(None),
        Err(error) => Err(wrong(error.to_string()).hint(error.advice())),
    }
}
