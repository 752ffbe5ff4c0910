//! Ours, as a user runs it: `autonoe run` on a project with one deliverable, which the session passes before its last word.

use super::contestant::{Contestant, Origin, Shell};

/// With and without its sandbox.
pub const ALL: [Contestant; 2] = [SANDBOXED, BARE];

/// As it runs unless told otherwise.
pub const SANDBOXED: Contestant = Contestant {
    name: "`autonoe run`, in its sandbox",
    origin: Origin::Ours,
    shell: SHELL,
    command: |programs, place, model| Ok(place.run(&programs.autonoe, model)),
};

const BARE: Contestant = Contestant {
    name: "`autonoe run --no-sandbox`",
    command: |programs, place, model| {
        let mut command = place.run(&programs.autonoe, model);
        command.arg("--no-sandbox");
        Ok(command)
    },
    ..SANDBOXED
};

const SHELL: Shell = Shell { tool: "Bash", arguments: &[("command", "true")], success: "(no output)" };
