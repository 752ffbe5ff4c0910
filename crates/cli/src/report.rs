//! A run as one page for a reviewer: what is known of it, said once as a document, and written down in one of two forms.

mod changes;
mod cleaning;
mod content;
mod decisions;
mod deliverable;
mod document;
mod facts;
mod html;
mod markdown;

pub use content::document;
pub use facts::{Facts, gather};
pub use html::html;
pub use markdown::markdown;
