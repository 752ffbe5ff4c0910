//! Declarative agents: a team describes its agent, its steps, its prompts and when it is done in files; this is what
//! reads those files, finds what is wrong in them, and makes of them one more plan for the one loop.
//!
//! It asks nothing of the machine itself: commands, files, services and memory are given to it.

pub mod definition;
pub mod draw;
pub mod faults;
pub mod machine;
mod outside;
pub mod parameters;
pub mod prompt;
pub mod template;
pub mod variables;

pub use outside::{CommandEnd, Notice, Outside};
