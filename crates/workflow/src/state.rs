//! What the plan of a declarative agent remembers, so that another process can resume it.

use std::collections::BTreeMap;

use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::plan::Said;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::completion::ConditionState;
use crate::context::Context;
use crate::definition::AgentDefinition;
use crate::flow::{Flow, FlowState, Move};
use crate::host_effects::HostEffects;

/// What the plan remembers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanState {
    /// What the run was begun with.
    pub begun_with: Beginning,
    /// Where it is.
    pub flow: FlowState,
    /// What it knows.
    pub context: Context,
    /// How its condition stands.
    pub condition: ConditionState,
    /// What was said in the last iteration, until its step is decided.
    pub said: Said,
    /// The words of the last step, for when they are said again.
    pub told: Option<(String, String)>,
    /// The number of the last session that was judged.
    pub judged: u32,
    /// How it ended.
    pub over: Option<Over>,
}

impl PlanState {
    /// Moves on among the steps until a session comes next, or the end.
    pub(crate) async fn settle(
        &mut self,
        first: Move,
        definition: &AgentDefinition,
        outside: &dyn HostEffects,
        events: &mut Vec<RunEvent>,
    ) -> Result<(), Fault> {
        let Self { flow: state, context, .. } = self;
        Flow { definition, state, context, outside, events }.settle(first).await
    }
}

/// What a run was begun with: it is resumed by no other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Beginning {
    /// The files of the definition.
    pub files: BTreeMap<String, String>,
    /// What is known of them even where they hold something that is not written down.
    pub fingerprint: String,
    /// The arguments that it was given.
    pub arguments: BTreeMap<String, Value>,
    /// What came on standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Over {
    /// Its condition holds.
    Done(String),
    /// It cannot go on.
    Failed(Fault),
    /// Its iterations are used up.
    UsedUp(u32),
}
