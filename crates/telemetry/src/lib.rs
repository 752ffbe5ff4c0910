//! Telemetry: exports a run to an OpenTelemetry collector, as traces and metrics over OTLP.
//!
//! A trace contains the run, its sessions, and their model calls and tool calls, with the ids that `core` assigned and the
//! names of the semantic conventions for generative AI. Telemetry is off unless configured. A collector that is down, slow
//! or rejecting never delays a run: what it does not accept is counted and dropped.
//!
//! `settings` says where to send, `sink` turns events into spans and measurements, `export` sends them in the background
//! through `otlp_client`.

mod content;
mod conventions;
mod export;
mod export_stats;
mod grpc;
mod meters;
mod open_span;
mod otlp_client;
mod provider;
mod settings;
mod sink;
mod telemetry;
mod variables;

pub use settings::{CollectorSettings, Header, Protocol, Proxy, Sampler, Signal, TelemetrySettings};
pub use sink::TelemetrySink;
pub use telemetry::Telemetry;
