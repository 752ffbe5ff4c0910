//! Claude Code: plain, with `--bare` (without hooks, plugins and the like), and driven by `autonoe`.

use std::path::Path;
use std::process::Command;

use autonoe_scripted::ScriptedServer;

use super::contestant::{AgentOrigin, Contestant, ShellTool};
use super::install::{Package, PackageProgram};
use crate::bench::project::BenchProject;
use crate::result::Result;

pub(super) const PACKAGE: Package = Package {
    name: "@anthropic-ai/claude-code",
    version: "2.1.325",
    program: PackageProgram::Native("claude"),
};

pub const ALL: [Contestant; 3] = [WHOLE, BARE, DRIVEN];

const WHOLE: Contestant = Contestant {
    name: "`claude -p`",
    origin: AgentOrigin::Package(&PACKAGE),
    shell: ShellTool {
        tool: "Bash",
        arguments: &[("command", "true"), ("description", "Run true")],
        success: "(Bash completed with no output)",
    },
    command: |programs, project, model| claude(&programs.vendor, project, model, &[]),
};

const BARE: Contestant = Contestant {
    name: "`claude -p --bare`",
    command: |programs, project, model| claude(&programs.vendor, project, model, &["--bare"]),
    ..WHOLE
};

const DRIVEN: Contestant = Contestant {
    name: "`autonoe run --backend claude`",
    origin: AgentOrigin::Driven { package: &PACKAGE, compared_with: WHOLE.name },
    command: |programs, project, model| {
        let mut command = project.drive(&programs.autonoe, "claude", &programs.vendor)?;
        command.env("ANTHROPIC_API_KEY", "test-key").env("ANTHROPIC_BASE_URL", model.base_url());
        Ok(command)
    },
    ..WHOLE
};

fn claude(
    program: &Path,
    project: &BenchProject,
    model: &ScriptedServer,
    options: &[&str],
) -> Result<Command> {
    let mut command = project.offline(program)?;
    command.env("ANTHROPIC_API_KEY", "test-key").env("ANTHROPIC_BASE_URL", model.base_url());
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
    command.args(["-p", "Run true eleven times.", "--output-format", "stream-json", "--verbose"]);
    command.args(["--allowedTools", "Bash(true)"]).args(options);
    Ok(command)
}
