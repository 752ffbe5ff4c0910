//! Our own agent: `autonoe run` on a project with one deliverable, which the session passes before its final answer.

use super::contestant::{AgentOrigin, Contestant, ShellTool};

pub const ALL: [Contestant; 2] = [SANDBOXED, BARE];

pub const SANDBOXED: Contestant = Contestant {
    name: "`autonoe run`, in its sandbox",
    origin: AgentOrigin::Ours,
    shell: SHELL,
    command: |programs, project, model| Ok(project.run(&programs.autonoe, model)),
};

const BARE: Contestant = Contestant {
    name: "`autonoe run --no-sandbox`",
    command: |programs, project, model| {
        let mut command = project.run(&programs.autonoe, model);
        command.arg("--no-sandbox");
        Ok(command)
    },
    ..SANDBOXED
};

const SHELL: ShellTool =
    ShellTool { tool: "Bash", arguments: &[("command", "true")], success: "(no output)" };
