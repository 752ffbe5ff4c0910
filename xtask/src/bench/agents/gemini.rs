//! Gemini CLI, told not to start itself a second time, which is faster.

use std::fs;
use std::path::Path;
use std::process::Command;

use autonoe_scripted::Server;
use serde_json::json;

use super::contestant::{Contestant, Origin, Shell};
use super::install::{Package, Program};
use crate::Result;
use crate::bench::place::Place;

pub(super) const PACKAGE: Package =
    Package { name: "@google/gemini-cli", version: "0.61.0", program: Program::Script("gemini") };

/// Alone, and driven by ours.
pub const ALL: [Contestant; 2] = [GEMINI, DRIVEN];

const DRIVEN: Contestant = Contestant {
    name: "`autonoe run --backend gemini`",
    origin: Origin::Driven { package: &PACKAGE, beside: GEMINI.name },
    command: |programs, place, model| {
        let mut command = place.drive(&programs.autonoe, "gemini", &programs.vendor)?;
        command.env("GEMINI_API_KEY", "test-key").env("GOOGLE_GEMINI_BASE_URL", model.base_url());
        Ok(command)
    },
    ..GEMINI
};

/// With every tool allowed; it has no sandbox of its own.
const GEMINI: Contestant = Contestant {
    name: "`gemini -p`",
    origin: Origin::Package(&PACKAGE),
    shell: Shell {
        tool: "run_shell_command",
        arguments: &[("command", "true"), ("description", "Run true")],
        success: "(empty)",
    },
    command: |programs, place, model| gemini(&programs.vendor, place, model),
};

fn gemini(program: &Path, place: &Place, model: &Server) -> Result<Command> {
    let settings = json!({
        "general": { "enableAutoUpdate": false, "disableAutoUpdate": true, "disableUpdateNag": true },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        // Ten times the same call is the task.
        "model": { "disableLoopDetection": true },
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
    });
    fs::create_dir_all(place.home().join(".gemini"))?;
    fs::write(place.home().join(".gemini/settings.json"), settings.to_string())?;
    let mut command = place.offline(program)?;
    command.env("GEMINI_API_KEY", "test-key").env("GOOGLE_GEMINI_BASE_URL", model.base_url());
    command.env("GEMINI_CLI_NO_RELAUNCH", "true");
    command.args(["--yolo", "-m", "gemini-2.5-pro", "--output-format", "stream-json"]);
    command.args(["-p", "Run true eleven times."]);
    Ok(command)
}
