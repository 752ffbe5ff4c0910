//! A vendor's agent as `autonoe` drives it: its program, where its model is, and what it calls its tools.

use std::path::PathBuf;
use std::process::Command;

use autonoe_scripted::Server;

use super::install::{Package, install};
use crate::Result;

/// An agent of another vendor.
#[derive(Clone, Copy)]
pub struct Vendor {
    /// The name of its program, and of the backend.
    pub name: &'static str,
    package: &'static Package,
    /// The variables for its key and for the address of its model.
    variables: [&'static str; 2],
    /// What is called differently in a script.
    words: &'static [(&'static str, &'static str)],
}

/// Claude Code.
pub const CLAUDE: Vendor = Vendor {
    name: "claude",
    package: &super::claude::PACKAGE,
    variables: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
    words: &[],
};

/// Codex.
pub const CODEX: Vendor = Vendor {
    name: "codex",
    package: &super::codex::PACKAGE,
    variables: ["OPENAI_API_KEY", "OPENAI_BASE_URL"],
    words: &[(r#"tool = "Bash", input = { command ="#, r#"tool = "exec_command", input = { cmd ="#)],
};

/// Gemini CLI.
pub const GEMINI: Vendor = Vendor {
    name: "gemini",
    package: &super::gemini::PACKAGE,
    variables: ["GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"],
    words: &[(r#"tool = "Bash""#, r#"tool = "run_shell_command""#)],
};

impl Vendor {
    /// Installs it, unless it is there, and returns its program.
    pub fn install(&self) -> Result<PathBuf> {
        install(self.package)
    }

    /// Has it ask this model.
    pub fn ask(&self, command: &mut Command, model: &Server) {
        let [key, address] = self.variables;
        command.env(key, "test-key").env(address, model.base_url());
    }

    /// A script with its names for tools.
    pub fn in_its_words(&self, script: &str) -> String {
        self.words.iter().fold(script.to_owned(), |script, (ours, its)| script.replace(ours, its))
    }
}
