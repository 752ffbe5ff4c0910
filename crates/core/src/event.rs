//! Event: one thing that happened; the only vocabulary between an agent and everyone else.
//!
//! An agent can say [`AgentEvent`]s and no others, so that none can announce the end of a run. Serialized, an event is one
//! JSON object with a `type`; these names are the contract of `--json` and of the journal.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::gate::ToolCall;
use crate::instruction::Phase;
use crate::money::Usd;
use crate::outcome::{RunReport, SessionEnd};
use crate::status::StatusChange;

/// One thing that happened: in an agent, or in the run around it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Event {
    /// An agent said it.
    Agent(AgentEvent),
    /// The run said it.
    Run(RunEvent),
}

impl From<AgentEvent> for Event {
    fn from(event: AgentEvent) -> Self {
        Self::Agent(event)
    }
}

impl From<RunEvent> for Event {
    fn from(event: RunEvent) -> Self {
        Self::Run(event)
    }
}

impl From<&AgentEvent> for Event {
    fn from(event: &AgentEvent) -> Self {
        Self::Agent(event.clone())
    }
}

impl From<&RunEvent> for Event {
    fn from(event: &RunEvent) -> Self {
        Self::Run(event.clone())
    }
}

/// What an agent can say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The agent began something that takes a while; shown, not kept.
    Working {
        /// What it is doing.
        activity: Activity,
    },
    /// The agent asks the model; shown, not kept.
    ModelAsked {
        /// The model.
        model: String,
    },
    /// A piece of the model's answer, which comes as a whole later; shown, not kept.
    Chunk {
        /// Thought or said.
        kind: Chunk,
        /// The piece.
        #[serde(rename = "chunk")]
        text: String,
    },
    /// The model has answered, or has failed to; shown, not kept.
    ModelDone {
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
    /// The conversation so far, for anyone who resumes it later; kept apart, not shown.
    Conversation {
        /// It, in the backend's own form.
        history: serde_json::Value,
    },
    /// The agent said something.
    Text {
        /// What it said.
        text: String,
    },
    /// The agent thought something.
    Thinking {
        /// Its thought.
        text: String,
    },
    /// The agent calls a tool; the gates have not been asked yet.
    ToolCall(ToolCall),
    /// A tool answered, or a gate refused the call.
    ToolResult {
        /// The call this answers.
        id: String,
        /// The tool's name.
        name: String,
        /// The answer, as the agent saw it.
        content: String,
        /// True when the tool failed or was refused.
        is_error: bool,
        /// The gate that refused the call, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denied_by: Option<String>,
    },
    /// Tokens were spent since the last such event.
    Usage(Usage),
    /// Something went wrong that the agent lives on with.
    Trouble {
        /// What happened.
        message: String,
    },
    /// Something in the sandbox wanted to reach a host that is not allowed.
    HostRefused {
        /// The name or address.
        host: String,
        /// The port.
        port: u16,
        /// Why, and how it can be allowed.
        message: String,
    },
    /// The agent answered in the form that it was asked for.
    Answer {
        /// The answer, which fits the schema.
        value: serde_json::Value,
    },
    /// The agent is done with its instruction; the last event of its stream.
    End {
        /// How it ended.
        #[serde(flatten)]
        outcome: SessionEnd,
    },
}

