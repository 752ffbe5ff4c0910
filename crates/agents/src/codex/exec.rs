//! Codex without its app server: `codex exec`, one process per turn, which cannot request approval. Our gates
//! check each action when it is reported, and the turn is stopped if they refuse it; the action may have run
//! by then, inside the room.
//!
//! So this is used only if the app server does not work, and only where the room alone enforces all
//! restrictions.

mod line;
#[cfg(test)]
mod tests;

use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::SessionEnd;
use autonoe_sandbox::SandboxLayer;
use serde_json::json;

use super::config::{self, ApprovalMode};
use super::item::{CodexItem, CodexItemKind};
use super::turn_end::CodexTurnEnd;
use super::{CodexAgent, env};
use crate::answer::AnswerCheck;
use crate::emit::{Emitter, model_failure};
use crate::vendor::{JsonLineProcess, ProcessOutput, ProtocolNoise, crashed, follow_up};
use line::ExecLine;

/// Limit per session. Another turn follows a refusal or an answer that does not match the schema.
const MAX_TURNS: u32 = 20;

/// The file with the schema of the answer.
const SCHEMA: &str = "autonoe-answer.json";

enum ExecTurn {
    Ended(SessionEnd),
    /// Stopped because of a refusal, with its reason.
    Stopped(String),
}

impl ExecTurn {
    /// Why the model call failed. A refusal means that the model call had succeeded.
    fn failure(&self) -> Option<Fault> {
        match self {
            Self::Ended(outcome) => model_failure(outcome),
            Self::Stopped(_) => None,
        }
    }
}

impl CodexAgent {
    /// Whether the room alone enforces all restrictions. Read-only phases are enforced by the gates alone,
    /// and so are hooks, and `.autonoe/` in a Landlock room.
    pub(super) fn needs_no_approval(&self) -> bool {
        let is_enforced = match self.settings.room_config.sandbox.layer() {
            SandboxLayer::Bubblewrap | SandboxLayer::Seatbelt => true,
            SandboxLayer::Landlock | SandboxLayer::None => false,
        };
        is_enforced && self.phase.may_write() && !self.vendor_session.must_ask_gates()
    }

    /// Runs the session turn by turn.
    pub(super) async fn exec(
        &mut self,
        instruction: String,
        why: &Fault,
        emitter: &Emitter,
    ) -> Result<SessionEnd, Fault> {
        let message = format!(
            "The app server of Codex does not work, so `codex exec` is used, which cannot request approval: \
             an action that the rules refuse is stopped when Codex reports it. It may have run by then, confined by \
             the sandbox. ({})",
            why.message
        );
        emitter.emit(AgentEvent::Warning { message }).await;
        let config =
            config::config(&self.settings, &self.vendor_session, self.access.as_ref(), ApprovalMode::Never);
        self.settings.write("config.toml", &config)?;
        if let Some(schema) = self.strict_schema() {
            self.settings.write(SCHEMA, &schema.to_string())?;
        }
        self.state.thread = self.history.take().unwrap_or_default();
        self.state.model.clone_from(&self.model);
        let mut prompt = self.prompt(instruction);
        for number in 1..=MAX_TURNS {
            self.start().await?;
            self.process.send_text_and_close(&prompt).await;
            self.model_asked(emitter).await;
            let turn = self.read_turn(number, emitter).await?;
            self.vendor_session.model_answered(turn.failure(), emitter).await;
            prompt = match turn {
                ExecTurn::Stopped(reason) => follow_up(&[reason]),
                ExecTurn::Ended(outcome) => {
                    match self.expected.check(outcome, &self.state.last_text, emitter).await {
                        AnswerCheck::Done(outcome) => return Ok(outcome),
                        AnswerCheck::Retry(prompt) => prompt,
                    }
                }
            };
        }
        let message = format!(
            "Codex did not finish within {MAX_TURNS} turns: each ended with a refusal or an invalid answer."
        );
        Err(Fault::transient(FaultLayer::Agent, "agent_cancelled", message))
    }

    /// Starts the process of a turn.
    async fn start(&mut self) -> Result<(), Fault> {
        self.process.program.stop().await;
        let launch = self.settings.relaunch(&self.vendor_session).await?;
        let launch = launch.args(self.arguments()).envs(env(&self.settings, self.access.as_ref()));
        self.process = JsonLineProcess::start(launch).map_err(|error| {
            let message = format!("Codex cannot be started: {error}.");
            Fault::transient(FaultLayer::System, "agent_not_started", message)
        })?;
        self.state.last_text.clear();
        Ok(())
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments =
            ["exec", "--json", "--skip-git-repo-check", "-m", &self.model].map(str::to_owned).to_vec();
        // Codex's own sandbox does not work inside ours.
        let mut set = vec![("approval_policy", "never"), ("sandbox_mode", "danger-full-access")];
        set.extend(self.effort.map(|effort| ("model_reasoning_effort", effort)));
        for (name, value) in set {
            arguments.extend(["-c".to_owned(), format!("{name}=\"{value}\"")]);
        }
        if self.strict_schema().is_some() {
            let file = self.settings.home.join(SCHEMA).display().to_string();
            arguments.extend(["--output-schema".to_owned(), file]);
        }
        if !self.state.thread.is_empty() {
            arguments.extend(["resume".to_owned(), self.state.thread.clone()]);
        }
        arguments.push("-".to_owned());
        arguments
    }

