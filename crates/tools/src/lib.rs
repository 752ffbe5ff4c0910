//! Tools for the native agent: what a tool is, and the built-in ones.
//!
//! Names and parameters are those of Claude Code's tools, since models know them. Whether a call is
//! *permitted* is decided by gates elsewhere; here it is carried out, and the file rules are asked again
//! about every file that is really opened. A tool never fails across its boundary: what went wrong is told
//! to the model as the call's output.

mod args;
mod bash;
mod bash_output;
mod cap;
mod change;
mod context;
mod edit;
mod failure;
mod fetch;
mod filter;
mod folder;
mod glob;
mod grep;
mod image;
mod jobs;
mod kill_shell;
mod log;
mod mcp;
mod multi_edit;
mod notebook;
mod notebook_edit;
mod output;
mod outputs;
mod parts;
mod pdf;
mod reach;
mod read;
mod replace;
mod shell;
mod skill;
mod spot;
mod todo_write;
mod tool;
mod walk;
mod web_fetch;
mod workspace;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

pub use bash::{Bash, DEFAULT_TIMEOUT, MAX_OUTPUT_CHARS, MAX_TIMEOUT};
pub use bash_output::BashOutput;
pub use change::MAX_EDIT_BYTES;
pub use context::{Progress, ToolContext};
pub use edit::Edit;
pub use fetch::{FETCH_LIMIT, MAX_FETCH_BYTES};
pub use glob::{Glob, MAX_GLOB_FILES};
pub use grep::{DEFAULT_HEAD_LIMIT, Grep, MAX_GREP_BYTES, MAX_GREP_LINE_CHARS};
pub use image::MAX_IMAGE_BYTES;
pub use jobs::MAX_JOBS;
pub use kill_shell::KillShell;
pub use mcp::{
    DEFAULT_CALL_LIMIT, DEFAULT_START_LIMIT, Login, McpHost, McpServers, Registration, Secrets, ServerConfig,
    ServerConfigError, Way,
};
pub use multi_edit::MultiEdit;
pub use notebook_edit::NotebookEdit;
pub use output::{Attachment, ToolErrorCode, ToolOutput};
pub use outputs::{MAX_SAVED_BYTES, MAX_SAVED_FILES, Outputs};
pub use parts::{FETCH_ARG, PDF_ARG, run_helper_process};
pub use pdf::{MAX_PDF_BYTES, MAX_PDF_PAGES};
pub use read::{DEFAULT_LINES, MAX_LINE_CHARS, MAX_READ_BYTES, Read};
pub use skill::{MAX_SKILLS, Skill};
pub use todo_write::TodoWrite;
pub use tool::{MAX_RESULT_CHARS, Tool, ToolSpec, call};
pub use web_fetch::WebFetch;
pub use workspace::Workspace;
pub use write::Write;

/// What the built-in tools need beside a workspace.
#[derive(Debug, Clone, Default)]
pub struct ToolOptions {
    /// Directories with skills, those that count more first.
    pub skills: Vec<PathBuf>,
    /// Hosts that may be fetched from where there is no sandbox whose egress proxy would judge: `host` or `host:port`.
    pub web_hosts: Vec<String>,
}

/// The built-in tools, all working on the same workspace.
pub fn builtin(workspace: &Arc<Workspace>, options: &ToolOptions) -> Vec<Arc<dyn Tool>> {
    let workspace = || Arc::clone(workspace);
    vec![
        Arc::new(Read::new(workspace())),
        Arc::new(Write::new(workspace())),
        Arc::new(Edit::new(workspace())),
        Arc::new(MultiEdit::new(workspace())),
        Arc::new(NotebookEdit::new(workspace())),
        Arc::new(Glob::new(workspace())),
        Arc::new(Grep::new(workspace())),
        Arc::new(Bash::new(workspace())),
        Arc::new(BashOutput::new(workspace())),
        Arc::new(KillShell::new(workspace())),
        Arc::new(WebFetch::new(workspace(), options.web_hosts.clone())),
        Arc::new(TodoWrite::default()),
        Arc::new(Skill::in_directories(&options.skills)),
    ]
}
