//! The backends, one file each. Nobody else knows a vendor.

pub mod acp;
pub mod claude;
mod emit;
pub mod gemini;
mod guides;
mod native;
mod vendor;

pub use acp::AcpBackend;
pub use claude::ClaudeBackend;
pub use gemini::GeminiBackend;
pub use native::{NativeBackend, NativeSettings, PhaseRules};
pub use vendor::{Login, ModelService, VendorSettings};
