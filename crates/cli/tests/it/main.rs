//! End-to-end tests: the real binary, the real native agent, a scripted model on loopback.
//!
//! Every process is started with an empty environment, its own HOME and a dummy key.
#![allow(clippy::expect_used, clippy::unwrap_used, missing_docs)]

mod acp;
mod acp_requests;
mod bad_checks;
mod bad_input;
mod binary;
mod browser;
mod checks;
mod claude;
mod codex;
mod codex_exec;
mod collector;
mod commands;
mod declarative_agents;
mod deleted_status;
mod demo;
mod disk_errors;
mod environments;
mod event_order;
mod full_disk;
mod gemini;
mod git_locks;
mod hanging_programs;
mod honesty;
mod hooks;
mod interrupt;
mod interrupted_agents;
mod junk_agents;
mod kill;
mod matrix;
mod mcp;
mod mcp_login;
mod native;
mod oauth_server;
mod outages;
mod outcomes;
mod plain_words;
mod policy;
mod project_lock;
mod quota;
mod replay;
mod report;
mod sandbox;
mod special_files;
mod structured_answers;
mod support;
mod sync;
mod terminal_escapes;
mod tls;
mod unread_output;
mod unseen_commits;
mod vendors;
mod workspace_attacks;
mod workspaces;
