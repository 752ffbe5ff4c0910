//! The backends, one file each. No other crate knows a vendor.

pub mod acp;
mod answer;
pub mod claude;
pub mod codex;
mod effort;
mod emit;
pub mod gemini;
mod guides;
mod hook_room;
pub mod native;
pub mod replay;
mod sub_agents;
mod user_messages;
mod vendor;

pub use acp::AcpBackend;
pub use claude::ClaudeBackend;
pub use codex::{CodexBackend, UserProvider};
pub use gemini::GeminiBackend;
pub use native::{NativeBackend, NativeSettings, PhaseRules};
pub use sub_agents::sub_agent_names;
pub use vendor::{KeyPlacement, ModelService, VendorLogin, VendorProfile, VendorSettings, Version};
