//! Claude Code, as it is and with `--bare`, which leaves out hooks, plugins and the like.

use std::path::Path;
use std::process::Command;

use autonoe_scripted::Server;

use super::contestant::{Contestant, Origin, Shell};
use super::install::{Package, Program};
use crate::Result;
use crate::bench::place::Place;

const PACKAGE: Package =
    Package { name: "@anthropic-ai/claude-code", version: "2.1.325", program: Program::Native("claude") };

/// Whole and bare.
pub const ALL: [Contestant; 2] = [WHOLE, BARE];

const WHOLE: Contestant = Contestant {
    name: "`claude -p`",
    origin: Origin::Package(&PACKAGE),
    shell: Shell {
        tool: "Bash",
        arguments: &[("command", "true"), ("description", "Run true")],
        success: "(Bash completed with no output)",
    },
    command: |program, place, model| claude(program, place, model, &[]),
};

const BARE: Contestant = Contestant {
    name: "`claude -p --bare`",
    command: |program, place, model| claude(program, place, model, &["--bare"]),
    ..WHOLE
};

fn claude(program: &Path, place: &Place, model: &Server, options: &[&str]) -> Result<Command> {
    let mut command = place.offline(program)?;
    command.env("ANTHROPIC_API_KEY", "test-key").env("ANTHROPIC_BASE_URL", model.base_url());
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
    command.args(["-p", "Run true ten times.", "--output-format", "stream-json", "--verbose"]);
    command.args(["--allowedTools", "Bash(true)"]).args(options);
    Ok(command)
}
