//! What is wrong with a turn of a script.

/// The longest delay of a `slow` fault, per piece.
pub(super) const MAX_SLOW_MILLIS: u64 = 60_000;

/// The largest `times` of a fault.
pub(super) const MAX_TIMES: u32 = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TurnError {
    #[error("a turn needs `text`, `thinking`, `call` or `fault`")]
    Nothing,
    #[error("`expect`, `usage` and `stop` need a turn with a reply; this turn has only a fault")]
    NoReply,
    #[error("`text` and `thinking` must not be empty; leave them out instead")]
    EmptyText,
    #[error("`tool` must name a tool")]
    NoTool,
    #[error("`input` must be a table, or a string to be sent verbatim")]
    Input,
    #[error("`reasoning` is part of `output` and must not exceed it")]
    Reasoning,
    #[error("a `status` fault needs `status`")]
    NoStatus,
    #[error("`status` must be from 400 to 599, got {0}")]
    Status(u16),
    #[error("`status` is only for faults of kind `status`")]
    StrayStatus,
    #[error("`millis` must be at most {MAX_SLOW_MILLIS}, got {0}")]
    Millis(u64),
    #[error("`times` must be from 1 to {MAX_TIMES}, got {0}")]
    Times(u32),
    #[error("the value of header `{0}` is not a valid HTTP header value")]
    HeaderValue(String),
    #[error("`{0}` is not a valid HTTP header name")]
    HeaderName(String),
    #[error("use `retry_after` or `retry_after_ms`, not both")]
    RetryTwice,
}
