//! Telemetry as an OTLP collector sees it: every test asserts on what arrives over the wire.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod collector_failures;
mod content;
mod exported_run;
mod fake_collector;
mod sample_events;
mod variables;
