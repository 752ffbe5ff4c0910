//! Steering: what the user asks of a run while it works: messages for the agent, a pause, an end after the current session.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// What precedes a message that an agent gets.
const PREFACE: &str = "A message from the user, who follows this work. Act on it. If it matters for later sessions, write it to \
                       .autonoe-note.md:";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMessage {
    /// Unique within the project.
    pub id: String,
    pub text: String,
}

impl UserMessage {
    /// The message as an agent reads it.
    pub fn prompt(&self) -> String {
        format!("{PREFACE}\n\n{}", self.text.trim())
    }
}

type OnSettled = dyn Fn(&UserMessage) + Send + Sync;

/// Clones steer the same run.
#[derive(Clone, Default)]
pub struct Steering {
    state: Arc<Mutex<SteeringState>>,
    changed: Arc<Notify>,
    on_settled: Option<Arc<OnSettled>>,
}

#[derive(Debug, Default)]
struct SteeringState {
    waiting: VecDeque<UserMessage>,
    /// Messages that the current session has got.
    taken: Vec<UserMessage>,
    /// What the run itself has to say to the current session. The next one does not get it.
    advice: Vec<String>,
    is_paused: bool,
    ends_after_session: bool,
}

impl Steering {
    /// Calls `on_settled` for each message that a session has read.
    #[must_use]
    pub fn settling(self, on_settled: impl Fn(&UserMessage) + Send + Sync + 'static) -> Self {
        Self { on_settled: Some(Arc::new(on_settled)), ..self }
    }

    /// Adds a message, unless it is known already.
    pub fn tell(&self, message: UserMessage) {
        let mut state = self.lock();
        let mut known = state.waiting.iter().chain(&state.taken);
        if known.all(|other| other.id != message.id) {
            state.waiting.push_back(message);
            drop(state);
            self.changed.notify_waiters();
        }
    }

    /// Adds a message of the run itself for the current session.
    pub fn advise(&self, text: String) {
        self.lock().advice.push(text);
        self.changed.notify_waiters();
    }

    pub fn take_advice(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().advice)
    }

    pub fn set_paused(&self, is_paused: bool) {
        self.lock().is_paused = is_paused;
        self.changed.notify_waiters();
    }

    pub fn end_after_session(&self) {
        self.lock().ends_after_session = true;
        self.changed.notify_waiters();
    }

    pub fn is_paused(&self) -> bool {
        self.lock().is_paused
    }

    pub fn ends_after_session(&self) -> bool {
        self.lock().ends_after_session
    }

    /// Hands the waiting messages to the current session, in order.
    pub fn take(&self) -> Vec<UserMessage> {
        let mut state = self.lock();
        let messages: Vec<UserMessage> = state.waiting.drain(..).collect();
        state.taken.extend(messages.iter().cloned());
        messages
    }

    /// Waits until there are messages or advice.
    pub async fn has_messages(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.lock();
                if !state.waiting.is_empty() || !state.advice.is_empty() {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Waits for the end of a pause, and for the wish to end the run.
    pub async fn resumed(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.lock();
                if !state.is_paused || state.ends_after_session {
                    return;
                }
            }
            changed.await;
        }
    }

    /// The session has ended well enough to have read its messages.
    pub fn settle(&self) {
        let taken = {
            let mut state = self.lock();
            state.advice.clear();
            std::mem::take(&mut state.taken)
        };
        self.on_settled.iter().for_each(|on_settled| taken.iter().for_each(|message| on_settled(message)));
    }

    /// The session has failed, so the next one gets its messages again.
    pub fn give_back(&self) {
        let mut state = self.lock();
        state.advice.clear();
        let taken = std::mem::take(&mut state.taken);
        taken.into_iter().rev().for_each(|message| state.waiting.push_front(message));
    }

    fn lock(&self) -> MutexGuard<'_, SteeringState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{Steering, UserMessage};

    fn message(id: &str) -> UserMessage {
        UserMessage { id: id.to_owned(), text: format!("text of {id}") }
    }

    #[test]
    fn a_failed_session_gives_its_messages_to_the_next_one() {
        let settled = Arc::new(Mutex::new(Vec::new()));
        let steering = Steering::default().settling({
            let settled = Arc::clone(&settled);
            move |message| settled.lock().expect("settled").push(message.id.clone())
        });
        steering.tell(message("1"));
        steering.tell(message("2"));
        assert_eq!(steering.take().len(), 2);
        steering.tell(message("3"));
        // The file of a message that was taken is seen again until the session has ended.
        steering.tell(message("1"));
        steering.give_back();
        assert_eq!(steering.take(), [message("1"), message("2"), message("3")]);
        steering.settle();
        assert_eq!(*settled.lock().expect("settled"), ["1", "2", "3"]);
        assert_eq!(steering.take(), []);
    }

    #[tokio::test]
    async fn advice_wakes_the_session_and_is_not_for_the_next_one() {
        let steering = Steering::default();
        steering.advise("Try something else.".to_owned());
        steering.has_messages().await;
        assert_eq!(steering.take(), []);
        assert_eq!(steering.take_advice(), ["Try something else."]);
        steering.advise("Too late.".to_owned());
        steering.settle();
        assert_eq!(steering.take_advice(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_message_wakes_whoever_waits() {
        let steering = Steering::default();
        let waiting = tokio::spawn({
            let steering = steering.clone();
            async move { steering.has_messages().await }
        });
        tokio::task::yield_now().await;
        steering.tell(message("1"));
        waiting.await.expect("told");
        assert_eq!(steering.take(), [message("1")]);
    }

    #[tokio::test]
    async fn a_pause_ends_when_the_run_shall_end() {
        let steering = Steering::default();
        steering.set_paused(true);
        steering.end_after_session();
        steering.resumed().await;
    }
}
