//! Claude Code, as it is and with `--bare`, which leaves out hooks, plugins and the like.

use std::path::Path;
use std::process::Command;

use autonoe_scripted::Server;

use super::contestant::{Contestant, Origin, Shell};
use super::install::{Package, Program};
use crate::Result;
use crate::bench::place::Place;

pub(super) const PACKAGE: Package =
    Package { name: "@anthropic-ai/claude-code", version: "2.1.325", program: Program::Native("claude") };

/// Whole, bare, and driven by ours.
pub const ALL: [Contestant; 3] = [WHOLE, BARE, DRIVEN];

const WHOLE: Contestant = Contestant {
    name: "`claude -p`",
    origin: Origin::Package(&PACKAGE),
    shell: Shell {
        tool: "Bash",
        arguments: &[("command", "true"), ("description", "Run true")],
        success: "(Bash completed with no output)",
    },
    command: |programs, place, model| claude(&programs.vendor, place, model, &[]),
};

const BARE: Contestant = Contestant {
    name: "`claude -p --bare`",
    command: |programs, place, model| claude(&programs.vendor, place, model, &["--bare"]),
    ..WHOLE
};

const DRIVEN: Contestant = Contestant {
    name: "`autonoe run --backend claude`",
    origin: Origin::Driven { package: &PACKAGE, beside: WHOLE.name },
    command: |programs, place, model| {
        let mut command = place.drive(&programs.autonoe, "claude", &programs.vendor)?;
        command.env("ANTHROPIC_API_KEY", "test-key").env("ANTHROPIC_BASE_URL", model.base_url());
        Ok(command)
    },
    ..WHOLE
};

fn claude(program: &Path, place: &Place, model: &Server, options: &[&str]) -> Result<Command> {
    let mut command = place.offline(program)?;
    command.env("ANTHROPIC_API_KEY", "test-key").env("ANTHROPIC_BASE_URL", model.base_url());
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
    command.args(["-p", "Run true eleven times.", "--output-format", "stream-json", "--verbose"]);
    command.args(["--allowedTools", "Bash(true)"]).args(options);
    Ok(command)
}
