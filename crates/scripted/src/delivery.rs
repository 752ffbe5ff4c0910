//! Sends an encoded reply, whole or corrupted by a fault. The same for every wire format.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio::{task, time};

use crate::reply::{DeliveryFault, FaultTiming};

/// How long a `silence` fault lasts unless the client disconnects first.
pub const SILENCE: Duration = Duration::from_secs(600);

/// An encoded reply.
#[derive(Debug, Clone)]
pub(crate) enum Payload {
    /// Events, or lines of JSON: one per element.
    Stream(Vec<Bytes>),
    /// A JSON document.
    Document(Bytes),
}

impl Payload {
    fn whole(self) -> Body {
        match self {
            Payload::Stream(events) => {
                Body::from_stream(stream::iter(events.into_iter().map(Ok::<_, Infallible>)))
            }
            Payload::Document(document) => Body::from(document),
        }
    }

    /// Events, or the two halves of a document.
    fn pieces(self) -> Vec<Bytes> {
        match self {
            Payload::Stream(events) => events,
            Payload::Document(mut document) => {
                let rest = document.split_off(document.len() / 2);
                vec![document, rest]
            }
        }
    }

    /// Half of the pieces, but at least one.
    pub fn first_half(self) -> Vec<Bytes> {
        let mut pieces = self.pieces();
        pieces.truncate((pieces.len() / 2).max(1));
        pieces
    }

    /// Breaks the JSON: a truncated document, or one truncated event among whole ones.
    fn broken(self) -> Payload {
        match self {
            Payload::Stream(mut events) => {
                // Not the last event, which need not be JSON.
                let middle = (events.len() / 2).min(events.len().saturating_sub(2));
                if let Some(event) = events.get_mut(middle) {
                    *event = truncated_event(event);
                }
                Payload::Stream(events)
            }
            Payload::Document(document) => Payload::Document(document.slice(..document.len() / 2)),
        }
    }
}

pub(crate) fn body(payload: Payload, delivery_fault: Option<DeliveryFault>) -> Body {
    match delivery_fault {
        None => payload.whole(),
        Some(DeliveryFault::Malformed) => payload.broken().whole(),
        Some(DeliveryFault::Slow(pause)) => {
            Body::from_stream(stream::iter(payload.pieces()).then(move |piece| async move {
                time::sleep(pause).await;
                Ok::<_, Infallible>(piece)
            }))
        }
        Some(DeliveryFault::Cut) => {
            let sent = stream::iter(payload.first_half().into_iter().map(Ok));
            Body::from_stream(sent.chain(stream::once(async {
                // The data before an error is flushed only if the body was pending in between.
                task::yield_now().await;
                Err(cut_off())
            })))
        }
        Some(DeliveryFault::Silence(timing)) => {
            let sent = match timing {
                FaultTiming::AtOnce => Vec::new(),
                FaultTiming::Midway => payload.first_half(),
            };
            Body::from_stream(stream::iter(sent.into_iter().map(Ok)).chain(stream::once(async {
                time::sleep(SILENCE).await;
                Err(cut_off())
            })))
        }
    }
}

fn cut_off() -> io::Error {
    io::Error::other("cut off by the script")
}

/// An event with only half of its data that still ends like an event.
fn truncated_event(event: &Bytes) -> Bytes {
    const DATA: &[u8] = b"data: ";
    let start = event.windows(DATA.len()).position(|window| window == DATA).map_or(0, |at| at + DATA.len());
    let end = start + (event.len() - start) / 2;
    [&event[..end], b"\n\n"].concat().into()
}
