//! Runs, as an OTLP collector sees them: everything here is judged by what arrives over the wire.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod arrives;
mod content;
mod receiver;
mod script;
mod trouble;
mod variables;
