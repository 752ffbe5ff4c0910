//! The shell's language, as far as the policy understands it: a recursive-descent parser for bash that refuses
//! whatever it does not know. It judges nothing.
//!
//! Why not a crate: what a word *means* decides here, and the best one found (`brush-parser` 0.4) reads
//! `( (rm x) )` as arithmetic, ends `$(a # )⏎rm x)` inside the comment, needs exponential time for nested
//! quotes and subscripts and panics on `99999999999>x`. This one reads each character once, nests to a fixed
//! depth, and finds the end of a substitution the way bash does: by parsing it.

pub mod ast;
mod compound;
mod content;
mod cursor;
mod expansion;
mod heredoc;
mod parser;
mod word;

pub use content::is_number;
pub use parser::parse;

/// The longest command that is read, in bytes.
pub const MAX_LENGTH: usize = 128 * 1024;

/// How deep substitutions, groups and compound commands may nest, all counted together.
pub const MAX_DEPTH: usize = 32;

/// Why a command could not be understood, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at byte {at})")]
pub struct SyntaxError {
    /// What is wrong, as a phrase.
    pub what: String,
    /// The byte offset, in the command or in the here-document or backquotes being read.
    pub at: usize,
}

#[cfg(test)]
mod tests;
