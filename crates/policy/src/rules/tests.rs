//! Runs the examples of every rule in a small project.

use std::fs;
use std::path::PathBuf;

use autonoe_core::mode::Mode;
use tempfile::TempDir;

use super::rule::RuleExample;
use super::{RULES, devscript, verification};
use crate::policy::CommandPolicy;
use crate::policy_options::PolicyOptions;

struct RuleFixture {
    _home: TempDir,
    root: PathBuf,
}

fn fixture() -> RuleFixture {
    let home = TempDir::new().expect("temporary directory");
    let root = home.path().canonicalize().expect("exists").join("proj");
    for directory in ["src", "lib", "dist", "bin", ".git/hooks", ".autonoe", ".claude"] {
        fs::create_dir_all(root.join(directory)).expect("made");
    }
    for file in ["a.txt", "src/a.js", "bin/dev.sh", "bin/other.sh", ".autonoe/status.json"] {
        fs::write(root.join(file), "").expect("written");
    }
    RuleFixture { _home: home, root }
}

fn policy(fixture: &RuleFixture, mode: Mode, allow_destructive: bool) -> CommandPolicy {
    CommandPolicy::new(PolicyOptions { allow_destructive, ..PolicyOptions::new(mode, &fixture.root) })
}

#[test]
fn every_rule_matches_its_examples() {
    let fixture = fixture();
    let run = policy(&fixture, Mode::Run, false);
    let sync = policy(&fixture, Mode::Sync, true);
    let destructive = policy(&fixture, Mode::Run, true);
    let examples = RULES.iter().flat_map(|rules| rules.iter()).flat_map(|rule| rule.examples);
    let mut failures = Vec::new();
    for example in examples.chain(devscript::EXAMPLES).chain(verification::EXAMPLES) {
        let RuleExample { command, .. } = example;
        for (name, policy, expected) in [
            ("run", &run, example.run),
            ("sync", &sync, example.sync),
            ("destructive", &destructive, example.destructive),
        ] {
            let verdict = policy.check(command);
            if verdict.is_allowed() != expected {
                failures.push(format!(
                    "{name}: {command:?}: expected allowed = {expected}, got {} {}",
                    verdict.rule, verdict.reason
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
