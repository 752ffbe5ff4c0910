//! The same binary makes the same release, byte for byte: archives, packages, bill of materials, provenance, sums and their signature.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::build::BuiltProgram;
use super::output::{OutputDirectory, differences};
use super::package;
use super::release::example;
use super::signature::throwaway_key;
use super::target::TARGETS;

/// Answers what a release asks its binary.
const PROGRAM: &str = "#!/bin/sh
case $1 in
    man) echo '.TH autonoe' >\"$3/autonoe.1\"; echo '.TH run' >\"$3/autonoe-run.1\" ;;
    completions) echo \"completions for $2\" ;;
esac
";

fn make(program: &Path, key: &Path, output: &Path) {
    let here = TARGETS.iter().find(|target| target.runs_here()).unwrap();
    let program = BuiltProgram { target: here, file: program.to_owned() };
    let mut output = OutputDirectory::create(output).unwrap();
    package(&example(), &[program], Some(key), &mut output).unwrap();
}

#[test]
fn the_same_binary_makes_the_same_release() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let program = path("autonoe");
    fs::write(&program, PROGRAM).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let key = throwaway_key(directory.path(), "key");
    make(&program, &key, &path("one"));
    // What the time, the names of directories and the user's mask must not change.
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    make(&program, &key, &path("other"));
    assert_eq!(differences(&path("one"), &path("other")).unwrap(), Vec::<String>::new());
    let names: Vec<_> = fs::read_dir(path("one")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    for wanted in ["SHA256SUMS.sig", "autonoe.rb", "flake.nix", "install.sh", "autonoe-1.2.3.tgz"] {
        assert!(names.iter().any(|name| name == wanted), "{wanted}: {names:?}");
    }
    fs::write(&program, format!("{PROGRAM}# changed\n")).unwrap();
    make(&program, &key, &path("other"));
    assert!(differences(&path("one"), &path("other")).unwrap().len() > 5, "another binary");
}
