//! The level of thinking, for agents and models that take no budget in tokens.

/// Budgets up to this many tokens request low effort.
const LOW_UP_TO: u32 = 4_096;

/// Budgets up to this many tokens request medium effort, larger ones high effort.
const MEDIUM_UP_TO: u32 = 16_384;

pub(crate) fn effort(tokens: u32) -> &'static str {
    if tokens <= LOW_UP_TO {
        "low"
    } else if tokens <= MEDIUM_UP_TO {
        "medium"
    } else {
        "high"
    }
}
