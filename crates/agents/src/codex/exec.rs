//! Codex without its app server: `codex exec`, one program a turn, which asks nobody. What it tells of is put to our gates
//! then, and the turn is broken off if they refuse; it may have run by then, held by the room.
//!
//! So this is only for a Codex whose app server does not answer, and only where the room holds all that must be held.

mod line;
#[cfg(test)]
mod tests;

use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::SessionEnd;
use autonoe_sandbox::Layer as SandboxLayer;
use serde_json::{Value, json};

use super::config::{self, Asks};
use super::ending::Ending;
use super::item::{Item, Kind};
use super::{CodexAgent, env};
use crate::answer::Next;
use crate::emit::{Emitter, model_failure};
use crate::vendor::{Heard, JsonLineProcess, crashed, follow_up};
use line::Line;

/// How many turns a session may have: after each but the last, something was refused or not answered in the form.
const MAX_TURNS: u32 = 20;

/// The file with the form of the answer.
const SCHEMA: &str = "autonoe-answer.json";

/// How a turn ended.
enum Turn {
    /// By itself.
    Ended(SessionEnd),
    /// By a refusal, for this reason.
    BrokenOff(String),
}

impl Turn {
    /// Why the model did not answer; anyone who is refused something has heard it out.
    fn failure(&self) -> Option<Fault> {
        match self {
            Self::Ended(outcome) => model_failure(outcome),
            Self::BrokenOff(_) => None,
        }
    }
}

/// What an earlier session booked of a conversation.
pub(super) fn booked(history: &Value) -> Usage {
    serde_json::from_value(history["codex_booked"].clone()).unwrap_or_default()
}

impl CodexAgent {
    /// Whether nothing is lost when nobody is asked. A phase that may not write is held by the gates alone, and so is
    /// `.autonoe/` in a room of Landlock's.
    pub(super) fn needs_no_approval(&self) -> bool {
        let is_held = match self.settings.room_config.sandbox.layer() {
            SandboxLayer::Bubblewrap | SandboxLayer::Seatbelt => true,
            SandboxLayer::Landlock | SandboxLayer::None => false,
        };
        is_held && self.phase.may_write()
    }

    /// From the instruction to the end of the last turn.
    pub(super) async fn exec(
        &mut self,
        instruction: String,
        why: &Fault,
        emitter: &Emitter,
    ) -> Result<SessionEnd, Fault> {
        let message = format!(
            "Codex' app server does not answer as it should, so `codex exec` is used, which asks nobody: what the rules refuse \
             is broken off when it is told and may have run by then, held by the sandbox. ({})",
            why.message
        );
        emitter.emit(AgentEvent::Trouble { message }).await;
        let told =
            config::config(&self.settings, &self.vendor_session.server, self.reach.as_ref(), Asks::Never);
        self.settings.write("config.toml", &told)?;
        if let Some(schema) = self.strict_schema() {
            self.settings.write(SCHEMA, &schema.to_string())?;
        }
        self.seen.thread = self.history.take().unwrap_or_default();
        self.seen.model.clone_from(&self.model);
        let mut prompt = self.prompt(instruction);
        for number in 1..=MAX_TURNS {
            self.start().await?;
            self.talk.give(&prompt).await;
            self.asks(emitter).await;
            let turn = self.follow(number, emitter).await?;
            self.vendor_session.answered(turn.failure(), emitter).await;
            prompt = match turn {
                Turn::BrokenOff(reason) => follow_up(&[reason]),
                Turn::Ended(outcome) => match self.expected.settle(outcome, &self.seen.said, emitter).await {
                    Next::Ended(outcome) => return Ok(outcome),
                    Next::Again(words) => words,
                },
            };
        }
        let message = format!("Codex was not done after {MAX_TURNS} turns: something was refused in each.");
        Err(Fault::passing(Layer::Agent, "agent_cancelled", message))
    }

