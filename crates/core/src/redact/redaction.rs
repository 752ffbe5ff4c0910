//! What is found in a text, before it is removed.

use std::ops::Range;

/// A range of a text that must not be shown.
pub(super) struct Redaction {
    pub(super) range: Range<usize>,
    pub(super) secret: Secret,
}

/// Of several secrets in one range, the smallest names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Secret {
    Value,
    /// Index of the shape.
    Shape(usize),
}
