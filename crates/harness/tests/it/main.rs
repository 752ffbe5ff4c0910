//! The library as its users see it, and the contracts of the seed that it keeps.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod documentation;
mod overnight;
mod seed_004;
