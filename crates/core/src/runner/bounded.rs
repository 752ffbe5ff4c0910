//! Bounds the work of a plan, such as running checks, by the user's interrupt and by the time that is left.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::fault::Fault;

pub(super) enum Bounded<T> {
    Done(T),
    Interrupted,
    /// The limit of the run.
    OutOfTime {
        limit: Duration,
    },
}

/// Drops `work` on an interrupt, and when its time is over. `time`: what is left of the limit, and the limit; `None` if there is none.
pub(super) async fn bounded<T>(
    interrupt: &CancellationToken,
    clock: &dyn Clock,
    time: Option<(Duration, Duration)>,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<Bounded<T>, Fault> {
    let over = async {
        match time {
            Some((left, limit)) => {
                clock.sleep(left).await;
                limit
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        result = work => result.map(Bounded::Done),
        () = interrupt.cancelled() => Ok(Bounded::Interrupted),
        limit = over => Ok(Bounded::OutOfTime { limit }),
    }
}
