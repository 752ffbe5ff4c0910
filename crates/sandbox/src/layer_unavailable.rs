//! Why a sandbox layer cannot be used on this machine.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayerUnavailable {
    #[error("bwrap is not installed")]
    NoBubblewrap,
    #[error("Landlock is not available: {0}")]
    NoLandlock(String),
    #[error("kernel.yama.ptrace_scope is above 1, so arguments of system calls cannot be read")]
    PtraceScope,
}
