//! A recursive-descent parser for the part of bash that the policy understands. It refuses everything else, and judges
//! nothing.
//!
//! Why not a crate: a misread word would let a denied command through, and the best parser found (`brush-parser` 0.4)
//! reads `( (rm x) )` as arithmetic, ends `$(a # )⏎rm x)` inside the comment, needs exponential time for nested quotes
//! and subscripts, and panics on `99999999999>x`. This parser reads each character once, limits nesting, and finds the
//! end of a substitution as bash does: by parsing it.

pub mod ast;
mod compound;
mod cursor;
mod expansion;
mod heredoc;
mod parser;
mod value_kind;
mod word;

pub use parser::parse;
pub use value_kind::is_number;

/// The longest command that is parsed, in bytes.
pub const MAX_LENGTH: usize = 128 * 1024;

/// The maximum nesting depth of substitutions, groups and compound commands together.
pub const MAX_DEPTH: usize = 32;

/// Why a command could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at byte {at})")]
pub struct ShellSyntaxError {
    pub message: String,
    /// The byte offset in the command, or in the here-document or backquotes being parsed.
    pub at: usize,
}

#[cfg(test)]
mod tests;
