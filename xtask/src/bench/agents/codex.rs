//! Codex, started from its own binary, which is faster than npm's wrapper script.

use std::fs;
use std::path::Path;
use std::process::Command;

use autonoe_scripted::ScriptedServer;

use super::contestant::{AgentOrigin, Contestant, ShellTool};
use super::install::{Package, PackageProgram};
use crate::bench::project::BenchProject;
use crate::result::Result;

pub(super) const PACKAGE: Package =
    Package { name: "@openai/codex", version: "0.166.0", program: PackageProgram::Native("codex") };

pub const ALL: [Contestant; 3] = [BARE, SANDBOXED, DRIVEN];

const BARE: Contestant = Contestant {
    name: "`codex exec`, no sandbox",
    origin: AgentOrigin::Package(&PACKAGE),
    shell: ShellTool { tool: "exec_command", arguments: &[("cmd", "true")], success: "exited with code 0" },
    command: |programs, project, model| codex(&programs.vendor, project, model, "danger-full-access"),
};

const SANDBOXED: Contestant = Contestant {
    name: "`codex exec`, in its sandbox",
    command: |programs, project, model| codex(&programs.vendor, project, model, "workspace-write"),
    ..BARE
};

const DRIVEN: Contestant = Contestant {
    name: "`autonoe run --backend codex`",
    origin: AgentOrigin::Driven { package: &PACKAGE, compared_with: SANDBOXED.name },
    command: |programs, project, model| {
        let mut command = project.drive(&programs.autonoe, "codex", &programs.vendor)?;
        command.env("OPENAI_API_KEY", "test-key").env("OPENAI_BASE_URL", model.base_url());
        Ok(command)
    },
    ..BARE
};

/// Writes the settings file for each run, since it contains the model's port.
fn codex(program: &Path, project: &BenchProject, model: &ScriptedServer, sandbox: &str) -> Result<Command> {
    let settings = SETTINGS.replace("{base_url}", &model.base_url());
    fs::create_dir_all(project.home().join(".codex"))?;
    fs::write(project.home().join(".codex/config.toml"), settings)?;
    let mut command = project.offline(program)?;
    command.env("SCRIPTED_KEY", "test-key");
    command.args(["exec", "--json", "--skip-git-repo-check", "-s", sandbox, "Run true eleven times."]);
    Ok(command)
}

/// Codex offers tools by model; this model gets a shell.
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
