//! The evidence of what was verified: one file a deliverable, for anyone who wants to see it.

use std::path::PathBuf;

use autonoe_core::fault::{Fault, Layer};
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use serde_json::Value;

use crate::atomic;
use crate::hash::sha256_hex;
use crate::project::Project;

/// The longest name of a file that is taken from a deliverable's id.
const MAX_NAME: usize = 80;

/// Where the evidence of a deliverable lies.
pub fn evidence_file(project: &Project, deliverable: &str) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = match deliverable.chars().all(is_plain) && !deliverable.starts_with('.') {
        true if deliverable.len() <= MAX_NAME => deliverable.to_owned(),
        // An id is not always a name that a file can have.
        _ => sha256_hex(deliverable.as_bytes())[..16].to_owned(),
    };
    project.autonoe_dir().join("evidence").join(format!("{name}.json"))
}

/// Writes the evidence of a deliverable and returns where it is.
pub fn write_evidence(project: &Project, deliverable: &str, evidence: &Value) -> Result<PathBuf, Fault> {
    let path = evidence_file(project, deliverable);
    let text = format!("{evidence:#}\n");
    atomic::write(&path, text.as_bytes())
        .map_err(|error| atomic::write_fault("evidence", &path, &error, "Then start again."))?;
    Ok(path)
}

/// Reads the evidence of a deliverable; none when there is none.
pub fn read_evidence(project: &Project, deliverable: &str) -> Result<Option<Value>, Fault> {
    let path = evidence_file(project, deliverable);
    let wrong = |what: String| {
        Fault::lasting(Layer::Config, "evidence", format!("{} cannot be read: {what}.", path.display()))
    };
    match read_text(&path, DOCUMENT_LIMIT) {
        Ok(Some(text)) => serde_json::from_str(&text).map(Some).map_err(|error| wrong(error.to_string())),
        Ok(None) => Ok(None),
        Err(error) => Err(wrong(error.to_string()).hint(error.advice())),
    }
}
