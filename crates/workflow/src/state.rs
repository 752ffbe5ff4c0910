//! The saved state of a declarative agent's plan, from which another process can resume it.

use std::collections::BTreeMap;

use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::plan::SessionOutput;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::completion::CompletionState;
use crate::context::RuntimeContext;
use crate::definition::AgentDefinition;
use crate::flow::{FlowState, Move, StepFlow};
use crate::host_effects::HostEffects;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanState {
    /// The definition and arguments at the start of the run.
    pub begun_with: StartSnapshot,
    pub flow: FlowState,
    pub context: RuntimeContext,
    pub condition: CompletionState,
    /// The output of the last iteration, which the completion condition is checked against.
    #[serde(rename = "said")]
    pub last_output: SessionOutput,
    /// The last step and its filled-in prompt, which a retry uses again.
    #[serde(rename = "told")]
    pub filled_prompt: Option<(String, String)>,
    /// The number of the last session that was judged.
    pub judged: u32,
    /// How the agent ended; `None` while it runs.
    #[serde(rename = "over")]
    pub end: Option<AgentEnd>,
}

impl PlanState {
    /// Moves from step to step until a session is next or the steps are finished.
    pub(crate) async fn advance(
        &mut self,
        first: Move,
        definition: &AgentDefinition,
        host: &dyn HostEffects,
        events: &mut Vec<RunEvent>,
    ) -> Result<(), Fault> {
        let Self { flow: state, context, begun_with, .. } = self;
        let arguments = &begun_with.arguments;
        StepFlow { definition, arguments, state, context, host, events }.advance(first).await
    }
}

/// What a run was started with. Resuming it requires the same definition and arguments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StartSnapshot {
    /// The files of the definition, to show what changed.
    pub files: BTreeMap<String, String>,
    /// A hash over the files.
    pub fingerprint: String,
    pub arguments: BTreeMap<String, Value>,
    /// The text from standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AgentEnd {
    /// The completion condition holds, for this reason.
    Done(String),
    Failed(Fault),
    /// `maxIterations` is reached.
    UsedUp(u32),
}
