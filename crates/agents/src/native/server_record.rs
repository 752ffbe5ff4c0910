//! What a run remembers of its MCP servers from session to session: which were too slow, and what has been told of them.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Shared by the sessions of a run.
#[derive(Debug, Default)]
pub(super) struct ServerRecord(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// Servers that were not there when a session began, nor before it ended. Nobody waits for them again.
    silent: BTreeSet<String>,
    /// Sentences that have been said.
    told: HashSet<String>,
}

impl ServerRecord {
    /// The servers that nobody need wait for.
    pub(super) fn silent(&self) -> BTreeSet<String> {
        self.seen().silent.clone()
    }

    /// Notes that these are not there after a session has waited for them. Says so, of each once in a run.
    pub(super) fn late(&self, servers: &BTreeSet<String>, waited: Duration, limit: Duration) -> Vec<String> {
        let sentences = servers.iter().map(|name| {
            format!(
                "MCP server `{name}` did not answer within {} s, so the session begins without its tools. They join if it \
                 answers within {} s.",
                waited.as_secs(),
                limit.as_secs()
            )
        });
        let news = self.news(sentences.collect());
        self.seen().silent.extend(servers.iter().cloned());
        news
    }

    /// Notes which of the servers were there before a session ended: they are worth waiting for again.
    pub(super) fn came(&self, still_missing: &BTreeSet<String>) {
        self.seen().silent.retain(|name| still_missing.contains(name));
    }

    /// Of these sentences those that have not been said in this run.
    pub(super) fn news(&self, sentences: Vec<String>) -> Vec<String> {
        let mut seen = self.seen();
        sentences.into_iter().filter(|sentence| seen.told.insert(sentence.clone())).collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::ServerRecord;

    #[test]
    fn a_slow_server_is_told_once_and_waited_for_again_only_if_it_came() {
        let record = ServerRecord::default();
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let late =
            |names: &[&str]| record.late(&set(names), Duration::from_secs(5), Duration::from_secs(180));
        let told = late(&["mute", "slow"]);
        assert_eq!(told.len(), 2);
        assert!(
            told[0].contains("`mute`") && told[0].contains("5 s") && told[0].contains("180 s"),
            "{told:?}"
        );
        record.came(&set(&["mute"]));
        assert_eq!(record.silent(), set(&["mute"]), "the other one came and is waited for");
        assert_eq!(late(&["mute", "slow"]), [""; 0], "and told of no more");
        assert_eq!(record.news(vec!["x".to_owned(), "x".to_owned()]), ["x"]);
        assert_eq!(record.news(vec!["x".to_owned()]), [""; 0]);
    }
}
