//! A vendor's agent as `autonoe` drives it: its program, its model settings and its tool names.

use std::path::PathBuf;
use std::process::Command;

use autonoe_scripted::ScriptedServer;

use super::install::{Package, install};
use crate::result::Result;

#[derive(Clone, Copy)]
pub struct BenchVendor {
    /// The name of the program and of the backend.
    pub name: &'static str,
    package: &'static Package,
    /// The environment variables for its API key and base URL.
    variables: [&'static str; 2],
    /// Replacements that turn a script for the native agent into one for this agent.
    replacements: &'static [(&'static str, &'static str)],
}

pub const CLAUDE: BenchVendor = BenchVendor {
    name: "claude",
    package: &super::claude::PACKAGE,
    variables: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
    replacements: &[],
};

pub const CODEX: BenchVendor = BenchVendor {
    name: "codex",
    package: &super::codex::PACKAGE,
    variables: ["OPENAI_API_KEY", "OPENAI_BASE_URL"],
    replacements: &[(r#"tool = "Bash", input = { command ="#, r#"tool = "exec_command", input = { cmd ="#)],
};

pub const GEMINI: BenchVendor = BenchVendor {
    name: "gemini",
    package: &super::gemini::PACKAGE,
    variables: ["GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"],
    replacements: &[(r#"tool = "Bash""#, r#"tool = "run_shell_command""#)],
};

impl BenchVendor {
    /// Installs the agent, if needed, and returns its program.
    pub fn install(&self) -> Result<PathBuf> {
        install(self.package)
    }

    pub fn use_model(&self, command: &mut Command, model: &ScriptedServer) {
        let [key, address] = self.variables;
        command.env(key, "test-key").env(address, model.base_url());
    }

    pub fn translate(&self, script: &str) -> String {
        self.replacements.iter().fold(script.to_owned(), |script, (ours, its)| script.replace(ours, its))
    }
}
