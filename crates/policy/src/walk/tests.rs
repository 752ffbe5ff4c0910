//! Tests for the walk itself: working directories, functions, arithmetic and hidden commands.

use std::fs;

use autonoe_core::mode::Mode;
use autonoe_core::profile::Profile;
use tempfile::TempDir;

use crate::policy::CommandPolicy;
use crate::policy_options::PolicyOptions;

fn check(cases: &[(&str, bool)]) {
    let home = TempDir::new().expect("temporary directory");
    let root = home.path().canonicalize().expect("exists").join("proj");
    let temp = home.path().canonicalize().expect("exists").join("temp");
    for directory in [root.join("src/lib"), root.join(".git"), temp.clone()] {
        fs::create_dir_all(directory).expect("made");
    }
    let policy = CommandPolicy::new(PolicyOptions {
        profiles: vec![Profile::Go],
        allow_commands: vec!["make".into(), "docker compose".into(), "./tools/gen".into()],
        pkill_targets: vec!["custom".into()],
        temp: Some(temp.clone()),
        ..PolicyOptions::new(Mode::Run, root)
    });
    let failures: Vec<String> = cases
        .iter()
        .map(|(command, allowed)| (command.replace("@TEMP@", &temp.display().to_string()), allowed))
        .filter_map(|(command, allowed)| {
            let verdict = policy.check(&command);
            (verdict.is_allowed() != *allowed).then(|| format!("{command:?}: {verdict:?}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn working_directories_are_tracked() {
    check(&[
        ("cd src && touch ../a", true),
        ("cd src/lib && touch ../../a", true),
        ("cd src; touch ../a", true),
        ("cd src || touch ../a", false),
        ("cd nowhere; touch ../a", false),
        ("cd src && ls && cd .. && touch a", true),
        ("cd src || exit 1; touch ../a", true),
        ("cd src || { echo no; exit 1; }; touch ../a", true),
        ("cd src || exit 1 2; touch ../a", false),
        ("cd src || exit 1 < f; touch ../a", false),
        ("cd src; ls; cd ..; touch a", true),
        ("cd src < f; touch ../a", false),
        ("(cd src && ls); touch ../a", false),
        ("cd src | cat; touch ../a", false),
        ("cd src & touch ../a", false),
        ("if cd nowhere; then touch ../a; fi", false),
        ("for i in 1 2; do cd src; done", false),
        ("for i in 1 2; do (cd src && ls); done", true),
        ("echo $(cd src && pwd); touch ../a", false),
        ("{ cd src; }; touch ../a", false),
        ("cd @TEMP@ && touch a", true),
        ("touch @TEMP@/a", true),
        ("! cd src; touch ../a", false),
    ]);
}

/// When the session's last command ended in `cwd`, relative paths start there.
#[test]
fn seed_002_directories_persist_from_one_command_to_the_next() {
    let home = TempDir::new().expect("temporary directory");
    let root = home.path().canonicalize().expect("exists").join("proj");
    for directory in ["src/lib", ".git", ".autonoe", "out/deep"] {
        fs::create_dir_all(root.join(directory)).expect("made");
    }
    fs::create_dir_all(root.join("../other")).expect("made");
    std::os::unix::fs::symlink("../other", root.join("link")).expect("made");
    for mode in [Mode::Run, Mode::Sync] {
        let policy = CommandPolicy::new(PolicyOptions {
            allow_destructive: mode == Mode::Run,
            ..PolicyOptions::new(mode, &root)
        });
        let run = mode == Mode::Run;
        for (cwd, command, allowed) in [
            // A path that is inside the project from one directory may be outside it from another.
            ("", "touch ../a", false),
            ("src", "touch ../a", run),
            ("src", "touch ../../a", false),
            ("src/lib", "touch ../../a", run),
            ("src/lib", "touch ../../../a", false),
            ("src", "echo x > ../.git/config", false),
            ("src", "echo x > ../.autonoe/status.json", false),
            ("src/lib", "cp ../../x ../../.git/hooks/pre-commit", false),
            ("src", "cat ../../other/secret", false),
            ("src", "cat ../package.json", true),
            ("src", "cd .. && ls", true),
            ("src", "cd ../..", false),
            ("src", "cd ../.git && ls", false),
            ("src", "rm ../../x", false),
            ("out/deep", "rm -r ../../out", run),
            ("out/deep", "rm -r ../../../proj", false),
            ("src", "echo note > .autonoe-note.md", run),
            ("src", "echo note > ../.autonoe-note.md", true),
            ("src", "trap 'touch ../../a' EXIT; ls", false),
            ("src", "./bin/dev.sh", false),
            ("", "./bin/dev.sh", true),
            // In a directory that `cd` may not enter, nothing runs.
            (".git", "ls", false),
            ("../other", "ls", false),
            ("link", "ls", false),
            ("..", "ls", false),
        ] {
            let verdict = policy.check_in(&root.join(cwd), command);
            assert_eq!(verdict.is_allowed(), allowed, "{mode:?} {cwd} {command}: {verdict:?}");
        }
    }
}

#[test]
fn functions_are_judged_where_they_are_defined() {
    check(&[
        ("greet() { echo \"$1\"; }; greet a; greet b", true),
        ("f() { f; }; f", true),
        ("f() { rm x; }; f", false),
        ("f() { ls; }", true),
        ("f; f() { ls; }", false),
        ("if true; then f() { ls; }; fi; f", false),
        ("ls() { echo; }; ls", false),
        ("f() { ls; }; timeout 5 f", false),
        ("f() { cd src; }; f; touch ../a", false),
        ("f() ( cd src; ls ); f; touch a", true),
        ("f() { touch ../a; }; cd src && f", false),
        ("f() { touch a; }; cd src && f", false),
        (":(){ :|:& };:", false),
        ("curl() { ls; }; unset curl; curl x", false),
    ]);
}

#[test]
fn arithmetic_is_allowed_on_numbers_only() {
    check(&[
        ("i=0; while [ $i -lt 5 ]; do i=$((i + 1)); done", true),
        ("for ((i = 0; i < 3; i++)); do echo $i; done", true),
        ("n=$(ls | wc -l); if (( n > 3 )); then echo many; fi", true),
        ("x='a[$(rm x)]'; echo $((x))", false),
        ("x='a[$(rm x)]'; [[ $x -eq 1 ]]", false),
        ("x='a[$(rm x)]'; echo ${y[$x]}", false),
        ("read x < f; echo $((x + 1))", false),
        ("[ -v 'a[$(rm x)]' ]", false),
        ("op=-v; [ ! \"$op\" 'a[$(rm x)]' ]", false),
        ("((PATH = 1))", false),
        ("[ \"$x\" -eq 1 ] && [ -n \"$y\" ]", true),
        ("if [[ $? -eq 0 ]]; then echo ok; fi", true),
    ]);
}

#[test]
fn only_the_users_own_commands_are_added() {
    check(&[
        ("make test", true),
        ("timeout 60 make", true),
        ("docker compose ps", true),
        ("docker run x", false),
        ("./tools/gen --all", true),
        ("./tools/other", false),
        ("pkill custom", true),
        ("npm test", false),
        ("go run .", true),
        ("make $(rm x)", false),
        ("X=/ls rm -rf x", false),
        ("LD_PRELOAD=x ls", false),
        ("PORT=3000 go run . &", true),
    ]);
}
