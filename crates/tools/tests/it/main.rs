//! The built-in tools, called as an agent calls them, on real files and real processes.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod bash;
mod edit;
mod read;
mod search;
mod specs;
mod support;
mod swap;
mod write;
