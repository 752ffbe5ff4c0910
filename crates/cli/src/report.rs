//! The report of a run for a reviewer: facts are gathered, arranged as a document, and rendered as HTML or Markdown.

mod changes;
mod content;
mod decisions;
mod deliverable;
mod document;
mod facts;
mod html;
mod markdown;
mod sanitize;

pub use content::document;
pub use facts::{RunFacts, gather};
pub use html::html;
pub use markdown::markdown;
