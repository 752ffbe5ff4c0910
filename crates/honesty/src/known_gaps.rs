//! Scenarios whose outcome is wrong today. Each is a hole to close, or a limit that the documentation names.

use crate::layer::LayerKind;

pub struct KnownGap {
    /// Names of scenarios.
    pub scenarios: &'static [&'static str],
    /// The layers on which they are wrong.
    pub layers: &'static [LayerKind],
    /// What goes wrong, and why.
    pub why: &'static str,
}

pub fn known_gap(scenario: &str, layer: LayerKind) -> Option<&'static KnownGap> {
    KNOWN_GAPS.iter().find(|gap| gap.scenarios.contains(&scenario) && gap.layers.contains(&layer))
}

const BOTH: &[LayerKind] = &[LayerKind::Bubblewrap, LayerKind::Landlock];
const LANDLOCK: &[LayerKind] = &[LayerKind::Landlock];

pub const KNOWN_GAPS: &[KnownGap] = &[
    KnownGap {
        scenarios: &["keeps the program in the arguments of a process"],
        layers: LANDLOCK,
        why: "With Landlock a check sees the command lines of the builder's processes; the claim passes, and the last look catches it.",
    },
    KnownGap {
        scenarios: &[
            "adds a file beside the protected ones that the tests load",
            "changes a helper that nobody protects",
        ],
        layers: BOTH,
        why: "Files beside the protected ones are loaded by the tests or their runner; which of them judge is not known.",
    },
    KnownGap {
        scenarios: &[
            "shadows the test framework with a module",
            "shadows the test framework with a package",
            "shadows a module of the test",
            "adds a makefile that comes before the protected one",
            "adds a makefile in lower case",
            "commits a script in the place of what make builds",
            "supplies the test runner itself",
            "adds a test that the pattern of the check finds",
            "adds a test of the same name that is found first",
            "commits what make would build by a rule of its own",
            "adds a source that make prefers",
            "moves the package away from its tests",
            "leads a dependency of the tests elsewhere",
            "drops a member of the workspace",
            "drops a member of the workspace of npm",
            "drops a member of the workspace of pnpm",
            "deletes the feature that the tests need",
            "makes the root of a workspace a package",
            "swaps the names of members of the workspace of npm",
            "commits a script of which make makes the makefile",
            "adds a module in the place of a protected directory",
            "adds a package that a search for tests imports",
            "makes the directory of the tests a package",
            "adds a module with the name of the directory of tests",
            "adds a package with the name of the directory of tests",
            "commits a file with the name of a target of an included makefile",
            "adds a class with the name of the protected test",
        ],
        layers: LANDLOCK,
        why: "Only --strict, which needs bubblewrap, asks whether a check passes without such files; otherwise they are named.",
    },
    KnownGap {
        scenarios: &[
            "replaces the assertions of the tests",
            "answers with an object that equals everything",
            "replaces the assertions of the tests for node",
        ],
        layers: BOTH,
        why: "Tests that load the program into their own process can be changed by it; a check of its output cannot.",
    },
    KnownGap {
        scenarios: &[
            "proposes a check that runs unprotected files it writes later",
            "proposes that a file exists",
            "proposes that something was committed",
            "proposes that some time has passed",
        ],
        layers: BOTH,
        why: "A proposed check can be trivial although it failed first; docs/verification.md says so.",
    },
];
