//! The arguments of each tool. Their doc comments are the descriptions a model reads.

use autonoe_core::check::{Check, DEFAULT_TIME_LIMIT, Origin};
use autonoe_core::deliverable::{DeliverableStatus, NewDeliverable};
use autonoe_core::duration;
use autonoe_core::examiner::Proposal;
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
    pub(crate) deliverables: Vec<Proposed>,
}

/// A deliverable, and the checks that decide about it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proposed {
    /// Unique identifier that never changes, e.g. `UI-001` or `API-003`.
    pub(crate) id: String,
    /// Clear description of what a user gets.
    pub(crate) description: String,
    /// Verifiable conditions, each a step or a state somebody can check.
    pub(crate) acceptance_criteria: Vec<String>,
    /// Commands that decide whether it does what it should, run by Autonoe on a clean checkout of what is committed.
    /// Each must fail as long as the deliverable is not there.
    #[serde(default)]
    pub(crate) checks: Vec<ProposedCheck>,
}

/// A check: one of SPEC.md by its name, or a command of its own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProposedCheck {
    /// The name of a check in SPEC.md that belongs to this deliverable. Nothing else is needed then but `criteria`.
    pub(crate) spec: Option<String>,
    /// What the check is called; the deliverable's id and a number if not given.
    pub(crate) name: Option<String>,
    /// The command, for a shell, in the project's root.
    pub(crate) run: Option<String>,
    /// The exit code that it must have; 0 if not given.
    pub(crate) exit: Option<i32>,
    /// Lines that its output must hold, in this order. `...` at an end of one stands for anything.
    #[serde(default)]
    pub(crate) output: Vec<String>,
    /// Whether it must print these lines and no others.
    #[serde(default)]
    pub(crate) exact: bool,
    /// How long it may take, such as `30s`; 5 minutes if not given.
    pub(crate) time_limit: Option<String>,
    /// The acceptance criteria that it covers, counted from 1.
    #[serde(default)]
    pub(crate) criteria: Vec<usize>,
    /// Globs of the files that it judges by, such as `tests/**`. They cannot be changed after this session.
    #[serde(default)]
    pub(crate) protect: Vec<String>,
}

impl Create {
    /// The deliverables, and what is proposed for them; an error names what cannot be read.
    pub(crate) fn into_parts(self) -> Result<(Vec<NewDeliverable>, Vec<Proposal>), String> {
        let mut deliverables = Vec::new();
        let mut proposals = Vec::new();
        for Proposed { id, description, acceptance_criteria, checks } in self.deliverables {
            for (index, check) in checks.into_iter().enumerate() {
                proposals.push(check.into_proposal(&id, index + 1)?);
            }
            deliverables.push(NewDeliverable { id, description, acceptance_criteria });
        }
        Ok((deliverables, proposals))
    }
}

impl ProposedCheck {
    fn into_proposal(self, id: &str, number: usize) -> Result<Proposal, String> {
        let wrong = |what: &str| format!("Check {number} of \"{id}\": {what}");
        match (self.spec, self.run) {
            (Some(name), None) => {
                Ok(Proposal::FromSpec { name, deliverable: id.to_owned(), criteria: self.criteria })
            }
            (None, Some(command)) => Ok(Proposal::New(Check {
                name: self.name.unwrap_or_else(|| format!("{id}-{number}")),
                deliverable: Some(id.to_owned()),
                criteria: self.criteria,
                command,
                exit: self.exit.unwrap_or_default(),
                output: self.output,
                exact: self.exact,
                time_limit: match self.time_limit {
                    Some(text) => duration::parse(&text).map_err(|what| wrong(&what))?,
                    None => DEFAULT_TIME_LIMIT,
                },
                network: false,
                protect: self.protect,
                origin: Origin::Proposed,
            })),
            (Some(_), Some(_)) | (None, None) => {
                Err(wrong("it needs either `run`, a command, or `spec`, the name of a check in SPEC.md"))
            }
        }
    }
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

/// Arguments of `review`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Look {
    /// The deliverable's id.
    pub(crate) deliverable_id: String,
    /// Whether you would sign for every single acceptance criterion.
    pub(crate) holds: bool,
    /// What you looked at, and what is wrong and where, if something is.
    pub(crate) reason: String,
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
