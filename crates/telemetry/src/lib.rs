//! Telemetry: shows a run to an OpenTelemetry collector, as traces and metrics over OTLP.
//!
//! A trace is the run, in it sessions, in them model calls and tool calls, with the ids that `core` gave them and the
//! names of the conventions for generative AI. Off unless configured. A collector that is dead, slow or refusing costs
//! a run nothing: what it does not take is counted and dropped.
//!
//! `settings` say where to, `sink` makes spans and measurements of events, `delivery` takes them away in the
//! background, `carrier` brings them to the collector.

mod carrier;
mod content;
mod conventions;
mod delivery;
mod delivery_stats;
mod grpc;
mod meters;
mod open_span;
mod provider;
mod settings;
mod sink;
mod telemetry;
mod variables;

pub use settings::{Collector, Header, Protocol, Proxy, Sampler, Signal, TelemetrySettings};
pub use sink::TelemetrySink;
pub use telemetry::Telemetry;
