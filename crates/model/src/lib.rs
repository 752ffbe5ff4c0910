//! Model providers behind one client. Retries of model calls live here and nowhere else.
//!
//! A [`Model`] takes a [`Conversation`] and gives a [`Reply`]; what goes wrong comes back as the
//! [`SessionEnd`](autonoe_core::outcome::SessionEnd) a session ends with. Anthropic, OpenAI, Gemini, Ollama and whatever speaks
//! like OpenAI; what they disagree about stays in `dialect`, `schema`, `thinking`, `endpoint` and `failure`.

mod client;
mod code;
mod compact;
mod conversation;
mod dialect;
mod endpoint;
mod failure;
mod frames;
mod page;
mod price;
mod provider;
mod reply;
mod retry;
mod said;
mod schema;
mod thinking;
mod wait;
mod window;

pub use client::{Model, Models, Progress, Tuning};
pub use code::ModelErrorCode;
pub use conversation::{Conversation, Image, ToolDefinition, ToolResult};
pub use price::{LongPrice, Price, PriceList, resolve_alias};
pub use provider::{ModelChoice, Provider, ProviderKind};
pub use reply::{Call, Reply, Stop};
