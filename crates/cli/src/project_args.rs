//! The options with which every command finds its project, and many print JSON.

use std::path::PathBuf;

use clap::Args;

/// Project selection
#[derive(Debug, Clone, Args)]
pub struct ProjectArgs {
    /// Project directory [default: the current directory]
    #[arg(long, short = 'p', value_name = "DIR")]
    pub project_dir: Option<PathBuf>,
}

/// Options of commands that show something of a project
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub project: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
