//! Every bound of the egress proxy, in one place.

use std::time::Duration;

/// Connections served at once; further ones wait to be accepted.
pub const MAX_CONNECTIONS: usize = 256;

/// Bytes of a request line and its headers.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Headers of a request.
pub const MAX_HEADERS: usize = 100;

/// How long a client may take to send a request's head. A kept connection without a request ends after it too.
pub const HEAD_LIMIT: Duration = Duration::from_secs(30);

/// How long looking up and reaching a host may take.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(15);

/// How long a tunnel may carry nothing, and how long an answer may be silent, before it is closed.
pub const IDLE_LIMIT: Duration = Duration::from_secs(600);

/// Refused hosts that are remembered; later ones are refused all the same but not reported.
pub const MAX_REFUSALS: usize = 1000;

/// The pause after a connection that could not be accepted, for want of descriptors for instance.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
