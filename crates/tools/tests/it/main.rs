//! The built-in tools, called the way an agent calls them, on real files and real processes.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod bash;
mod edit;
mod framework;
mod jobs;
mod notebook;
mod read;
mod rich_files;
mod search;
mod skill;
mod specs;
mod support;
mod swap;
mod todo;
mod web;
mod write;
