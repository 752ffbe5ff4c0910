//! What the servers of a session offer at the moment, and what is wrong with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::Tool;

/// How many problems are kept for anyone who asks; more of them would say nothing new.
const KEPT_PROBLEMS: usize = 100;

/// What all servers write on and the session reads.
pub(super) struct Board {
    notes: Mutex<Notes>,
    generation: watch::Sender<u64>,
    /// Servers of which it is not known yet what they offer.
    pending: watch::Sender<BTreeSet<String>>,
}

#[derive(Default)]
struct Notes {
    offers: BTreeMap<String, Vec<Arc<dyn Tool>>>,
    problems: Vec<String>,
}

impl Board {
    pub(super) fn new(servers: impl IntoIterator<Item = String>) -> Self {
        Self {
            notes: Mutex::default(),
            generation: watch::Sender::new(0),
            pending: watch::Sender::new(servers.into_iter().collect()),
        }
    }

    /// What `server` offers from now on.
    pub(super) fn offer(&self, server: &str, tools: Vec<Arc<dyn Tool>>) {
        let is_news = {
            let mut notes = self.notes();
            let before = notes.offers.insert(server.to_owned(), tools);
            let (before, now) = (before.unwrap_or_default(), &notes.offers[server]);
            before.len() != now.len()
                || before.iter().zip(now).any(|(before, now)| before.spec() != now.spec())
        };
        if is_news {
            self.generation.send_modify(|generation| *generation += 1);
        }
        self.settle(server);
    }

    /// Nobody need wait for `server` any longer.
    pub(super) fn settle(&self, server: &str) {
        self.pending.send_if_modified(|pending| pending.remove(server));
    }

    pub(super) fn problem(&self, sentence: String) {
        let mut notes = self.notes();
        if notes.problems.len() < KEPT_PROBLEMS {
            notes.problems.push(sentence);
        }
    }

    pub(super) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.notes().offers.values().flatten().cloned().collect()
    }

    pub(super) fn take_problems(&self) -> Vec<String> {
        std::mem::take(&mut self.notes().problems)
    }

    pub(super) fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    pub(super) async fn changed(&self, since: u64) -> u64 {
        let mut generations = self.generation.subscribe();
        match generations.wait_for(|generation| *generation != since).await {
            Ok(generation) => *generation,
            Err(_) => self.generation(),
        }
    }

    /// Waits until nobody need wait for any server but these.
    pub(super) async fn settled(&self, but: &BTreeSet<String>) {
        // The sender is ours, so there is no error to wait for.
        let _ = self.pending.subscribe().wait_for(|pending| pending.is_subset(but)).await;
    }

    /// The servers of which it is not known yet what they offer.
    pub(super) fn pending(&self) -> BTreeSet<String> {
        self.pending.borrow().clone()
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // A panic elsewhere leaves whole entries.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
