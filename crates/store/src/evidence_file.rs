//! Evidence files: one per verified deliverable.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{DOCUMENT_LIMIT, SETTINGS_LIMIT, read_bytes, read_text};
use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;

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

/// Evidence as it is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvidence {
    pub value: Value,
    /// Whether this user's Autonoe wrote exactly this for this project; false for evidence that was edited or came with a clone.
    pub is_ours: bool,
}

/// The field with the signature, by a key in the state directory.
const SIGNATURE: &str = "signature";

/// Signs and writes evidence. Returns the path of the file.
pub fn write_evidence(project: &Project, deliverable: &str, evidence: &Value) -> Result<PathBuf, Fault> {
    let path = evidence_file(project, deliverable);
    let unwritable =
        |path: &Path, error: &io::Error| atomic::write_fault("evidence", path, error, "Then start again.");
    let file = key_file(project);
    let key = match read_key(project) {
        Some(key) => key,
        None => new_key(&file).map_err(|error| unwritable(&file, &error))?,
    };
    let mut evidence = evidence.clone();
    evidence[SIGNATURE] = signature(&key, &evidence).into();
    let text = format!("{evidence:#}\n");
    atomic::write(&path, text.as_bytes()).map_err(|error| unwritable(&path, &error))?;
    Ok(path)
}

pub fn read_evidence(project: &Project, deliverable: &str) -> Result<Option<StoredEvidence>, Fault> {
    let path = evidence_file(project, deliverable);
    let wrong = |what: String| {
        Fault::permanent(
            FaultLayer::Config,
            "evidence",
            format!("{} cannot be read: {what}.", path.display()),
        )
    };
    let text = match read_text(&path, DOCUMENT_LIMIT) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(None),
        Err(error) => return Err(wrong(error.to_string()).hint(error.advice())),
    };
    // A damaged one is worth as much as none.
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else {
        return Ok(None);
    };
    let found = value.as_object_mut().and_then(|fields| fields.remove(SIGNATURE));
    let is_ours = read_key(project).is_some_and(|key| found == Some(signature(&key, &value).into()));
    Ok(Some(StoredEvidence { value, is_ours }))
}

fn key_file(project: &Project) -> PathBuf {
    project.state_dir().join("evidence.key")
}

fn read_key(project: &Project) -> Option<Vec<u8>> {
    read_bytes(&key_file(project), SETTINGS_LIMIT).ok().flatten()
}

fn new_key(file: &Path) -> io::Result<Vec<u8>> {
    let mut key = vec![0; 32];
    rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())?;
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600).open(file)?.write_all(&key)?;
    Ok(key)
}

/// The fields of JSON objects are sorted, so equal evidence has equal text.
fn signature(key: &[u8], evidence: &Value) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return String::new();
    };
    mac.update(evidence.to_string().as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}
