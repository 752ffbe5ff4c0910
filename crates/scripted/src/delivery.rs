//! How an encoded reply leaves the server: whole, or spoilt by a fault. The same for every wire format.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio::{task, time};

use crate::reply::{Moment, Spoil};

/// How long a `silence` fault lasts if the client does not go away before.
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

    /// The pieces that a client sees arrive: events, or the two halves of a document.
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

    /// The same with broken JSON: a truncated document, or one truncated event among whole ones.
    fn broken(self) -> Payload {
        match self {
            Payload::Stream(mut events) => {
                // Not the last one, which need not be JSON.
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

/// The response body for a reply.
pub(crate) fn body(payload: Payload, spoil: Option<Spoil>) -> Body {
    match spoil {
        None => payload.whole(),
        Some(Spoil::Malformed) => payload.broken().whole(),
        Some(Spoil::Slow(pause)) => {
            Body::from_stream(stream::iter(payload.pieces()).then(move |piece| async move {
                time::sleep(pause).await;
                Ok::<_, Infallible>(piece)
            }))
        }
        Some(Spoil::Cut) => {
            let sent = stream::iter(payload.first_half().into_iter().map(Ok));
            Body::from_stream(sent.chain(stream::once(async {
                // What precedes an error is flushed only if the body was pending in between.
                task::yield_now().await;
                Err(broken_off())
            })))
        }
        Some(Spoil::Silence(moment)) => {
            let sent = match moment {
                Moment::AtOnce => Vec::new(),
                Moment::Midway => payload.first_half(),
            };
            Body::from_stream(stream::iter(sent.into_iter().map(Ok)).chain(stream::once(async {
                time::sleep(SILENCE).await;
                Err(broken_off())
            })))
        }
    }
}

fn broken_off() -> io::Error {
    io::Error::other("broken off by the script")
}

/// An event with only half of its data, but still an event to who reads the stream.
fn truncated_event(event: &Bytes) -> Bytes {
    const DATA: &[u8] = b"data: ";
    let start = event.windows(DATA.len()).position(|window| window == DATA).map_or(0, |at| at + DATA.len());
    let end = start + (event.len() - start) / 2;
    [&event[..end], b"\n\n"].concat().into()
}
