//! The sessions of a run that are at work.

use std::collections::VecDeque;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};

use crate::fault::Fault;
use crate::plan::Iteration;
use crate::steering::Steering;

/// A session that has ended.
pub(super) struct Ended {
    pub(super) iteration: Iteration,
    /// See [`crate::plan::NextSession::is_optional`].
    pub(super) is_optional: bool,
    pub(super) steering: Steering,
}

type Work<'a> = BoxFuture<'a, Result<Ended, Fault>>;

/// Sessions make progress only while one of these functions is awaited.
#[derive(Default)]
pub(super) struct RunningSessions<'a> {
    at_work: FuturesUnordered<Work<'a>>,
    /// Ended while the loop did something else.
    ended: VecDeque<Result<Ended, Fault>>,
}

impl<'a> RunningSessions<'a> {
    pub(super) fn start(&mut self, session: impl Future<Output = Result<Ended, Fault>> + Send + 'a) {
        self.at_work.push(session.boxed());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at_work.is_empty() && self.ended.is_empty()
    }

    /// The first session that ends; `None` if there is none.
    pub(super) async fn next(&mut self) -> Option<Result<Ended, Fault>> {
        match self.ended.pop_front() {
            Some(ended) => Some(ended),
            None => self.at_work.next().await,
        }
    }

    /// Does something else of the loop. It may need what a session has, so they go on meanwhile.
    pub(super) async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                Some(ended) = self.at_work.next(), if !self.at_work.is_empty() => self.ended.push_back(ended),
            }
        }
    }
}
