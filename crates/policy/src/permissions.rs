//! The grammar of permission rules of seed 002 §5.4, such as `Read(./**)`, `Bash(npm run *)` or
//! `WebFetch(https://api.example.com/*)`. A rule can only allow; `permission_set` decides which calls a list of rules
//! covers.

pub mod command_pattern;
pub mod files;
pub mod path_pattern;
pub mod permission_rule;
pub mod rule_error;
pub mod url_pattern;
