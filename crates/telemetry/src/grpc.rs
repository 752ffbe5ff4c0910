//! The part of gRPC that OTLP needs: unary calls with one message each way and a trailing status. HTTP/2, TLS and
//! proxies are left to the HTTP client, as for all our other requests.

use bytes::{BufMut, Bytes, BytesMut};
use percent_encoding::percent_decode_str;
use reqwest::header::HeaderMap;

pub const CONTENT_TYPE: &str = "application/grpc";

/// Bytes before each message: a compression flag and a 32-bit length.
const PREFIX: usize = 5;

/// Adds the length prefix. `None` if the message is longer than 32 bits can express.
pub fn frame(message: &[u8]) -> Option<Bytes> {
    let length = u32::try_from(message.len()).ok()?;
    let mut framed = BytesMut::with_capacity(PREFIX + message.len());
    framed.put_u8(0);
    framed.put_u32(length);
    framed.put_slice(message);
    Some(framed.freeze())
}

/// Removes the length prefix. `None` if the body is compressed or not exactly one message.
pub fn unframe(mut body: Bytes) -> Option<Bytes> {
    let prefix = (body.len() >= PREFIX).then(|| body.split_to(PREFIX))?;
    let length = u32::from_be_bytes(prefix[1..].try_into().ok()?);
    let is_complete = prefix[0] == 0 && usize::try_from(length) == Ok(body.len());
    is_complete.then_some(body)
}

/// The status of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrpcStatus {
    /// 0 is OK.
    pub code: u32,
    pub message: String,
}

impl GrpcStatus {
    /// Reads the status from the trailers, or from the headers of a response without a body.
    pub fn read(trailers: Option<&HeaderMap>, headers: &HeaderMap) -> Option<Self> {
        let fields = [trailers, Some(headers)].into_iter().flatten();
        let fields = fields.into_iter().find(|fields| fields.contains_key("grpc-status"))?;
        let text = |name: &str| fields.get(name).and_then(|value| value.to_str().ok());
        let message = percent_decode_str(text("grpc-message").unwrap_or_default());
        let message = message.decode_utf8_lossy().into_owned();
        Some(Self { code: text("grpc-status")?.parse().ok()?, message })
    }

    /// Whether the OTLP specification allows a retry: CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED,
    /// OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS.
    pub fn is_transient(&self) -> bool {
        matches!(self.code, 1 | 4 | 8 | 10 | 11 | 14 | 15)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{frame, unframe};

    #[test]
    fn unframe_reverses_frame() {
        let framed = frame(b"abc").expect("short");
        assert_eq!(&framed[..], b"\0\0\0\0\x03abc");
        assert_eq!(unframe(framed).as_deref(), Some(&b"abc"[..]));
    }

    #[test]
    fn a_malformed_frame_is_none() {
        for broken in [&b""[..], b"\0\0\0", b"\x01\0\0\0\x01a", b"\0\0\0\0\x09a"] {
            assert_eq!(unframe(Bytes::from_static(broken)), None);
        }
    }
}
