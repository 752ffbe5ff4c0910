//! Integration tests of the egress proxy over real sockets on loopback.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod attacks;
mod forward;
mod malformed;
mod routes;
mod sockets;
mod support;
mod tunnels;
mod upstream;
