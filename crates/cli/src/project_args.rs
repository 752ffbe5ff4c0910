//! The option with which every command finds its project.

use std::path::PathBuf;

use clap::Args;

/// Project selection
#[derive(Debug, Clone, Args)]
pub struct ProjectArgs {
    /// Project directory [default: the current directory]
    #[arg(long, short = 'p', value_name = "DIR")]
    pub project_dir: Option<PathBuf>,
}
