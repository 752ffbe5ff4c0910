//! Model providers behind one client. Retries of model calls live here and nowhere else.
//!
//! Today: the Anthropic Messages API, streamed. A [`Model`] takes a [`Conversation`] and gives a
//! [`Reply`]; what goes wrong comes back as the [`Outcome`](autonoe_core::outcome::Outcome) a session ends with.

mod client;
mod conversation;
mod failure;
mod price;
mod retry;
mod thinking;

pub use client::{Model, Progress, Provider, Tuning};
pub use conversation::{Call, Conversation, Reply, Stop, ToolDefinition};
pub use price::{PriceList, resolve_alias};
