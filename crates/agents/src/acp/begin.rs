//! From the greeting to a session that is ready for work: a new one or an earlier one, with its model and its tools.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::event::AgentEvent;
use autonoe_core::fault::{Fault, Layer};
use futures::future::{Either, select};
use serde_json::{Value, json};

use super::files::FAILED;
use super::message::{Message, Refused};
use super::session::{self, OWN_MODEL};
use super::{AcpAgent, Halt};
use crate::emit::Emitter;

/// How long an agent is quiet that has repeated an earlier session.
const QUIET: Duration = Duration::from_millis(300);

/// How long an agent is left to ask for its tools before it is sent to work: what it works without at first, the model does
/// not know of. Who connects to MCP servers later does it then.
const GATHERING: Duration = Duration::from_secs(5);

impl AcpAgent {
    /// Greets the agent and has it begin a session, or resume an earlier one.
    pub(super) async fn begin(&mut self, emitter: &Emitter) -> Result<(), Halt> {
        let greeted = self.request("initialize", session::greeting(self.manner.is_served), emitter).await?;
        let place = session::place(&self.settings, &self.vendor_session.server, &greeted);
        let begun = match self.earlier.take().filter(|_| session::can_load(&greeted)) {
            Some(earlier) => self.load(earlier, place.clone(), emitter).await?,
            None => None,
        };
        let begun = match begun {
            Some(begun) => begun,
            None => {
                let begun = self.request("session/new", place, emitter).await?;
                self.session = begun["sessionId"].as_str().unwrap_or_default().to_owned();
                begun
            }
        };
        self.name_model(&begun, emitter).await?;
        self.gather(emitter).await
    }

    /// Waits until it has asked for its tools, for a while.
    async fn gather(&mut self, emitter: &Emitter) -> Result<(), Halt> {
        if self.manner.loads_tools_first && !self.vendor_session.has_tools() {
            return Err(Halt::Fault(self.vendor_session.tools_missing(None)));
        }
        let deliverables = Arc::clone(&self.vendor_session.deliverables);
        let mut loaded = pin!(tokio::time::timeout(GATHERING, deliverables.loaded()));
        while !self.vendor_session.has_tools() {
            let message = match select(pin!(self.next(emitter)), &mut loaded).await {
                Either::Left((message, _)) => message?,
                Either::Right(_) => break,
            };
            self.put_off(message, emitter).await;
        }
        Ok(())
    }

    /// Resumes an earlier session; none if the agent does not know it any more.
    async fn load(
        &mut self,
        earlier: String,
        mut place: Value,
        emitter: &Emitter,
    ) -> Result<Option<Value>, Halt> {
        place["sessionId"] = json!(earlier);
        self.is_replaying = true;
        let loaded = self.request("session/load", place, emitter).await;
        self.settle(emitter).await?;
        self.is_replaying = false;
        match loaded {
            Ok(begun) => {
                self.session = earlier;
                Ok(Some(begun))
            }
            Err(Halt::Refused(refused)) => {
                let message =
                    format!("{} cannot resume its last session: {}.", self.manner.shown, refused.message);
                emitter.emit(AgentEvent::Trouble { message }).await;
                Ok(None)
            }
            Err(halt) => Err(halt),
        }
    }

    /// Waits until nothing more of an earlier session is repeated: some answer before they have done so.
    async fn settle(&mut self, emitter: &Emitter) -> Result<(), Halt> {
        while let Ok(message) = tokio::time::timeout(QUIET, self.next(emitter)).await {
            self.put_off(message?, emitter).await;
        }
        Ok(())
    }

    /// Attends to a message that comes before there is any work.
    async fn put_off(&mut self, message: Message, emitter: &Emitter) {
        match message {
            Message::Asks { id, .. } => {
                let message = "there is nothing to do yet".to_owned();
                self.reply(&id, Err(Refused { code: FAILED, message })).await;
            }
            Message::Unknown(what) => self.unknown(&what, emitter).await,
            Message::Update(_) | Message::Answered { .. } | Message::Silent => {}
        }
    }

    async fn name_model(&mut self, begun: &Value, emitter: &Emitter) -> Result<(), Halt> {
        if !self.manner.asks_for_model || self.model == OWN_MODEL {
            return Ok(());
        }
        match session::choose_model(begun, &self.model) {
            Ok(None) => Ok(()),
            Ok(Some((method, mut choice))) => {
                choice["sessionId"] = json!(self.session);
                self.request(method, choice, emitter).await.map(|_| ())
            }
            Err(offered) => {
                let message = format!("{} has no model '{}'.", self.manner.shown, self.model);
                let fault = Fault::lasting(Layer::Config, "unknown_model", message);
                Err(Halt::Fault(match offered.is_empty() {
                    true => fault.hint("It lets no model be chosen; leave --model out."),
                    false => fault.hint(format!("It offers {offered}.")),
                }))
            }
        }
    }
}
