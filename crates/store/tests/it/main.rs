//! State on disk as the next process sees it: real files, real databases, real kills.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod damage;
mod events;
mod history;
mod killed;
mod lock;
mod passes;
mod project;
mod recovery;
mod runs;
mod status;
mod support;
