//! Redacts a key from a response, in case the provider echoes it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use hyper::{HeaderMap, header::HeaderValue};

/// Shorter keys are not redacted, because they would match ordinary text.
const MIN_KEY_BYTES: usize = 6;

/// A body without the key. Its length does not change, and neither do its chunks, except that a tail that may be the start
/// of the key is held back until the next chunk.
pub(crate) struct Redacted<B> {
    inner: B,
    key: Bytes,
    pending: Vec<u8>,
}

impl<B> Redacted<B> {
    pub fn new(inner: B, key: Bytes) -> Self {
        Redacted { inner, key, pending: Vec::new() }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Redacted<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        loop {
            match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    // Trailers are dropped: they belong to the connection.
                    let Ok(data) = frame.into_data() else { continue };
                    this.pending.extend_from_slice(&data);
                    redact_bytes(&mut this.pending, &this.key);
                    let ready = this.pending.len() - partial_key_at_end(&this.pending, &this.key);
                    if ready > 0 {
                        let data: Vec<u8> = this.pending.drain(..ready).collect();
                        return Poll::Ready(Some(Ok(Frame::data(data.into()))));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None if this.pending.is_empty() => return Poll::Ready(None),
                None => return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut this.pending).into())))),
            }
        }
    }
}

pub(crate) fn redact_headers(headers: &mut HeaderMap, key: &[u8]) {
    for value in headers.values_mut() {
        let mut bytes = value.as_bytes().to_vec();
        if redact_bytes(&mut bytes, key) {
            // Asterisks are valid in any header; if they ever were not, an empty value is better than the key.
            *value = HeaderValue::from_bytes(&bytes).unwrap_or(HeaderValue::from_static(""));
        }
    }
}

/// Overwrites the key with asterisks. Returns whether it occurred.
fn redact_bytes(text: &mut [u8], key: &[u8]) -> bool {
    let mut found = false;
    if key.len() < MIN_KEY_BYTES {
        return found;
    }
    let mut at = 0;
    while at + key.len() <= text.len() {
        if text[at..].starts_with(key) {
            text[at..at + key.len()].fill(b'*');
            found = true;
        }
        at += 1;
    }
    found
}

/// The number of bytes at the end of `text` that may be the start of the key.
fn partial_key_at_end(text: &[u8], key: &[u8]) -> usize {
    if key.len() < MIN_KEY_BYTES {
        return 0;
    }
    let longest = (key.len() - 1).min(text.len());
    (1..=longest).rev().find(|count| text.ends_with(&key[..*count])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Redacted;
    use bytes::Bytes;
    use http_body_util::{BodyExt, Full};
    use hyper::body::{Body, Frame};
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    struct ChunkedBody(VecDeque<&'static str>);

    impl Body for ChunkedBody {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes())))))
        }
    }

    async fn frames(pieces: &[&'static str], key: &'static str) -> Vec<String> {
        let mut body =
            Redacted::new(ChunkedBody(pieces.iter().copied().collect()), Bytes::from_static(key.as_bytes()));
        let mut frames = Vec::new();
        while let Some(Ok(frame)) = body.frame().await {
            frames.push(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap());
        }
        frames
    }

    #[tokio::test]
    async fn the_key_is_redacted_even_across_chunks() {
        let key = "sk-abcsk-x";
        for (pieces, expected) in [
            (&["say sk-abcsk-x!", "more\n\n"][..], &["say **********!", "more\n\n"][..]),
            (&["say sk-ab", "csk-x!"], &["say ", "**********!"]),
            (&["s", "k", "-", "abcsk", "-", "x"], &["**********"]),
            (&["sk-abcsk-abcsk-x"], &["sk-abc**********"]),
            (&["sk-abcsk-xsk-abcsk-x"], &["********************"]),
            (&["ends in sk-ab"], &["ends in ", "sk-ab"]),
            (&["plain", "text"], &["plain", "text"]),
        ] {
            assert_eq!(frames(pieces, key).await, expected, "{pieces:?}");
        }
        assert_eq!(frames(&["a short key"], "key").await, ["a short key"]);
    }

    #[tokio::test]
    async fn a_large_body_arrives_complete() {
        let text = "sk-".repeat(100_000);
        let body = Redacted::new(Full::new(Bytes::from(text.clone())), Bytes::from_static(b"sk-sk-secret"));
        assert_eq!(body.collect().await.unwrap().to_bytes(), text);
    }
}
