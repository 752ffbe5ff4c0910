//! Every rule's examples, in a project that looks like one.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Example, RULES, devscript, verification};
use crate::policy::{CommandPolicy, Mode, PolicyOptions};

struct Place {
    _home: TempDir,
    root: PathBuf,
}

fn place() -> Place {
    let home = TempDir::new().expect("temporary directory");
    let root = home.path().canonicalize().expect("exists").join("proj");
    for directory in ["src", "lib", "dist", "bin", ".git/hooks", ".autonoe", ".claude"] {
        fs::create_dir_all(root.join(directory)).expect("made");
    }
    for file in ["a.txt", "src/a.js", "bin/dev.sh", ".autonoe/status.json"] {
        fs::write(root.join(file), "").expect("written");
    }
    Place { _home: home, root }
}

fn policy(place: &Place, mode: Mode, allow_destructive: bool) -> CommandPolicy {
    CommandPolicy::new(PolicyOptions { allow_destructive, ..PolicyOptions::new(mode, &place.root) })
}

#[test]
fn every_rule_allows_and_denies_what_its_examples_say() {
    let place = place();
    let run = policy(&place, Mode::Run, false);
    let sync = policy(&place, Mode::Sync, true);
    let destructive = policy(&place, Mode::Run, true);
    let examples = RULES.iter().flat_map(|rules| rules.iter()).flat_map(|rule| rule.examples);
    let mut wrong = Vec::new();
    for example in examples.chain(devscript::EXAMPLES).chain(verification::EXAMPLES) {
        let Example { command, .. } = example;
        for (name, policy, expected) in [
            ("run", &run, example.run),
            ("sync", &sync, example.sync),
            ("destructive", &destructive, example.destructive),
        ] {
            let verdict = policy.check(command);
            if verdict.is_allowed() != expected {
                wrong.push(format!(
                    "{name}: {command:?} should be {expected}: {} {}",
                    verdict.rule, verdict.reason
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
