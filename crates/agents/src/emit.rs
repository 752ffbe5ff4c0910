//! Turns an async function that emits events into a stream of them.
//!
//! The function runs only while the stream is polled, and is suspended after each event until the next one is
//! requested. So a consumer that stops polling stops the work: dropping the stream drops everything in it.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use autonoe_core::agent::EventStream;
use autonoe_core::event::AgentEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::SessionEnd;
use autonoe_sandbox::EgressRefusal;
use futures::Stream;
use tokio::sync::mpsc;

#[derive(Clone)]
pub(crate) struct Emitter(mpsc::UnboundedSender<AgentEvent>);

impl Emitter {
    /// Emits an event and waits until the consumer has taken it.
    pub(crate) async fn emit(&self, event: AgentEvent) {
        self.emit_now(event);
        tokio::task::yield_now().await;
    }

    /// Emits an event from synchronous code.
    pub(crate) fn emit_now(&self, event: AgentEvent) {
        let _ = self.0.send(event);
    }
}

struct Emitting<F> {
    work: Option<Pin<Box<F>>>,
    events: mpsc::UnboundedReceiver<AgentEvent>,
}

/// The events that `work` emits. The stream ends when the work does.
pub(crate) fn events<'a, F>(work: impl FnOnce(Emitter) -> F) -> EventStream<'a>
where
    F: Future<Output = ()> + Send + 'a,
{
    let (sender, events) = mpsc::unbounded_channel();
    let work = work(Emitter(sender));
    Box::pin(Emitting { work: Some(Box::pin(work)), events })
}

impl<F: Future<Output = ()> + Send> Stream for Emitting<F> {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Option<AgentEvent>> {
        if let Ok(event) = self.events.try_recv() {
            return Poll::Ready(Some(event));
        }
        if let Some(work) = &mut self.work
            && work.as_mut().poll(cx).is_ready()
        {
            self.work = None;
        }
        match self.events.try_recv() {
            Ok(event) => Poll::Ready(Some(event)),
            Err(_) if self.work.is_none() => Poll::Ready(None),
            Err(_) => Poll::Pending,
        }
    }
}

pub(crate) fn host_refused(refusal: &EgressRefusal, how_to_allow: &str) -> AgentEvent {
    let message = format!("A command was denied network access: {refusal} {how_to_allow}");
    AgentEvent::HostRefused { host: refusal.host.clone(), port: refusal.port, message }
}

/// Why the last model call failed, given the end of its session; `None` if it did not fail.
pub(crate) fn model_failure(outcome: &SessionEnd) -> Option<Fault> {
    match outcome {
        SessionEnd::QuotaExceeded { message, .. } => {
            Some(Fault::transient(FaultLayer::Model, outcome.name(), message.clone()))
        }
        outcome => outcome.fault().cloned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use autonoe_core::event::AgentEvent;
    use futures::StreamExt;

    use super::events;

    #[tokio::test]
    async fn work_is_suspended_until_its_event_is_taken() {
        let steps = Arc::new(AtomicU32::new(0));
        let mut stream = events({
            let steps = Arc::clone(&steps);
            |emitter| async move {
                for number in 0..3 {
                    emitter.emit(AgentEvent::Text { text: number.to_string() }).await;
                    steps.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        for taken in 0..3 {
            assert_eq!(stream.next().await, Some(AgentEvent::Text { text: taken.to_string() }));
            assert_eq!(steps.load(Ordering::SeqCst), taken, "nothing happens after event {taken} was taken");
        }
        assert_eq!(stream.next().await, None);
        assert_eq!(steps.load(Ordering::SeqCst), 3);
    }
}
