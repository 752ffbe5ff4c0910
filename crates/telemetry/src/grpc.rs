//! The little of gRPC that OTLP needs: one message there, one message back, and a status behind it. HTTP/2 itself, TLS
//! and proxies are the HTTP client's, as for every other request of ours.

use bytes::{BufMut, Bytes, BytesMut};
use percent_encoding::percent_decode_str;
use reqwest::header::HeaderMap;

/// The type of requests and answers.
pub const CONTENT_TYPE: &str = "application/grpc";

/// Before each message stands whether it is packed, and how long it is.
const PREFIX: usize = 5;

/// A message as it goes into a request.
pub fn frame(message: &[u8]) -> Option<Bytes> {
    let length = u32::try_from(message.len()).ok()?;
    let mut framed = BytesMut::with_capacity(PREFIX + message.len());
    framed.put_u8(0);
    framed.put_u32(length);
    framed.put_slice(message);
    Some(framed.freeze())
}

/// The message in an answer; none when there is none that we can read.
pub fn unframe(mut body: Bytes) -> Option<Bytes> {
    let prefix = (body.len() >= PREFIX).then(|| body.split_to(PREFIX))?;
    let length = u32::from_be_bytes(prefix[1..].try_into().ok()?);
    let is_whole = prefix[0] == 0 && usize::try_from(length) == Ok(body.len());
    is_whole.then_some(body)
}

/// How a call went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// 0 is well.
    pub code: u32,
    /// What else was said.
    pub message: String,
}

impl Status {
    /// Behind the answer, or in front of it when there is none.
    pub fn read(trailers: Option<&HeaderMap>, headers: &HeaderMap) -> Option<Self> {
        let fields = [trailers, Some(headers)].into_iter().flatten();
        let fields = fields.into_iter().find(|fields| fields.contains_key("grpc-status"))?;
        let text = |name: &str| fields.get(name).and_then(|value| value.to_str().ok());
        let message = percent_decode_str(text("grpc-message").unwrap_or_default());
        let message = message.decode_utf8_lossy().into_owned();
        Some(Self { code: text("grpc-status")?.parse().ok()?, message })
    }

    /// Whether OTLP lets us try again: cancelled, late, exhausted, aborted, out of range, unavailable, lost.
    pub fn is_passing(&self) -> bool {
        matches!(self.code, 1 | 4 | 8 | 10 | 11 | 14 | 15)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{frame, unframe};

    #[test]
    fn what_is_framed_comes_out_again() {
        let framed = frame(b"abc").expect("short");
        assert_eq!(&framed[..], b"\0\0\0\0\x03abc");
        assert_eq!(unframe(framed).as_deref(), Some(&b"abc"[..]));
    }

    #[test]
    fn what_is_no_frame_is_nothing() {
        for broken in [&b""[..], b"\0\0\0", b"\x01\0\0\0\x01a", b"\0\0\0\0\x09a"] {
            assert_eq!(unframe(Bytes::from_static(broken)), None);
        }
    }
}
