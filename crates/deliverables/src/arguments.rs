//! The arguments of each tool. Their doc comments are the descriptions a model reads.

use autonoe_core::deliverable::{DeliverableStatus, NewDeliverable};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Deliverables that `list` returns when no limit is given.
pub(crate) const DEFAULT_LIST_LIMIT: usize = 5;

/// Arguments of `create`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Create {
    /// The deliverables to create, in order of priority. All are created or none.
    pub(crate) deliverables: Vec<NewDeliverable>,
}

/// Arguments of `set_status`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetStatus {
    /// The deliverable's id.
    pub(crate) deliverable_id: String,
    /// `passed`: every acceptance criterion was seen to hold. `pending`: not done, or found broken.
    /// `blocked`: something outside the project stands in the way.
    pub(crate) status: DeliverableStatus,
}

/// Arguments of `deprecate` and `verify`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Target {
    /// The deliverable's id.
    pub(crate) deliverable_id: String,
}

/// Arguments of `list`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct List {
    /// Only deliverables that match all given conditions.
    pub(crate) filter: Filter,
    /// How many to return at most; 5 if not given.
    #[schemars(range(min = 1))]
    pub(crate) limit: Option<i64>,
}

/// What `list` may be narrowed to.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Filter {
    /// Only deliverables with this status.
    pub(crate) status: Option<DeliverableStatus>,
    /// Only those that have (true) or have not (false) been verified; in the verify phase only.
    pub(crate) verified: Option<bool>,
}

/// Reads arguments, with a message that names the field a model got wrong. A null means absent.
pub(crate) fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    let arguments = match arguments {
        Value::Null => Value::Object(Map::new()),
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => other,
    };
    serde_path_to_error::deserialize(arguments).map_err(|error| match error.path().to_string().as_str() {
        "." => format!("Invalid arguments: {}", error.inner()),
        field => format!("Invalid argument `{field}`: {}", error.inner()),
    })
}
