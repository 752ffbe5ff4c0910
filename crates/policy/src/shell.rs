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
pub use value_kind::{is_number, variables_in};

#[cfg(test)]
mod tests;
