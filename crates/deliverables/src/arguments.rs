//! The arguments of each tool. Their doc comments are the descriptions a model reads.

use std::fmt::Display;

use autonoe_core::check::{Check, CheckOrigin, DEFAULT_TIME_LIMIT};
use autonoe_core::deliverable::{BuildOrder, DeliverableStatus, NewDeliverable};
use autonoe_core::duration;
use autonoe_core::examiner::Proposal;
use autonoe_core::status::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Default number of deliverables that `list` returns.
pub(crate) const DEFAULT_LIST_LIMIT: usize = 5;

/// Arguments of `create`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CreateArgs {
    /// The deliverables to create, in order of priority. All are created or none.
    pub(crate) deliverables: Vec<ProposedDeliverable>,
}

/// A deliverable and its checks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProposedDeliverable {
    /// Unique identifier that never changes, e.g. `UI-001` or `API-003`.
    pub(crate) id: String,
    /// Clear description of what a user gets.
    pub(crate) description: String,
    /// Verifiable conditions, each a step or a state that can be checked.
    pub(crate) acceptance_criteria: Vec<String>,
    /// Commands that decide whether the deliverable meets its criteria. Autonoe runs them on a clean checkout
    /// of the last commit. Each must fail until the deliverable is built.
    #[serde(default)]
    pub(crate) checks: Vec<ProposedCheck>,
    /// Ids of the deliverables that must be finished before this one is begun; an empty list if there are none. Deliverables
    /// without this are built one after another.
    pub(crate) depends: Option<Vec<String>>,
    /// Files and directories that it will change, such as `src/api`. Deliverables that share one are not built at the same time.
    #[serde(default)]
    pub(crate) touches: Vec<String>,
}

/// A check: one from SPEC.md by name, or a new command.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProposedCheck {
    /// The name of a check in SPEC.md that belongs to this deliverable. It needs nothing else except `criteria`.
    pub(crate) spec: Option<String>,
    /// Name of the check; the deliverable's id and a number if not given.
    pub(crate) name: Option<String>,
    /// Shell command, run in the project's root.
    pub(crate) run: Option<String>,
    /// Expected exit code; 0 if not given.
    pub(crate) exit: Option<i32>,
    /// Lines that the output must contain, in this order. `...` at either end of a line matches anything.
    #[serde(default)]
    pub(crate) output: Vec<String>,
    /// Whether any other line of output fails the check; without `output`, it must print nothing.
    #[serde(default)]
    pub(crate) exact: bool,
    /// Time limit, such as `30s`; 5 minutes if not given.
    pub(crate) time_limit: Option<String>,
    /// Acceptance criteria that the check covers, counted from 1.
    #[serde(default)]
    pub(crate) criteria: Vec<usize>,
    /// Globs of the files that the check relies on, such as `tests/**`. They cannot be changed after this
    /// session.
    #[serde(default)]
    pub(crate) protect: Vec<String>,
}

impl CreateArgs {
    /// The deliverables and their proposed checks; the error names what is wrong.
    pub(crate) fn into_parts(self) -> Result<(Vec<NewDeliverable>, Vec<Proposal>), Refusal> {
        let mut deliverables = Vec::new();
        let mut proposals = Vec::new();
        for ProposedDeliverable { id, description, acceptance_criteria, checks, depends, touches } in
            self.deliverables
        {
            for (index, check) in checks.into_iter().enumerate() {
                proposals.push(check.into_proposal(&id, index + 1)?);
            }
            let order = BuildOrder { depends, touches };
            deliverables.push(NewDeliverable { id, description, acceptance_criteria, order });
        }
        Ok((deliverables, proposals))
    }
}

impl ProposedCheck {
    fn into_proposal(self, id: &str, number: usize) -> Result<Proposal, Refusal> {
        let wrong = |what: &dyn Display| Refusal::Validation(format!("Check {number} of \"{id}\": {what}"));
        if self.name.as_ref().is_some_and(|name| name.contains(char::is_control)) {
            return Err(wrong(&"its name cannot contain line breaks or other control characters"));
        }
        match (self.spec, self.run) {
            (Some(name), None) => {
                Ok(Proposal::FromSpec { name, deliverable: id.to_owned(), criteria: self.criteria })
            }
            (None, Some(command)) => Ok(Proposal::New(Check {
                name: self.name.unwrap_or_else(|| format!("{id}-{number}")),
                deliverable: Some(id.to_owned()),
                criteria: self.criteria,
                command,
                setup: Vec::new(),
                exit: self.exit.unwrap_or_default(),
                output: self.output,
                exact: self.exact,
                time_limit: match self.time_limit {
                    Some(text) => duration::parse(&text).map_err(|what| wrong(&what))?,
                    None => DEFAULT_TIME_LIMIT,
                },
                network: false,
                protect: self.protect,
                origin: CheckOrigin::Proposed,
            })),
            (Some(_), Some(_)) | (None, None) => {
                Err(wrong(&"it needs either `run`, a command, or `spec`, the name of a check in SPEC.md"))
            }
        }
    }
}

/// Arguments of `set_status`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetStatusArgs {
    /// The deliverable's id.
    pub(crate) deliverable_id: String,
    /// `passed`: you have seen that every acceptance criterion holds. `pending`: not done, or found broken.
    /// `blocked`: something outside the project prevents it.
    pub(crate) status: DeliverableStatus,
    /// Required for `blocked`: what is missing, who can provide it, and what to do then.
    pub(crate) reason: Option<String>,
}

/// Arguments of `deprecate` and `verify`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliverableArgs {
    /// The deliverable's id.
    pub(crate) deliverable_id: String,
}

/// Arguments of `review`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReviewArgs {
    /// The deliverable's id.
    pub(crate) deliverable_id: String,
    /// Whether every acceptance criterion holds.
    pub(crate) holds: bool,
    /// What you reviewed and, if a criterion does not hold, what is wrong and where.
    pub(crate) reason: String,
}

/// Arguments of `list`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ListArgs {
    /// Only deliverables that match all given conditions.
    pub(crate) filter: ListFilter,
    /// Maximum number to return; 5 if not given.
    #[schemars(range(min = 1))]
    pub(crate) limit: Option<i64>,
}

/// Filter of `list`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ListFilter {
    /// Only deliverables with this status.
    pub(crate) status: Option<DeliverableStatus>,
    /// Only deliverables that have (true) or have not (false) been verified.
    pub(crate) verified: Option<bool>,
}

/// The error names the argument that is wrong. A null means absent.
pub(crate) fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Refusal> {
    let arguments = match arguments {
        Value::Null => Value::Object(Map::new()),
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => other,
    };
    serde_path_to_error::deserialize(arguments).map_err(|error| match error.path().to_string().as_str() {
        "." => Refusal::Validation(format!("Invalid arguments: {}", error.inner())),
        field => Refusal::Validation(format!("Invalid argument `{field}`: {}", error.inner())),
    })
}
