//! The format of `status.json` (seed 002 §5.2): strict parsing, faithful rewriting.
//!
//! The file belongs to the user as much as to us: unknown keys survive a rewrite, and an unreadable file is a
//! fault that names the position, never an empty status.

use std::collections::HashSet;
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
        let corrupt = |what: String| {
            Fault::permanent(
                FaultLayer::Config,
                "status_file",
                format!("{} cannot be read: {what}.", path.display()),
            )
            .hint("Fix the file or restore it from version control; nothing was changed.")
        };
        let document: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| corrupt(format!("it is not valid JSON, {error}")))?;
        if let Some(version) =
            document.get("version").filter(|version| version.as_u64() != Some(FORMAT_VERSION))
        {
            return Err(Fault::permanent(
                FaultLayer::Config,
                "status_version",
                format!(
                    "{} was written by a newer version (format {version}, this autonoe knows {FORMAT_VERSION}).",
                    path.display()
                ),
            )
            .hint("Update autonoe; nothing was changed."));
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let parsed: StatusDocument = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let field = error.path().to_string();
            corrupt(format!("field {field}: {}", error.into_inner()))
        })?;
        let mut ids = HashSet::new();
        let deliverables = parsed
            .deliverables
            .into_iter()
            .map(|item| {
                if !ids.insert(item.id.clone()) {
                    return Err(corrupt(format!("the deliverable id \"{}\" occurs twice", item.id)));
                }
                item.into_deliverable().map_err(|error| corrupt(error.to_string()))
            })
            .collect::<Result<_, Fault>>()?;
        let status =
            ProjectStatus { created_at: parsed.created_at, updated_at: parsed.updated_at, deliverables };
        Ok(Self { status, document })
    }

    /// The text to write: seed 002's keys in their order, then unknown keys.
    pub fn render(&self) -> String {
        let known = json!({
            "createdAt": self.status.created_at,
            "updatedAt": self.status.updated_at,
            "deliverables": self.status.deliverables.iter().map(|item| self.render_one(item)).collect::<Vec<_>>(),
        });
        let document = with_unknown_keys(known, Some(&self.document));
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }

    fn render_one(&self, item: &Deliverable) -> Value {
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
        let before = self.document.get("deliverables").and_then(Value::as_array).and_then(|items| {
            items.iter().filter_map(Value::as_object).find(|object| object.get("id") == Some(&json!(item.id)))
        });
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
