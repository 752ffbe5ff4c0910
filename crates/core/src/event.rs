//! Event: one thing that happened; the only vocabulary between an agent and everything else.
//!
//! An agent can emit [`AgentEvent`]s only, so it cannot announce the end of a run. Serialized, an event is
//! one JSON object with a `type`; these names are the contract of `--json` and of the journal.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attempt::BestOfResult;
use crate::fault::Fault;
use crate::gate::{GateRuling, ToolCall};
use crate::instruction::Phase;
use crate::money::Usd;
use crate::notification::NotificationLevel;
use crate::outcome::{RunReport, SessionEnd};
use crate::status::StatusChange;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Event {
    Agent(AgentEvent),
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The agent started something that takes a while. Shown, not stored.
    Working {
        activity: Activity,
    },
    /// A model call started. Shown, not stored.
    #[serde(rename = "model_asked")]
    ModelCallStarted {
        model: String,
    },
    /// Part of a reply that arrives complete later. Shown, not stored.
    Chunk {
        kind: ChunkKind,
        #[serde(rename = "chunk")]
        text: String,
    },
    /// A model call ended. Shown, not stored.
    #[serde(rename = "model_done")]
    ModelCallEnded {
        /// Set if the call failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
    /// The conversation so far, for resuming it later. Stored separately, not shown.
    Conversation {
        /// In the backend's own format.
        history: serde_json::Value,
    },
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    /// Emitted before the gates have decided about the call.
    ToolCall(ToolCall),
    /// The result of a tool call, or the reason why a gate denied it.
    ToolResult {
        /// Id of the call.
        id: String,
        name: String,
        /// As the agent saw it.
        content: String,
        /// True if the tool failed or the call was denied.
        is_error: bool,
        /// Name of the gate that denied the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denied_by: Option<String>,
        /// The gate's reason, which an agent may word differently in `content`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denied_reason: Option<String>,
    },
    /// Tokens spent since the last such event.
    Usage(Usage),
    /// A problem that did not stop the agent.
    #[serde(rename = "trouble")]
    Warning {
        message: String,
    },
    /// The agent got a message of the user while it worked.
    UserMessage {
        text: String,
    },
    /// A process in the sandbox tried to reach a host that is not allowed.
    HostRefused {
        /// Name or address.
        host: String,
        port: u16,
        /// The reason, and how to allow the host.
        message: String,
    },
    /// The final answer, where a JSON Schema was requested.
    Answer {
        /// Valid against the schema.
        value: serde_json::Value,
    },
    /// The last event of an agent's stream.
    End {
        #[serde(flatten)]
        outcome: SessionEnd,
    },
}

impl AgentEvent {
    /// The result of a call on which the gates have ruled. A denied call has failed, whatever `is_error` says.
    pub fn tool_result(
        id: impl Into<String>,
        name: impl Into<String>,
        content: impl Into<String>,
        is_error: bool,
        ruling: GateRuling,
    ) -> Self {
        let (denied_by, denied_reason) = match ruling {
            GateRuling::Allowed => (None, None),
            GateRuling::Denied { gate, reason } => (Some(gate), Some(reason)),
        };
        let is_error = is_error || denied_by.is_some();
        Self::ToolResult {
            id: id.into(),
            name: name.into(),
            content: content.into(),
            is_error,
            denied_by,
            denied_reason,
        }
    }
}

/// A changed file, such as a Makefile, that a hook of the user's runs through another program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HookFile {
    /// Such as `pre-commit`, or `alias.ci` for an alias of git.
    pub hook: String,
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunEvent {
    /// An instruction was sent to the agent. Shown, not stored.
    Instructed {
        text: String,
    },
    /// A run starts, or resumes after its process died.
    RunStarted {
        /// `run`, `sync` or `agent run NAME`.
        command: String,
        /// Sessions finished by earlier processes of the same run.
        sessions_before: u32,
        /// Spent by earlier processes of the same run.
        #[serde(default)]
        cost_before_usd: Usd,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_cost_usd: Option<Usd>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_sessions: Option<u32>,
    },
    SessionStarted {
        /// Number within the run, from 1.
        number: u32,
        instruction: Phase,
        /// Step of a declarative agent, if the session belongs to one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
        /// The deliverable that is next in order of priority, if the session is to build one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deliverable: Option<String>,
        backend: String,
        model: String,
    },
    SessionEnded {
        number: u32,
        #[serde(flatten)]
        outcome: SessionEnd,
        /// `None` if a price is unknown.
        cost_usd: Option<Usd>,
        #[serde(rename = "duration_seconds", with = "crate::duration::seconds")]
        duration: Duration,
    },
    /// A fallback backend takes over.
    BackendChanged {
        from: String,
        to: String,
        /// Empty if the backend's own default is used.
        #[serde(default)]
        from_model: String,
        #[serde(default)]
        to_model: String,
        /// Name of the outcome that the run would have had.
        reason: String,
    },
    StatusChanged(StatusChange),
    /// A session starts with a message of the user.
    UserMessage {
        text: String,
    },
    /// The agent repeats itself, and got a message about it if its backend takes some.
    RepetitionNoticed {
        /// As the agent got it.
        message: String,
    },
    /// Commits of the run came to the user's repository.
    Landing {
        branch: String,
        commit: String,
        /// Why the branch was left alone; `None` if it was fast-forwarded.
        why: Option<String>,
        /// How the user gets the commits then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        advice: Option<String>,
        /// Changed files that decide what a CI service runs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ci_files: Vec<String>,
        /// Changed files that the user's hooks run through other programs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hook_files: Vec<HookFile>,
    },
    /// Autonoe ran a check.
    Checked {
        /// `None` means the check covers the project as a whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deliverable: Option<String>,
        check: String,
        purpose: CheckPurpose,
        passed: bool,
        /// The result in one sentence.
        message: String,
    },
    /// A protected file of a check differs from its accepted version, which is used until the user decides.
    Disputed {
        path: String,
        /// What changed and how to decide.
        message: String,
    },
    StepEnded {
        step: String,
        /// Whether its check passed; a step without one passes when it ends.
        passed: bool,
        /// The reason and the consequence, in one sentence.
        message: String,
        /// `None` after the last step.
        next: Option<String>,
    },
    /// A session that ended by itself was scored.
    Progress {
        /// Of the session.
        number: u32,
        /// From 0.0 to 1.0.
        score: f64,
        verdict: ProgressVerdict,
    },
    /// The run is stuck, and the next session tries something else.
    Remedy {
        /// Of the session after which it was chosen.
        number: u32,
        name: String,
        /// Sessions without progress in a row.
        idle_sessions: u32,
        /// The deliverable, or the task of a roadmap, that is stuck; `None` if the sessions have other work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deliverable: Option<String>,
        /// What the next instruction says in addition; empty for several approaches, each of which has words of its own.
        prompt: String,
        /// The backend and the model of the next sessions, if they are others than the run's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalated_to: Option<String>,
    },
    /// Several agents have made an attempt at the same deliverable, and it is decided which one continues.
    BestOf(BestOfResult),
    /// A harness raises an alert.
    Alert {
        /// The same whenever the same alert is raised.
        id: String,
        /// Such as `no_progress`.
        alert: String,
        level: NotificationLevel,
        message: String,
    },
    /// A declarative agent escalates.
    Escalated {
        /// The step that is stuck.
        step: String,
        /// A step, an address, or the log.
        to: String,
        message: String,
    },
    /// A session failed and will be retried after a pause.
    Retrying {
        /// Consecutive errors.
        errors: u32,
        max_retries: u32,
        #[serde(rename = "pause_seconds", with = "crate::duration::seconds")]
        pause: Duration,
        message: String,
    },
    /// The model service is unavailable; the run retries later.
    Outage {
        /// When it was first found unavailable.
        since: Timestamp,
        /// Consecutive sessions that found it unavailable.
        tries: u32,
        /// Time of the next attempt.
        until: Timestamp,
        #[serde(rename = "pause_seconds", with = "crate::duration::seconds")]
        pause: Duration,
        gives_up_at: Timestamp,
        message: String,
    },
    /// The run waits for a quota reset or for an unavailable service. Repeated while waiting.
    Waiting {
        #[serde(rename = "for", default)]
        reason: WaitReason,
        /// When work resumes.
        until: Timestamp,
        #[serde(rename = "remaining_seconds", with = "crate::duration::seconds")]
        remaining: Duration,
        /// The reset time stated by the vendor, if it could be read.
        resets_at: Option<Timestamp>,
    },
    /// Text for people, which the other events do not have.
    Announcement {
        about: AnnouncementSubject,
        lines: Vec<String>,
    },
    /// Something that the user should know and need not act on.
    Notice {
        message: String,
    },
    /// A problem that did not stop the run.
    #[serde(rename = "trouble")]
    Warning {
        message: String,
    },
    /// The last event of a run.
    Outcome(RunReport),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnnouncementSubject {
    /// Settings and limits of this machine that the user should know of.
    Warnings,
    /// Project, agents and limits of the run.
    Start,
    /// The deliverables that will be built.
    Plan,
    /// What the user can do now. Comes before the outcome, which is the last event, and is shown after it.
    NextSteps,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    #[default]
    Quota,
    /// An unavailable model service.
    Service,
}

/// Whether a session brought the work forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgressVerdict {
    Progressed,
    Idle,
    /// It ran something that takes long, which is neither.
    Waited,
}

impl ProgressVerdict {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Progressed => "progressed",
            Self::Idle => "idle",
            Self::Waited => "waited",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckPurpose {
    /// A new check, which must fail before work on it begins.
    RedFirst,
    /// An agent claims that the deliverable passed.
    Claim,
    /// All deliverables passed; their checks run once more.
    Confirmation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Waiting for the model or receiving its thoughts.
    Thinking,
    /// Receiving the model's reply.
    Responding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkKind {
    Thought,
    Text,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Uncached input tokens.
    pub input_tokens: u64,
    /// Output tokens, including thinking.
    pub output_tokens: u64,
    /// Part of `output_tokens` spent on thinking, as far as the provider reports it.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write_tokens: u64,
    /// `None` if the price is unknown, which is not the same as zero.
    pub cost_usd: Option<Usd>,
}

impl AgentEvent {
    /// True for events that are shown as they happen and not stored.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Working { .. }
            | Self::ModelCallStarted { .. }
            | Self::Chunk { .. }
            | Self::ModelCallEnded { .. }
            | Self::Conversation { .. } => true,
            Self::Text { .. }
            | Self::Thinking { .. }
            | Self::ToolCall(_)
            | Self::ToolResult { .. }
            | Self::Usage(_)
            | Self::Warning { .. }
            | Self::UserMessage { .. }
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
        let stored = json!({
            "type": "usage", "input_tokens": 5, "output_tokens": 7, "cache_read_tokens": 0, "cache_write_tokens": 0, "cost_usd": null,
        });
        let usage = Usage { input_tokens: 5, output_tokens: 7, ..Usage::default() };
        assert_eq!(
            serde_json::from_value::<Event>(stored).ok(),
            Some(Event::Agent(AgentEvent::Usage(usage)))
        );
    }
}