    /// Reads the output of a turn to its end.
    async fn read_turn(&mut self, number: u32, emitter: &Emitter) -> Result<ExecTurn, Fault> {
        let mut error = None;
        loop {
            let line = match self.process.next().await {
                ProcessOutput::Message(message) => ExecLine::read(&message, number),
                ProcessOutput::Noise(noise) => {
                    self.vendor_session.noise(noise, emitter).await?;
                    continue;
                }
                ProcessOutput::End => {
                    self.end_open_actions(emitter).await;
                    return match error {
                        Some(message) => Ok(ExecTurn::Ended(CodexTurnEnd::failed(message).outcome(None))),
                        None => Err(crashed("Codex", &mut self.process).await),
                    };
                }
            };
            let warn = |message| emitter.emit(AgentEvent::Warning { message });
            match line {
                ExecLine::Thread(thread) => {
                    self.state.thread = thread;
                    self.save(emitter).await;
                }
                ExecLine::ItemStarted(item) => {
                    if let Some(reason) = self.check_started(item, emitter).await {
                        return Ok(ExecTurn::Stopped(reason));
                    }
                }
                ExecLine::ItemCompleted(item) => {
                    if let Some(reason) = self.check_completed(item, emitter).await {
                        return Ok(ExecTurn::Stopped(reason));
                    }
                }
                ExecLine::Failed(message) => error = Some(message),
                ExecLine::Retrying(message) => warn(format!("Codex is retrying: {message}.")).await,
                ExecLine::Warning(message) => warn(format!("Codex warning: {message}.")).await,
                ExecLine::TurnCompleted { end, total } => {
                    self.end_open_actions(emitter).await;
                    self.report_usage(total, emitter).await;
                    return Ok(ExecTurn::Ended(end.outcome(None)));
                }
                ExecLine::Ignored => {}
                ExecLine::Unknown(kind) => {
                    self.vendor_session.noise(ProtocolNoise::UnknownMessage(kind), emitter).await?;
                }
            }
        }
    }

    /// Reports a started item and checks it with the gates. Returns the reason if they refuse.
    async fn check_started(&mut self, item: CodexItem, emitter: &Emitter) -> Option<String> {
        let CodexItemKind::Action(action) = &item.kind else { return None };
        let (id, action) = (item.id.clone(), action.clone());
        self.item_started(item, emitter).await;
        let refusal = self.judge(&id, &action).await?;
        self.process.program.stop().await;
        self.state.open.remove(&id);
        self.report_results(action.calls, &refusal.reason, true, emitter).await;
        self.end_open_actions(emitter).await;
        Some(format!("{}: {}", refusal.what, refusal.reason))
    }

    /// Reports a completed item. Items that were not reported at their start are checked now.
    async fn check_completed(&mut self, item: CodexItem, emitter: &Emitter) -> Option<String> {
        if let CodexItemKind::Action(action) = &item.kind
            && !self.state.open.contains_key(&item.id)
        {
            let started = CodexItem { id: item.id.clone(), kind: CodexItemKind::Action(action.clone()) };
            let refusal = self.check_started(started, emitter).await;
            if refusal.is_some() {
                return refusal;
            }
        }
        self.item_completed(item, emitter).await;
        None
    }

    /// Reports the usage of a turn: Codex reports the total of the conversation.
    async fn report_usage(&mut self, total: Option<Usage>, emitter: &Emitter) {
        let Some(total) = total else { return };
        let before = std::mem::replace(&mut self.state.reported_usage, total);
        let usage = Usage {
            input_tokens: total.input_tokens.saturating_sub(before.input_tokens),
            output_tokens: total.output_tokens.saturating_sub(before.output_tokens),
            reasoning_tokens: total.reasoning_tokens.saturating_sub(before.reasoning_tokens),
            cache_read_tokens: total.cache_read_tokens.saturating_sub(before.cache_read_tokens),
            cache_write_tokens: total.cache_write_tokens.saturating_sub(before.cache_write_tokens),
            cost_usd: None,
        };
        let cost_usd = self.settings.prices.cost(&self.model, &usage);
        emitter.emit(AgentEvent::Usage(Usage { cost_usd, ..usage })).await;
        self.save(emitter).await;
    }

    /// Reports what is needed to resume the conversation.
    async fn save(&self, emitter: &Emitter) {
        let history = json!({ "codex_thread": self.state.thread, "codex_booked": self.state.reported_usage });
        emitter.emit(AgentEvent::Conversation { history }).await;
    }
}
