//! The backends, one file each. Nobody else knows a vendor.

mod emit;
mod native;

pub use native::{NativeBackend, NativeSettings, PhaseRules};