    /// Starts the program of a turn.
    async fn start(&mut self) -> Result<(), Fault> {
        self.talk.program.stop().await;
        let launch = self.vendor_session.relaunch(&self.settings).await?;
        let launch = launch.args(self.arguments()).envs(env(&self.settings, self.reach.as_ref()));
        self.talk = JsonLineProcess::start(launch).map_err(|error| {
            let message = format!("Codex cannot be started: {error}.");
            Fault::passing(Layer::System, "agent_not_started", message)
        })?;
        self.seen.said.clear();
        Ok(())
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments =
            ["exec", "--json", "--skip-git-repo-check", "-m", &self.model].map(str::to_owned).to_vec();
        // Its own sandbox cannot be built within ours.
        let mut set = vec![("approval_policy", "never"), ("sandbox_mode", "danger-full-access")];
        set.extend(self.effort.map(|effort| ("model_reasoning_effort", effort)));
        for (name, value) in set {
            arguments.extend(["-c".to_owned(), format!("{name}=\"{value}\"")]);
        }
        if self.strict_schema().is_some() {
            let file = self.settings.home.join(SCHEMA).display().to_string();
            arguments.extend(["--output-schema".to_owned(), file]);
        }
        if !self.seen.thread.is_empty() {
            arguments.extend(["resume".to_owned(), self.seen.thread.clone()]);
        }
        arguments.push("-".to_owned());
        arguments
    }

    /// Follows a turn to its end.
    async fn follow(&mut self, number: u32, emitter: &Emitter) -> Result<Turn, Fault> {
        let mut error = None;
        loop {
            let line = match self.talk.hear().await {
                Heard::Message(message) => Line::read(&message, number),
                Heard::Noise(text) => Line::Warns(format!("it said something that is not a message: {text}")),
                Heard::End => {
                    self.end_what_is_open(emitter).await;
                    return match error {
                        Some(words) => Ok(Turn::Ended(Ending::failed(words).outcome(None))),
                        None => Err(crashed("Codex", &mut self.talk).await),
                    };
                }
            };
            let trouble = |message| emitter.emit(AgentEvent::Trouble { message });
            match line {
                Line::Thread(thread) => {
                    self.seen.thread = thread;
                    self.keep(emitter).await;
                }
                Line::Begun(item) => {
                    if let Some(reason) = self.watch(item, emitter).await {
                        return Ok(Turn::BrokenOff(reason));
                    }
                }
                Line::Done(item) => {
                    if let Some(reason) = self.seen_done(item, emitter).await {
                        return Ok(Turn::BrokenOff(reason));
                    }
                }
                Line::Failed(words) => error = Some(words),
                Line::Retries(words) => trouble(format!("Codex tries again: {words}.")).await,
                Line::Warns(words) => trouble(format!("Codex warns: {words}.")).await,
                Line::Ended { ending, total } => {
                    self.end_what_is_open(emitter).await;
                    self.book(total, emitter).await;
                    return Ok(Turn::Ended(ending.outcome(None)));
                }
                Line::Silent => {}
                Line::Unknown(what) => {
                    trouble(format!("Codex said something unknown to autonoe: {what}.")).await;
                }
            }
        }
    }

    /// Tells of something that begins, and has the gates judge it; the reason, if they refuse.
    async fn watch(&mut self, item: Item, emitter: &Emitter) -> Option<String> {
        let Kind::Did(deed) = &item.kind else { return None };
        let (id, deed) = (item.id.clone(), deed.clone());
        self.begun(item, emitter).await;
        let refusal = self.judge(&id, &deed).await?;
        self.talk.program.stop().await;
        self.seen.open.remove(&id);
        self.tell(deed.calls, &refusal.reason, true, emitter).await;
        self.end_what_is_open(emitter).await;
        Some(format!("{}: {}", refusal.what, refusal.reason))
    }

    /// Tells of something that is done. Of some things nothing else is told, so they are judged now.
    async fn seen_done(&mut self, item: Item, emitter: &Emitter) -> Option<String> {
        if let Kind::Did(deed) = &item.kind
            && !self.seen.open.contains_key(&item.id)
        {
            let begun = Item { id: item.id.clone(), kind: Kind::Did(deed.clone()) };
            let refusal = self.watch(begun, emitter).await;
            if refusal.is_some() {
                return refusal;
            }
        }
        self.done(item, emitter).await;
        None
    }

    /// Books what a turn used: what is told is the total of the conversation.
    async fn book(&mut self, total: Option<Usage>, emitter: &Emitter) {
        let Some(total) = total else { return };
        let before = std::mem::replace(&mut self.seen.booked, total);
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
        self.keep(emitter).await;
    }

    /// Keeps by what the conversation can be taken up.
    async fn keep(&self, emitter: &Emitter) {
        let history = json!({ "codex_thread": self.seen.thread, "codex_booked": self.seen.booked });
        emitter.emit(AgentEvent::Conversation { history }).await;
    }
}
