//! What the server was asked and what went wrong, within bounds. Nothing here affects an answer.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

/// The newest requests that are kept.
const KEPT_REQUESTS: usize = 10_000;
/// The size of their JSON text together.
const KEPT_BYTES: usize = 256 << 20;
/// The first problems that are kept.
const KEPT_PROBLEMS: usize = 1_000;

/// A request, and what answered it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path of the URL, without the query.
    pub path: String,
    /// The model asked for; empty if the request could not be read.
    pub model: String,
    /// Whether a stream was asked for.
    pub stream: bool,
    /// How many messages it had.
    pub messages: usize,
    /// The names of the tools it offered.
    pub tools: Vec<String>,
    /// What answered it.
    pub answer: Answer,
    /// The whole request; null if it was not JSON.
    pub request: Arc<Value>,
}

/// What answered a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A turn of the script.
    Turn(Place),
    /// A fault in front of a turn.
    Fault(Place),
    /// The short text for requests that offer no tools.
    Side,
    /// A count of tokens.
    Count,
    /// An error, because the request or the script was wrong; the sentence is among the problems.
    Refused(String),
}

/// A place in the script, as it is played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name of the conversation.
    pub conversation: String,
    /// Which of all conversations held with this server, counted from 1.
    pub play: usize,
    /// Which reply of the conversation, counted from 1.
    pub turn: usize,
}

/// Requests and problems so far.
#[derive(Debug, Default)]
pub(crate) struct Log {
    asked: VecDeque<(usize, Asked)>,
    bytes: usize,
    total: usize,
    problems: Vec<String>,
    problems_left_out: usize,
}

impl Log {
    /// Keeps a request of so many bytes, letting go of the oldest.
    pub fn asked(&mut self, bytes: usize, asked: Asked) {
        self.total += 1;
        self.bytes += bytes;
        self.asked.push_back((bytes, asked));
        while self.asked.len() > KEPT_REQUESTS || self.bytes > KEPT_BYTES {
            let Some((bytes, _)) = self.asked.pop_front() else {
                break;
            };
            self.bytes -= bytes;
        }
    }

    pub fn problem(&mut self, sentence: String) {
        if self.problems.len() < KEPT_PROBLEMS {
            self.problems.push(sentence);
        } else {
            self.problems_left_out += 1;
        }
    }

    pub fn requests(&self) -> Vec<Asked> {
        self.asked.iter().map(|(_, asked)| asked.clone()).collect()
    }

    pub fn problems(&self) -> Vec<String> {
        let rest =
            (self.problems_left_out > 0).then(|| format!("and {} more problems", self.problems_left_out));
        self.problems.iter().cloned().chain(rest).collect()
    }

    /// The state page.
    pub fn state(&self) -> Value {
        json!({ "requests": self.total, "problems": self.problems() })
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Asked, KEPT_BYTES, KEPT_PROBLEMS, KEPT_REQUESTS, Log};

    fn asked(path: usize) -> Asked {
        Asked {
            path: path.to_string(),
            model: String::new(),
            stream: false,
            messages: 0,
            tools: Vec::new(),
            answer: Answer::Side,
            request: Default::default(),
        }
    }

    #[test]
    fn keeps_the_newest_requests_and_counts_all() {
        let mut log = Log::default();
        for number in 0..KEPT_REQUESTS + 3 {
            log.asked(1, asked(number));
        }
        assert_eq!(log.requests().len(), KEPT_REQUESTS);
        assert_eq!(log.requests()[0].path, "3");
        assert_eq!(log.state()["requests"], KEPT_REQUESTS + 3);
    }

    #[test]
    fn large_requests_push_out_older_ones() {
        let mut log = Log::default();
        for number in 0..3 {
            log.asked(KEPT_BYTES / 2, asked(number));
        }
        let kept: Vec<String> = log.requests().into_iter().map(|asked| asked.path).collect();
        assert_eq!(kept, ["1", "2"]);
    }

    #[test]
    fn says_how_many_problems_were_left_out() {
        let mut log = Log::default();
        (0..KEPT_PROBLEMS + 2).for_each(|number| log.problem(format!("problem {number}")));
        assert_eq!(log.problems().len(), KEPT_PROBLEMS + 1);
        assert_eq!(log.problems().last().map(String::as_str), Some("and 2 more problems"));
    }
}
