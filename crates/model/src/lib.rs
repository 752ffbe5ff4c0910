//! Model providers behind one client. Model calls are retried here and nowhere else.
//!
//! A [`Model`] answers a [`Conversation`] with a [`Reply`]; a failed call returns the
//! [`SessionEnd`](autonoe_core::outcome::SessionEnd) that the session ends with. Anthropic, OpenAI, Gemini,
//! Ollama and OpenAI-compatible servers; their differences stay in `dialect`, `schema`, `thinking`,
//! `endpoint` and `failure`.

mod client;
mod code;
mod compact;
mod conversation;
mod dialect;
mod endpoint;
mod failure;
mod frame_splitter;
mod frames;
mod model_choice;
mod price;
mod provider;
mod provider_error;
mod quota_message;
mod reply;
mod retry;
mod retry_after;
mod schema;
mod thinking;
mod transport;
mod web_page;
mod window;

pub use client::{Model, ModelClient, ReplyProgress, Tuning};
pub use code::ModelErrorCode;
pub use conversation::{Conversation, Image, ToolDefinition, ToolResult};
pub use model_choice::ModelChoice;
pub use price::{LongPrice, Price, PriceList, resolve_alias};
pub use provider::{Provider, ProviderKind};
pub use quota_message::{GRACE as QUOTA_GRACE, QuotaNotice, Reset, read_quota_message};
pub use reply::{FinishReason, Reply, RequestedCall};
