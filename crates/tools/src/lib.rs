//! Tools for the native agent: the tool contract and the built-in tools.
//!
//! Names and parameters are those of Claude Code's tools, since models know them. Gates decide elsewhere whether a call is
//! *permitted*; this crate executes it, and checks the file rules again for every file that it actually opens. A tool never
//! returns an error across its boundary: a failure is reported to the model as the output of the call.

mod args;
mod bash;
mod bash_output;
mod cap;
mod change;
mod context;
mod dir_entry;
mod directory;
mod edit;
mod failure;
mod fetch;
mod file_opener;
mod filter;
mod glob;
mod grep;
mod helper_main;
mod helper_process;
mod image;
mod job_log;
mod jobs;
mod kill_shell;
mod multi_edit;
mod notebook;
mod notebook_edit;
mod output;
mod outputs;
mod pdf;
mod read;
mod replace;
mod shell;
mod skill;
mod todo_write;
mod tool;
mod walk;
mod web_fetch;
mod workspace;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

pub use bash::{BashTool, DEFAULT_TIMEOUT, MAX_TIMEOUT};
pub use bash_output::BashOutputTool;
pub use cap::truncate_line;
pub use change::MAX_EDIT_BYTES;
pub use context::{ProgressReporter, ToolContext};
pub use edit::EditTool;
pub use fetch::{FETCH_LIMIT, MAX_FETCH_BYTES};
pub use glob::{GlobTool, MAX_GLOB_FILES};
pub use grep::{DEFAULT_HEAD_LIMIT, GrepTool, MAX_GREP_BYTES, MAX_GREP_LINE_CHARS};
pub use helper_main::run_helper_process;
pub use helper_process::{FETCH_ARG, PDF_ARG};
pub use image::{MAX_IMAGE_BYTES, image_media_type};
pub use jobs::MAX_JOBS;
pub use kill_shell::KillShellTool;
pub use multi_edit::MultiEditTool;
pub use notebook_edit::NotebookEditTool;
pub use output::{Attachment, ToolErrorCode, ToolOutput};
pub use outputs::{MAX_OUTPUT_CHARS, MAX_SAVED_BYTES, MAX_SAVED_FILES, Outputs};
pub use pdf::{MAX_PDF_BYTES, MAX_PDF_PAGES};
pub use read::{DEFAULT_LINES, MAX_LINE_CHARS, MAX_READ_BYTES, ReadTool};
pub use skill::{FrontMatter, MAX_SKILLS, SkillTool};
pub use todo_write::TodoWriteTool;
pub use tool::{MAX_RESULT_CHARS, Tool, ToolSpec, call};
pub use web_fetch::WebFetchTool;
pub use workspace::Workspace;
pub use write::WriteTool;

/// Options of the built-in tools.
#[derive(Debug, Clone, Default)]
pub struct ToolOptions {
    /// Directories with skills, highest priority first.
    pub skills: Vec<PathBuf>,
    /// Hosts that WebFetch may use when there is no sandbox with an egress proxy: `host` or `host:port`.
    pub web_hosts: Vec<String>,
}

/// The built-in tools, all working on the same workspace.
pub fn builtin(workspace: &Arc<Workspace>, options: &ToolOptions) -> Vec<Arc<dyn Tool>> {
    let workspace = || Arc::clone(workspace);
    vec![
        Arc::new(ReadTool::new(workspace())),
        Arc::new(WriteTool::new(workspace())),
        Arc::new(EditTool::new(workspace())),
        Arc::new(MultiEditTool::new(workspace())),
        Arc::new(NotebookEditTool::new(workspace())),
        Arc::new(GlobTool::new(workspace())),
        Arc::new(GrepTool::new(workspace())),
        Arc::new(BashTool::new(workspace())),
        Arc::new(BashOutputTool::new(workspace())),
        Arc::new(KillShellTool::new(workspace())),
        Arc::new(WebFetchTool::new(workspace(), options.web_hosts.clone())),
        Arc::new(TodoWriteTool::default()),
        Arc::new(SkillTool::in_directories(&options.skills)),
    ]
}
