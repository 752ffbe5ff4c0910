//! How much of a command the policy judges itself, and how much it leaves to the sandbox.

/// The policy's level in phases that may write. Phases that only verify are judged strictly, unless what they write is thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolicyLevel {
    /// Any program may run, because the sandbox holds files, processes and network. Denied is what it cannot judge:
    /// publishing, signals to processes that are not the agent's, and turning protections off.
    Contained,
    /// Only listed commands may run, on checked paths.
    #[default]
    Strict,
}
