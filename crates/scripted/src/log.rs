//! Records requests and problems, up to a limit. Nothing here affects an answer.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

/// How many of the newest requests are kept.
const KEPT_REQUESTS: usize = 10_000;
/// The total size of their JSON text.
const KEPT_BYTES: usize = 256 << 20;
/// How many of the first problems are kept.
const KEPT_PROBLEMS: usize = 1_000;

#[derive(Debug, Clone)]
pub struct LoggedRequest {
    /// Without the query.
    pub path: String,
    /// Empty if the request could not be read.
    pub model: String,
    pub stream: bool,
    /// The number of messages.
    pub messages: usize,
    /// The names of the offered tools.
    pub tools: Vec<String>,
    pub answer: ScriptedAnswer,
    /// The whole request; null if it was not JSON.
    pub request: Arc<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptedAnswer {
    Turn(ScriptPosition),
    /// A fault that precedes a turn.
    Fault(ScriptPosition),
    /// The short text for requests that offer no tools.
    Side,
    /// A count of tokens.
    Count,
    /// An error because the request or the script was wrong; its message is also among the problems.
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptPosition {
    /// The name of the conversation.
    pub conversation: String,
    /// Counted from 1 over all conversations of this server.
    pub play: usize,
    /// Counted from 1 within the conversation.
    pub turn: usize,
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    /// Each with its size in bytes.
    requests: VecDeque<(usize, LoggedRequest)>,
    bytes: usize,
    total: usize,
    problems: Vec<String>,
    problems_left_out: usize,
}

impl RequestLog {
    /// Records a request of `bytes` bytes and drops the oldest ones beyond the limits.
    pub fn record(&mut self, bytes: usize, request: LoggedRequest) {
        self.total += 1;
        self.bytes += bytes;
        self.requests.push_back((bytes, request));
        while self.requests.len() > KEPT_REQUESTS || self.bytes > KEPT_BYTES {
            let Some((bytes, _)) = self.requests.pop_front() else {
                break;
            };
            self.bytes -= bytes;
        }
    }

    pub fn problem(&mut self, message: String) {
        if self.problems.len() < KEPT_PROBLEMS {
            self.problems.push(message);
        } else {
            self.problems_left_out += 1;
        }
    }

    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.requests.iter().map(|(_, request)| request.clone()).collect()
    }

    pub fn problems(&self) -> Vec<String> {
        let rest =
            (self.problems_left_out > 0).then(|| format!("and {} more problems", self.problems_left_out));
        self.problems.iter().cloned().chain(rest).collect()
    }

    /// The body of `/_state`.
    pub fn state(&self) -> Value {
        json!({ "requests": self.total, "problems": self.problems() })
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT_BYTES, KEPT_PROBLEMS, KEPT_REQUESTS, LoggedRequest, RequestLog, ScriptedAnswer};

    fn request(path: usize) -> LoggedRequest {
        LoggedRequest {
            path: path.to_string(),
            model: String::new(),
            stream: false,
            messages: 0,
            tools: Vec::new(),
            answer: ScriptedAnswer::Side,
            request: Default::default(),
        }
    }

    #[test]
    fn keeps_the_newest_requests_and_counts_all() {
        let mut log = RequestLog::default();
        for number in 0..KEPT_REQUESTS + 3 {
            log.record(1, request(number));
        }
        assert_eq!(log.requests().len(), KEPT_REQUESTS);
        assert_eq!(log.requests()[0].path, "3");
        assert_eq!(log.state()["requests"], KEPT_REQUESTS + 3);
    }

    #[test]
    fn large_requests_push_out_older_ones() {
        let mut log = RequestLog::default();
        for number in 0..3 {
            log.record(KEPT_BYTES / 2, request(number));
        }
        let kept: Vec<String> = log.requests().into_iter().map(|request| request.path).collect();
        assert_eq!(kept, ["1", "2"]);
    }

    #[test]
    fn counts_the_problems_it_drops() {
        let mut log = RequestLog::default();
        (0..KEPT_PROBLEMS + 2).for_each(|number| log.problem(format!("problem {number}")));
        assert_eq!(log.problems().len(), KEPT_PROBLEMS + 1);
        assert_eq!(log.problems().last().map(String::as_str), Some("and 2 more problems"));
    }
}
