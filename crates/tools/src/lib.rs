//! Tools for the native agent: what a tool is, and the built-in ones.
//!
//! Names and parameters are those of Claude Code's tools, since models know them. Whether a call is
//! *permitted* is decided by gates elsewhere; here it is carried out, and the file rules are asked again
//! about every file that is really opened. A tool never fails across its boundary: what went wrong is told
//! to the model as the call's output.

mod args;
mod bash;
mod cap;
mod edit;
mod filter;
mod folder;
mod glob;
mod grep;
mod reach;
mod read;
mod spot;
mod tool;
mod walk;
mod workspace;
mod write;

use std::sync::Arc;

pub use bash::{Bash, DEFAULT_TIMEOUT, MAX_OUTPUT_CHARS, MAX_TIMEOUT};
pub use edit::{Edit, MAX_EDIT_BYTES};
pub use glob::{Glob, MAX_GLOB_FILES};
pub use grep::{DEFAULT_HEAD_LIMIT, Grep, MAX_GREP_BYTES, MAX_GREP_LINE_CHARS};
pub use read::{DEFAULT_LINES, MAX_LINE_CHARS, MAX_READ_BYTES, Read};
pub use tool::{Tool, ToolContext, ToolOutput, ToolSpec};
pub use workspace::Workspace;
pub use write::Write;

/// The built-in tools, all working on the same workspace.
pub fn builtin(workspace: Arc<Workspace>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Read::new(Arc::clone(&workspace))),
        Arc::new(Write::new(Arc::clone(&workspace))),
        Arc::new(Edit::new(Arc::clone(&workspace))),
        Arc::new(Glob::new(Arc::clone(&workspace))),
        Arc::new(Grep::new(Arc::clone(&workspace))),
        Arc::new(Bash::new(workspace)),
    ]
}
