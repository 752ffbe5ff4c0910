//! What a person reads about a run: its outcome in words, and the report for a reviewer.
//!
//! [`gather`] reads the facts of a run from the project's state, [`document`] arranges them as a [`Document`] without secrets, and
//! [`html`] and [`markdown`] render it. The clock and the time zone are the caller's: a page has UTC only.

mod changes;
mod checks;
mod content;
mod decisions;
mod deliverable;
mod document;
mod facts;
mod hook_files;
mod html;
mod markdown;
mod sanitize;
mod sparkline;
mod wording;

pub use changes::ChangesUnavailable;
pub use checks::{beyond_criteria, check_state, does_not_count, project_checks, says_builder};
pub use content::document;
pub use document::Document;
pub use facts::{RunFacts, gather};
pub use hook_files::{advise_on_hook_files, describe_hook_files};
pub use html::html;
pub use markdown::markdown;
pub use sanitize::{escape_controls, escape_json, one_line};
pub use sparkline::sparkline;
pub use wording::{assurance, cost};