/// What a run can say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunEvent {
    /// The agent was told what to do; shown, not kept.
    Instructed {
        /// The words.
        text: String,
    },
    /// A run begins, or goes on after its process died.
    RunStarted {
        /// The command: `run` or `sync`.
        command: String,
        /// How many sessions an earlier process of the same run finished.
        sessions_before: u32,
    },
    /// A session begins.
    SessionStarted {
        /// Its number within the run, from 1.
        number: u32,
        /// Which instruction it was given.
        instruction: Phase,
        /// The step of a declarative agent that it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
        /// The backend.
        backend: String,
        /// The model.
        model: String,
    },
    /// A session ended, for whatever reason.
    SessionEnded {
        /// Its number within the run.
        number: u32,
        /// How it ended.
        #[serde(flatten)]
        outcome: SessionEnd,
        /// What it cost; none when no price is known.
        cost_usd: Option<Usd>,
        /// How long it took.
        #[serde(rename = "duration_seconds", with = "crate::duration::seconds")]
        duration: Duration,
    },
    /// Another backend steps in for one that cannot go on.
    BackendChanged {
        /// Who cannot go on.
        from: String,
        /// Who steps in.
        to: String,
        /// Why: the name of the outcome that the run would have had.
        reason: String,
    },
    /// A deliverable's status changed.
    StatusChanged(StatusChange),
    /// We ran a check.
    Checked {
        /// The deliverable that it decides about; none is the project as a whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deliverable: Option<String>,
        /// Its name.
        check: String,
        /// Why it was run.
        purpose: Purpose,
        /// Whether it passed.
        passed: bool,
        /// What came of it, in a sentence.
        message: String,
    },
    /// A file that a check judges by is not as it was accepted. The accepted one is used until the user decides.
    Disputed {
        /// The file.
        path: String,
        /// What is the matter, and how to decide.
        message: String,
    },
    /// A step of a declarative agent ended.
    StepEnded {
        /// The step.
        step: String,
        /// Whether its check passed; a step without one passes when it is through.
        passed: bool,
        /// Why, and what follows from it, in a sentence.
        message: String,
        /// The step that comes next; none when the steps are through.
        next: Option<String>,
    },
    /// A declarative agent calls for help.
    Escalated {
        /// The step that cannot go on.
        step: String,
        /// Where to: a step, an address, or anyone who reads the log.
        to: String,
        /// Why.
        message: String,
    },
    /// A session failed; another try follows after a pause.
    Retrying {
        /// How many errors there were in a row.
        errors: u32,
        /// How many retries are allowed.
        max_retries: u32,
        /// The pause before the next try.
        #[serde(rename = "pause_seconds", with = "crate::duration::seconds")]
        pause: Duration,
        /// What went wrong.
        message: String,
    },
    /// The model service is away; the run tries again later.
    Outage {
        /// When it was first seen to be away.
        since: Timestamp,
        /// Sessions in a row that found it away.
        tries: u32,
        /// When the next session tries again.
        until: Timestamp,
        /// The pause before that.
        #[serde(rename = "pause_seconds", with = "crate::duration::seconds")]
        pause: Duration,
        /// When the run gives up.
        gives_up_at: Timestamp,
        /// What went wrong.
        message: String,
    },
    /// The run waits: for the reset of a quota that is used up, or for a service that is away. Repeated while waiting.
    Waiting {
        /// What for.
        #[serde(rename = "for", default)]
        reason: WaitReason,
        /// When work goes on.
        until: Timestamp,
        /// How long that is from now.
        #[serde(rename = "remaining_seconds", with = "crate::duration::seconds")]
        remaining: Duration,
        /// The reset time the vendor named, if it could be read.
        resets_at: Option<Timestamp>,
    },
    /// Something went wrong that the run survives.
    Trouble {
        /// What happened.
        message: String,
    },
    /// The run ended; the last event.
    Outcome(RunReport),
}

/// What a run waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The reset of a quota.
    #[default]
    Quota,
    /// A model service that is away.
    Service,
}

/// Why a check is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It is new, and has to fail before the work on it begins.
    RedFirst,
    /// An agent says that the deliverable has passed.
    Claim,
    /// Everything has passed, and is looked at once more.
    Confirmation,
}

/// What an agent is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Waiting for the model or reading its thoughts.
    Thinking,
    /// Reading the model's answer.
    Responding,
}

/// Whether a piece of an answer was thought or said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chunk {
    /// Thought.
    Thought,
    /// Said.
    Text,
}

/// Tokens spent and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Fresh input tokens.
    pub input_tokens: u64,
    /// Output tokens, thinking included.
    pub output_tokens: u64,
    /// Of the output tokens, those the model thought with, as far as the provider tells.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write_tokens: u64,
    /// The price; none when no price is known, which is not the same as zero.
    pub cost_usd: Option<Usd>,
}

impl AgentEvent {
    /// True for events that are shown while they happen and not kept.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Working { .. }
            | Self::ModelAsked { .. }
            | Self::Chunk { .. }
            | Self::ModelDone { .. }
            | Self::Conversation { .. } => true,
            Self::Text { .. }
            | Self::Thinking { .. }
            | Self::ToolCall(_)
            | Self::ToolResult { .. }
            | Self::Usage(_)
            | Self::Trouble { .. }
            | Self::HostRefused { .. }
            | Self::Answer { .. }
            | Self::End { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentEvent, Event, Usage};
    use serde_json::json;

    #[test]
    fn usage_of_an_old_journal_has_no_reasoning_tokens() {
        let kept = json!({
            "type": "usage", "input_tokens": 5, "output_tokens": 7, "cache_read_tokens": 0, "cache_write_tokens": 0, "cost_usd": null,
        });
        let usage = Usage { input_tokens: 5, output_tokens: 7, ..Usage::default() };
        assert_eq!(serde_json::from_value::<Event>(kept).ok(), Some(Event::Agent(AgentEvent::Usage(usage))));
    }
}
