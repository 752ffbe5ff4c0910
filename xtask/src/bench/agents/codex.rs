//! Codex, from its own binary, which starts faster than the script that npm puts before it.

use std::fs;
use std::path::Path;
use std::process::Command;

use autonoe_scripted::Server;

use super::contestant::{Contestant, Origin, Shell};
use super::install::{Package, Program};
use crate::Result;
use crate::bench::place::Place;

pub(super) const PACKAGE: Package =
    Package { name: "@openai/codex", version: "0.166.0", program: Program::Native("codex") };

/// Without and with its sandbox, and driven by ours.
pub const ALL: [Contestant; 3] = [BARE, SANDBOXED, DRIVEN];

const BARE: Contestant = Contestant {
    name: "`codex exec`, no sandbox",
    origin: Origin::Package(&PACKAGE),
    shell: Shell { tool: "exec_command", arguments: &[("cmd", "true")], success: "exited with code 0" },
    command: |programs, place, model| codex(&programs.vendor, place, model, "danger-full-access"),
};

const SANDBOXED: Contestant = Contestant {
    name: "`codex exec`, in its sandbox",
    command: |programs, place, model| codex(&programs.vendor, place, model, "workspace-write"),
    ..BARE
};

const DRIVEN: Contestant = Contestant {
    name: "`autonoe run --backend codex`",
    origin: Origin::Driven { package: &PACKAGE, beside: SANDBOXED.name },
    command: |programs, place, model| {
        let mut command = place.drive(&programs.autonoe, "codex", &programs.vendor)?;
        command.env("OPENAI_API_KEY", "test-key").env("OPENAI_BASE_URL", model.base_url());
        Ok(command)
    },
    ..BARE
};

/// Its settings are a file, which names the port and so is written for each run.
fn codex(program: &Path, place: &Place, model: &Server, sandbox: &str) -> Result<Command> {
    let settings = SETTINGS.replace("{base_url}", &model.base_url());
    fs::create_dir_all(place.home().join(".codex"))?;
    fs::write(place.home().join(".codex/config.toml"), settings)?;
    let mut command = place.offline(program)?;
    command.env("SCRIPTED_KEY", "test-key");
    command.args(["exec", "--json", "--skip-git-repo-check", "-s", sandbox, "Run true eleven times."]);
    Ok(command)
}

/// The model decides the tools: this one has a shell.
const SETTINGS: &str = r#"
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
remote_plugin = false
plugin_discovery_prefetch = false
[model_providers.scripted]
name = "scripted"
base_url = "{base_url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
supports_websockets = false
"#;
