//! Steering: what the user asks of a run while it works: messages for the agent, a pause, an end after the current session.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
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

/// Clones steer the same run; [`Steering::for_session`] says what they have in common beyond that.
#[derive(Clone, Default)]
pub struct Steering {
    state: Arc<Mutex<SteeringState>>,
    session: Arc<Mutex<SessionState>>,
    changed: Arc<Notify>,
    on_settled: Option<Arc<OnSettled>>,
}

#[derive(Debug, Default)]
struct SteeringState {
    /// Messages that no session has read to its end. All that are at work get them.
    open: VecDeque<UserMessage>,
    pause: Option<Pause>,
    ends_after_session: bool,
}

/// Why no session begins at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pause {
    /// By `autonoe pause`, or by the run itself.
    Requested,
    /// As long as this file exists.
    File(PathBuf),
}

impl fmt::Display for Pause {
    /// With how to go on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("Paused. `autonoe resume` continues the run."),
            Self::File(path) => {
                let path = path.display();
                write!(f, "Paused by {path}. `autonoe resume`, or removing that file, continues the run.")
            }
        }
    }
}

/// What one session has got.
#[derive(Debug, Default)]
struct SessionState {
    /// Ids of messages.
    taken: Vec<String>,
    /// What the run itself has to say to this session.
    advice: Vec<String>,
}

impl Steering {
    /// Calls `on_settled` for each message that a session has read.
    #[must_use]
    pub fn settling(self, on_settled: impl Fn(&UserMessage) + Send + Sync + 'static) -> Self {
        Self { on_settled: Some(Arc::new(on_settled)), ..self }
    }

    /// The same for one session: what it takes, others that are at work get too, and advice is for it alone.
    #[must_use]
    pub fn for_session(&self) -> Self {
        Self { session: Arc::default(), ..self.clone() }
    }

    /// Adds a message, unless it is known already.
    pub fn tell(&self, message: UserMessage) {
        let mut state = self.lock();
        if state.open.iter().all(|other| other.id != message.id) {
            state.open.push_back(message);
            drop(state);
            self.changed.notify_waiters();
        }
    }

    /// Adds a message of the run itself for this session.
    pub fn advise(&self, text: String) {
        self.lock_session().advice.push(text);
        self.changed.notify_waiters();
    }

    pub fn take_advice(&self) -> Vec<String> {
        std::mem::take(&mut self.lock_session().advice)
    }

    /// `None` continues the run.
    pub fn set_pause(&self, pause: Option<Pause>) {
        self.lock().pause = pause;
        self.changed.notify_waiters();
    }

    pub fn end_after_session(&self) {
        self.lock().ends_after_session = true;
        self.changed.notify_waiters();
    }

    pub fn pause(&self) -> Option<Pause> {
        self.lock().pause.clone()
    }

    pub fn ends_after_session(&self) -> bool {
        self.lock().ends_after_session
    }

    /// Hands the messages to this session that it has not got yet, in order.
    pub fn take(&self) -> Vec<UserMessage> {
        let (state, mut session) = (self.lock(), self.lock_session());
        let is_new = |message: &&UserMessage| !session.taken.contains(&message.id);
        let messages: Vec<UserMessage> = state.open.iter().filter(is_new).cloned().collect();
        session.taken.extend(messages.iter().map(|message| message.id.clone()));
        messages
    }

    /// Waits until there are messages or advice.
    pub async fn has_messages(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let (state, session) = (self.lock(), self.lock_session());
                let has_new = state.open.iter().any(|message| !session.taken.contains(&message.id));
                if has_new || !session.advice.is_empty() {
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
                if state.pause.is_none() || state.ends_after_session {
                    return;
                }
            }
            changed.await;
        }
    }

    /// The session has ended well enough to have read its messages.
    pub fn settle(&self) {
        let taken = std::mem::take(&mut *self.lock_session()).taken;
        let read: VecDeque<UserMessage> = {
            let mut state = self.lock();
            let (read, open) = state.open.drain(..).partition(|message| taken.contains(&message.id));
            state.open = open;
            read
        };
        self.on_settled.iter().for_each(|on_settled| read.iter().for_each(|message| on_settled(message)));
    }

    /// The session has failed, so the next one gets its messages again.
    pub fn give_back(&self) {
        *self.lock_session() = SessionState::default();
    }

    fn lock_session(&self) -> MutexGuard<'_, SessionState> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, SteeringState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{Pause, Steering, UserMessage};

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

    #[test]
    fn all_sessions_at_work_get_a_message_and_each_its_own_advice() {
        let run = Steering::default();
        let (one, other) = (run.for_session(), run.for_session());
        run.tell(message("1"));
        one.advise("You repeat yourself.".to_owned());
        assert_eq!((one.take(), other.take()), (vec![message("1")], vec![message("1")]));
        assert_eq!(other.take_advice(), Vec::<String>::new());
        assert_eq!(one.take_advice(), ["You repeat yourself."]);
        one.give_back();
        other.settle();
        assert_eq!(run.for_session().take(), [], "one has read it");
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
        steering.set_pause(Some(Pause::Requested));
        steering.end_after_session();
        steering.resumed().await;
    }
}
