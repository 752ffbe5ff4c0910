//! The tools and the problems of all servers of a session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use autonoe_tools::Tool;
use tokio::sync::watch;

/// The maximum number of unread problems; further ones are dropped.
const MAX_PROBLEMS: usize = 100;

/// Shared by all servers, which write it, and the session, which reads it.
pub(crate) struct ServerRegistry {
    state: Mutex<RegistryState>,
    generation: watch::Sender<u64>,
    /// Servers that have not listed their tools yet.
    pending: watch::Sender<BTreeSet<String>>,
}

#[derive(Default)]
struct RegistryState {
    tools: BTreeMap<String, Vec<Arc<dyn Tool>>>,
    problems: Vec<String>,
}

impl ServerRegistry {
    pub(crate) fn new(servers: impl IntoIterator<Item = String>) -> Self {
        Self {
            state: Mutex::default(),
            generation: watch::Sender::new(0),
            pending: watch::Sender::new(servers.into_iter().collect()),
        }
    }

    /// Replaces the tools of `server`.
    pub(crate) fn offer(&self, server: &str, tools: Vec<Arc<dyn Tool>>) {
        let has_changed = {
            let mut state = self.state();
            let before = state.tools.insert(server.to_owned(), tools);
            let (before, now) = (before.unwrap_or_default(), &state.tools[server]);
            before.len() != now.len()
                || before.iter().zip(now).any(|(before, now)| before.spec() != now.spec())
        };
        if has_changed {
            self.generation.send_modify(|generation| *generation += 1);
        }
        self.settle(server);
    }

    /// Marks `server` as no longer pending.
    pub(crate) fn settle(&self, server: &str) {
        self.pending.send_if_modified(|pending| pending.remove(server));
    }

    pub(crate) fn problem(&self, sentence: String) {
        let mut state = self.state();
        if state.problems.len() < MAX_PROBLEMS {
            state.problems.push(sentence);
        }
    }

    pub(crate) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.state().tools.values().flatten().cloned().collect()
    }

    pub(crate) fn take_problems(&self) -> Vec<String> {
        std::mem::take(&mut self.state().problems)
    }

    pub(crate) fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    pub(crate) async fn changed(&self, since: u64) -> u64 {
        let mut generations = self.generation.subscribe();
        match generations.wait_for(|generation| *generation != since).await {
            Ok(generation) => *generation,
            Err(_) => self.generation(),
        }
    }

    /// Waits until no server is pending except these.
    pub(crate) async fn settled(&self, except: &BTreeSet<String>) {
        // We own the sender, so this cannot fail.
        let _ = self.pending.subscribe().wait_for(|pending| pending.is_subset(except)).await;
    }

    pub(crate) fn pending(&self) -> BTreeSet<String> {
        self.pending.borrow().clone()
    }

    fn state(&self) -> MutexGuard<'_, RegistryState> {
        // A panic cannot leave a partial entry.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
