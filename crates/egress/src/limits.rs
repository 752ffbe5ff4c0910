//! The limits of the egress proxy.

use std::time::Duration;

/// Connections served at the same time; further ones wait to be accepted.
pub const MAX_CONNECTIONS: usize = 256;

/// Bytes of a request line plus headers.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Number of headers in a request.
pub const MAX_HEADERS: usize = 100;

/// How long a client may take to send the head of a request. An idle keep-alive connection is closed after this time too.
pub const HEAD_LIMIT: Duration = Duration::from_secs(30);

/// How long DNS lookup plus connecting may take.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(15);

/// A tunnel or a response that carries no data for this long is closed.
pub const IDLE_LIMIT: Duration = Duration::from_secs(600);

/// Refused hosts that are recorded; further ones are refused but not reported.
pub const MAX_REFUSALS: usize = 1000;

/// The pause after a failed `accept`, for instance when no file descriptors are left.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
