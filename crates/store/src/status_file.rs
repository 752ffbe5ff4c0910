//! The format of `status.json` (seed 002 §5.2): strict parsing, faithful rewriting.
//!
//! The file belongs to the user as much as to us: unknown keys survive a rewrite, and an unreadable file is a
//! fault that names the position, never an empty status.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use autonoe_core::check::{Finding, Review};
use autonoe_core::deliverable::{BuildOrder, Deliverable, DeliverableStatus};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::status::ProjectStatus;
use jiff::civil::Date;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Format version that this build reads and writes. A file without `version` has this one.
const FORMAT_VERSION: u64 = 1;

/// Optional keys of a deliverable that are not in seed 002.
const VERIFICATION: &str = "verification";
const REVIEW: &str = "review";
const BLOCKED_REASON: &str = "blockedReason";
const DEPENDS: &str = "depends";
const TOUCHES: &str = "touches";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusDocument {
    #[serde(default)]
    version: Option<Value>,
    created_at: Date,
    updated_at: Date,
    deliverables: Vec<DeliverableEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeliverableEntry {
    id: String,
    description: String,
    acceptance_criteria: Vec<String>,
    #[serde(default)]
    passed: bool,
    #[serde(default)]
    blocked: bool,
    #[serde(default)]
    blocked_reason: Option<String>,
    #[serde(default)]
    deprecated_at: Option<Date>,
    #[serde(default)]
    verification: Option<Finding>,
    #[serde(default)]
    review: Option<Review>,
    #[serde(default)]
    depends: Option<Vec<String>>,
    #[serde(default)]
    touches: Vec<String>,
}

/// A parsed status file, and the document it came from.
#[derive(Debug, Clone)]
pub struct StatusFile {
    pub status: ProjectStatus,
    document: Map<String, Value>,
}

impl StatusFile {
    pub fn empty(today: Date) -> Self {
        Self { status: ProjectStatus::empty(today), document: Map::new() }
    }

    pub fn parse(text: &str, path: &Path) -> Result<Self, Fault> {
        let status = parse_status(text, path)?;
        let document = serde_json::from_str(text).map_err(|error| not_json(path, &error))?;
        Ok(Self { status, document })
    }

    /// The text to write: seed 002's keys in their order, then unknown keys.
    pub fn render(&self) -> String {
        let entries = self.entries();
        let items = self.status.deliverables.iter();
        let items = items.map(|item| render_one(item, entries.get(item.id.as_str()).copied()));
        let known = json!({
            "createdAt": self.status.created_at,
            "updatedAt": self.status.updated_at,
            "deliverables": items.collect::<Vec<_>>(),
        });
        let document = with_unknown_keys(known, Some(&self.document));
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The entries of the document by id.
    fn entries(&self) -> HashMap<&str, &Map<String, Value>> {
        let items = self.document.get("deliverables").and_then(Value::as_array);
        let objects = items.into_iter().flatten().filter_map(Value::as_object);
        objects.filter_map(|object| Some((object.get("id")?.as_str()?, object))).collect()
    }
}

fn render_one(item: &Deliverable, before: Option<&Map<String, Value>>) -> Value {
    let mut known = json!({
        "id": item.id,
        "description": item.description,
        "acceptanceCriteria": item.acceptance_criteria,
        "passed": item.status == DeliverableStatus::Passed,
        "blocked": item.status == DeliverableStatus::Blocked,
    });
    if let Some(day) = item.deprecated_at {
        known["deprecatedAt"] = json!(day);
    }
    if let Some(reason) = &item.blocked_reason {
        known[BLOCKED_REASON] = json!(reason);
    }
    if let Some(depends) = &item.order.depends {
        known[DEPENDS] = json!(depends);
    }
    if !item.order.touches.is_empty() {
        known[TOUCHES] = json!(item.order.touches);
    }
    if let Some(finding) = &item.finding {
        known[VERIFICATION] = json!(finding);
    }
    if let Some(review) = &item.review {
        known[REVIEW] = json!(review);
    }
    let mut written = with_unknown_keys(known, before);
    if item.finding.is_none() {
        written.remove(VERIFICATION);
    }
    if item.review.is_none() {
        written.remove(REVIEW);
    }
    if item.blocked_reason.is_none() {
        written.remove(BLOCKED_REASON);
    }
    Value::Object(written)
}

/// The status alone, which is all that a reader needs.
pub fn parse_status(text: &str, path: &Path) -> Result<ProjectStatus, Fault> {
    let parsed: StatusDocument =
        serde_json::from_str(text).map_err(|error| why_unreadable(text, path, &error))?;
    if let Some(version) = parsed.version.filter(is_newer) {
        return Err(newer_version(path, &version));
    }
    let mut ids = HashSet::new();
    let deliverables = parsed
        .deliverables
        .into_iter()
        .map(|item| {
            if !ids.insert(item.id.clone()) {
                return Err(unreadable(path, &format!("the deliverable id \"{}\" occurs twice", item.id)));
            }
            item.into_deliverable().map_err(|error| unreadable(path, &error.to_string()))
        })
        .collect::<Result<_, Fault>>()?;
    Ok(ProjectStatus { created_at: parsed.created_at, updated_at: parsed.updated_at, deliverables })
}

/// Reads the text once more, slowly, for the name of the field.
fn why_unreadable(text: &str, path: &Path, error: &serde_json::Error) -> Fault {
    let document: Map<String, Value> = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) => return not_json(path, &error),
    };
    if let Some(version) = document.get("version").filter(|version| is_newer(version)) {
        return newer_version(path, version);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, StatusDocument>(&mut reader) {
        Ok(_) => unreadable(path, &error.to_string()),
        Err(error) => unreadable(path, &format!("field {}: {}", error.path(), error.inner())),
    }
}

fn is_newer(version: &Value) -> bool {
    version.as_u64() != Some(FORMAT_VERSION)
}

fn newer_version(path: &Path, version: &Value) -> Fault {
    Fault::permanent(
        FaultLayer::Config,
        "status_version",
        format!(
            "{} was written by a newer version (format {version}, this autonoe knows {FORMAT_VERSION}).",
            path.display()
        ),
    )
    .hint("Update autonoe; nothing was changed.")
}

fn not_json(path: &Path, error: &serde_json::Error) -> Fault {
    unreadable(path, &format!("it is not valid JSON, {error}"))
}

fn unreadable(path: &Path, why: &str) -> Fault {
    Fault::permanent(FaultLayer::Config, "status_file", format!("{} cannot be read: {why}.", path.display()))
        .hint("Fix the file or restore it from version control; nothing was changed.")
}

#[derive(Debug, thiserror::Error)]
#[error("deliverable \"{0}\" is both passed and blocked")]
struct PassedAndBlocked(String);

impl DeliverableEntry {
    fn into_deliverable(self) -> Result<Deliverable, PassedAndBlocked> {
        let status = match (self.passed, self.blocked) {
            (false, false) => DeliverableStatus::Pending,
            (true, false) => DeliverableStatus::Passed,
            (false, true) => DeliverableStatus::Blocked,
            (true, true) => return Err(PassedAndBlocked(self.id)),
        };
        Ok(Deliverable {
            id: self.id,
            description: self.description,
            acceptance_criteria: self.acceptance_criteria,
            status,
            // A user who unblocks a deliverable by hand leaves the reason behind.
            blocked_reason: self.blocked_reason.filter(|_| status == DeliverableStatus::Blocked),
            deprecated_at: self.deprecated_at,
            finding: self.verification,
            review: self.review,
            order: BuildOrder { depends: self.depends, touches: self.touches },
        })
    }
}

fn with_unknown_keys(known: Value, before: Option<&Map<String, Value>>) -> Map<String, Value> {
    let mut object = match known {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    for (key, value) in before.into_iter().flatten() {
        if !object.contains_key(key) {
            object.insert(key.clone(), value.clone());
        }
    }
    object
}

#[cfg(test)]
mod tests;
