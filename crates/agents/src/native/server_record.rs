//! What a run remembers about its MCP servers between sessions: which were too slow, and which messages were
//! reported.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Shared by all sessions of a run.
#[derive(Debug, Default)]
pub(super) struct ServerRecord(Mutex<ServerHistory>);

#[derive(Debug, Default)]
struct ServerHistory {
    /// Servers that were not ready during a whole session. Sessions do not wait for them again.
    slow: BTreeSet<String>,
    reported: HashSet<String>,
}

impl ServerRecord {
    /// Servers that a session does not wait for.
    pub(super) fn slow(&self) -> BTreeSet<String> {
        self.history().slow.clone()
    }

    /// Records servers that were not ready in time. Returns messages, each server once per run.
    pub(super) fn timed_out(
        &self,
        servers: &BTreeSet<String>,
        waited: Duration,
        limit: Duration,
    ) -> Vec<String> {
        let messages = servers.iter().map(|name| {
            format!(
                "MCP server `{name}` did not answer within {} s, so the session starts without its tools. They are \
                 added if it answers within {} s.",
                waited.as_secs(),
                limit.as_secs()
            )
        });
        let new = self.unreported(messages.collect());
        self.history().slow.extend(servers.iter().cloned());
        new
    }

    /// Records at the end of a session which servers became ready, so that the next one waits for them again.
    pub(super) fn session_ended(&self, still_missing: &BTreeSet<String>) {
        self.history().slow.retain(|name| still_missing.contains(name));
    }

    /// The messages that have not been reported in this run.
    pub(super) fn unreported(&self, messages: Vec<String>) -> Vec<String> {
        let mut history = self.history();
        messages.into_iter().filter(|message| history.reported.insert(message.clone())).collect()
    }

    fn history(&self) -> MutexGuard<'_, ServerHistory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::ServerRecord;

    #[test]
    fn a_slow_server_is_reported_once_and_waited_for_again_only_if_it_became_ready() {
        let record = ServerRecord::default();
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let late =
            |names: &[&str]| record.timed_out(&set(names), Duration::from_secs(5), Duration::from_secs(180));
        let reported = late(&["mute", "slow"]);
        assert_eq!(reported.len(), 2);
        assert!(
            reported[0].contains("`mute`") && reported[0].contains("5 s") && reported[0].contains("180 s"),
            "{reported:?}"
        );
        record.session_ended(&set(&["mute"]));
        assert_eq!(record.slow(), set(&["mute"]), "the other one became ready and is waited for");
        assert_eq!(late(&["mute", "slow"]), [""; 0], "and not reported again");
        assert_eq!(record.unreported(vec!["x".to_owned(), "x".to_owned()]), ["x"]);
        assert_eq!(record.unreported(vec!["x".to_owned()]), [""; 0]);
    }
}
