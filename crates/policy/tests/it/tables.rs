//! Rows of the specification's decision tables that the command policy implements, one test for each.

use autonoe_policy::{CommandPolicy, Mode, PolicyOptions, Profile};

use crate::fixture::TestProject;

/// A project with a policy of the strict level.
pub struct StrictProject {
    pub project: TestProject,
    pub policy: CommandPolicy,
}

pub fn strict() -> StrictProject {
    let project = TestProject::new();
    let policy = CommandPolicy::new(project.options(Mode::Run, Vec::new()));
    StrictProject { project, policy }
}

/// Asserts of all commands at once that they are allowed, or that they are denied.
pub fn judge_all(strict: &StrictProject, is_allowed: bool, commands: &[&str]) {
    let verdicts = commands.iter().map(|text| {
        let command = strict.project.substitute(text);
        (text, strict.policy.check(&command))
    });
    let wrong = verdicts.filter(|(_, verdict)| verdict.is_allowed() != is_allowed);
    let report: Vec<String> =
        wrong.map(|(text, verdict)| format!("{text:?}\n    {}: {}", verdict.rule, verdict.reason)).collect();
    assert!(
        report.is_empty(),
        "{} should be {}:\n{}",
        report.len(),
        if is_allowed { "allowed" } else { "denied" },
        report.join("\n")
    );
}

/// The commands that are allowed in an empty project.
fn allowed<'a>(mode: Mode, profiles: &[Profile], commands: &[&'a str]) -> Vec<&'a str> {
    let project = tempfile::TempDir::new().unwrap();
    let root = project.path().canonicalize().unwrap();
    let profiles = Profile::active(profiles);
    let policy = CommandPolicy::new(PolicyOptions { profiles, ..PolicyOptions::new(mode, root) });
    commands.iter().copied().filter(|command| policy.check(command).is_allowed()).collect()
}

#[test]
fn seed_002_9_4_run_uses_the_development_layer() {
    let commands = ["npm test", "npm install", "node x.js", "pip install x", "bundle install", "go run ."];
    assert_eq!(allowed(Mode::Run, &[], &commands), commands);
}

#[test]
fn seed_002_9_4_sync_uses_the_verification_layer() {
    let commands = [
        "npm test",
        "pytest",
        "rspec",
        "go test ./...",
        "npm install",
        "node x.js",
        "pip install x",
        "go run .",
    ];
    assert_eq!(allowed(Mode::Sync, &[], &commands), ["npm test", "pytest", "rspec", "go test ./..."]);
}

#[test]
fn seed_002_9_4_a_profile_brings_its_own_commands_and_no_others() {
    let commands = ["npm test", "pytest", "rspec", "go test ./...", "ls"];
    for (profile, own) in [
        (Profile::Node, "npm test"),
        (Profile::Python, "pytest"),
        (Profile::Ruby, "rspec"),
        (Profile::Go, "go test ./..."),
    ] {
        assert_eq!(allowed(Mode::Run, &[profile], &commands), [own, "ls"], "{profile}");
    }
    let two = allowed(Mode::Run, &[Profile::Node, Profile::Python], &commands);
    assert_eq!(two, ["npm test", "pytest", "ls"]);
}

#[test]
fn seed_002_9_2_safe_commands_and_git_are_available_in_run() {
    let commands =
        ["cat README.md", "git status", "git add -A && git commit -m x", "mkdir -p src", "echo a > src.txt"];
    assert_eq!(allowed(Mode::Run, &[], &commands), commands);
}

#[test]
fn seed_002_9_7_sync_reads_files_and_history_and_writes_the_note_only() {
    let commands = [
        "cat README.md",
        "git log --oneline",
        "git diff",
        "echo a >> .autonoe-note.md",
        "echo a > src.txt",
        "git checkout -- .",
        "cp a b",
    ];
    assert_eq!(allowed(Mode::Sync, &[], &commands), &commands[..4]);
}
