//! Gemini CLI, configured not to relaunch itself, which is faster.

use std::fs;
use std::path::Path;
use std::process::Command;

use autonoe_scripted::ScriptedServer;
use serde_json::json;

use super::contestant::{AgentOrigin, Contestant, ShellTool};
use super::install::{Package, PackageProgram};
use crate::bench::project::BenchProject;
use crate::result::Result;

pub(super) const PACKAGE: Package =
    Package { name: "@google/gemini-cli", version: "0.61.0", program: PackageProgram::Script("gemini") };

pub const ALL: [Contestant; 2] = [GEMINI, DRIVEN];

const DRIVEN: Contestant = Contestant {
    name: "`autonoe run --backend gemini`",
    origin: AgentOrigin::Driven { package: &PACKAGE, compared_with: GEMINI.name },
    command: |programs, project, model| {
        let mut command = project.drive(&programs.autonoe, "gemini", &programs.vendor)?;
        command.env("GEMINI_API_KEY", "test-key").env("GOOGLE_GEMINI_BASE_URL", model.base_url());
        Ok(command)
    },
    ..GEMINI
};

/// All tools are allowed; it has no sandbox of its own.
const GEMINI: Contestant = Contestant {
    name: "`gemini -p`",
    origin: AgentOrigin::Package(&PACKAGE),
    shell: ShellTool {
        tool: "run_shell_command",
        arguments: &[("command", "true"), ("description", "Run true")],
        success: "(empty)",
    },
    command: |programs, project, model| gemini(&programs.vendor, project, model),
};

fn gemini(program: &Path, project: &BenchProject, model: &ScriptedServer) -> Result<Command> {
    let settings = json!({
        "general": { "enableAutoUpdate": false, "disableAutoUpdate": true, "disableUpdateNag": true },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        // The task repeats the same call ten times.
        "model": { "disableLoopDetection": true },
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
    });
    fs::create_dir_all(project.home().join(".gemini"))?;
    fs::write(project.home().join(".gemini/settings.json"), settings.to_string())?;
    let mut command = project.offline(program)?;
    command.env("GEMINI_API_KEY", "test-key").env("GOOGLE_GEMINI_BASE_URL", model.base_url());
    command.env("GEMINI_CLI_NO_RELAUNCH", "true");
    command.args(["--yolo", "-m", "gemini-2.5-pro", "--output-format", "stream-json"]);
    command.args(["-p", "Run true eleven times."]);
    Ok(command)
}
