//! Tests the policy against real bash. Allowed commands run in the [bash sandbox](crate::bash_sandbox): no program
//! that the policy denies may run, and nothing outside the project or protected may change. Commands that bash
//! rejects may not be allowed.
//!
//! `AUTONOE_POLICY_CASES` sets the number of generated commands, `AUTONOE_POLICY_SEED` the random seed.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use autonoe_policy::CommandPolicy;
use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::bash_sandbox::BashSandbox;
use crate::corpus;
use crate::fixture::{FixturePaths, PolicyVariant, TestProject};
use crate::grammar;
use crate::values;

/// The default takes a few seconds; nightly runs set more.
const CASES: u64 = 1500;
const SEED: u64 = 20_261_115;
/// The search stops after this many failures.
const MAX_FAILURES: usize = 25;
/// The most steps spent on shrinking one failure.
const MAX_SHRINK_STEPS: usize = 300;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Generates commands, and panics with the shrunken ones for which `problem` returns a message.
fn find_problems(
    title: &str,
    commands: &BoxedStrategy<String>,
    cases: u64,
    paths: &FixturePaths,
    mut problem: impl FnMut(&str) -> Option<String>,
) {
    let seed = setting("AUTONOE_POLICY_SEED", SEED);
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    });
    let mut failures = BTreeSet::new();
    for _ in 0..cases {
        let mut tree = commands.new_tree(&mut runner).unwrap();
        let Some(mut message) = problem(&paths.substitute(&tree.current())) else { continue };
        let mut smallest = tree.current();
        let mut can_shrink = tree.simplify();
        for _ in 0..MAX_SHRINK_STEPS {
            if !can_shrink {
                break;
            }
            match problem(&paths.substitute(&tree.current())) {
                Some(text) => {
                    (message, smallest) = (text, tree.current());
                    can_shrink = tree.simplify();
                }
                None => can_shrink = tree.complicate(),
            }
        }
        failures.insert(format!("{smallest:?}\n    {message}"));
        if failures.len() >= MAX_FAILURES {
            break;
        }
    }
    let report = failures.into_iter().collect::<Vec<_>>().join("\n");
    assert!(report.is_empty(), "{title} (seed {seed}, {cases} cases):\n{report}\n");
}

/// The violations of an allowed command; `None` if it is harmless or denied.
fn harm(sandbox: &mut BashSandbox, policy: &CommandPolicy, command: &str) -> Option<String> {
    if !policy.check(command).is_allowed() {
        return None;
    }
    if command.contains('\0') {
        return Some("it contains NUL".into());
    }
    let violations = sandbox.violations(command);
    (!violations.is_empty()).then(|| violations.join("; "))
}

fn all_commands() -> BoxedStrategy<String> {
    grammar::command(corpus::commands())
}

fn open_sandbox(variant: PolicyVariant) -> Option<BashSandbox> {
    let sandbox = BashSandbox::new(variant);
    if sandbox.is_none() {
        eprintln!("skipped: bubblewrap is not available, and hostile commands only run inside it");
    }
    sandbox
}

/// Judges generated commands under the rules of `variant`, and runs the allowed ones.
fn run_generated(commands: &BoxedStrategy<String>, variant: PolicyVariant, share: u64) {
    let Some(mut sandbox) = open_sandbox(variant) else { return };
    let (policy, paths) = (sandbox.project.narrow_policy(variant), sandbox.project.clone());
    let cases = setting("AUTONOE_POLICY_CASES", CASES) / share;
    let mut allowed = 0;
    find_problems("allowed, but", commands, cases, &paths, |command| {
        allowed += u64::from(policy.check(command).is_allowed());
        harm(&mut sandbox, &policy, command)
    });
    assert!(
        allowed >= cases / 20,
        "only {allowed} of {cases} commands were allowed, too few to test anything"
    );
}

#[test]
fn nothing_denied_runs_from_an_allowed_command() {
    run_generated(&all_commands(), PolicyVariant::Run, 1);
}

#[test]
fn nothing_outside_is_read_whatever_makes_its_name() {
    run_generated(&values::reading_scripts(), PolicyVariant::Run, 1);
}

#[test]
fn nothing_outside_is_written_wherever_variables_lead() {
    run_generated(&values::writing_scripts(), PolicyVariant::Run, 1);
}

#[test]
fn nothing_denied_runs_where_rm_and_mv_are_allowed() {
    run_generated(&all_commands(), PolicyVariant::Destructive, 2);
}

#[test]
fn nothing_changes_in_sync() {
    run_generated(&all_commands(), PolicyVariant::Sync, 2);
}

#[test]
fn allowed_corpus_commands_are_harmless() {
    let mut report = Vec::new();
    for variant in [PolicyVariant::Run, PolicyVariant::Destructive, PolicyVariant::Sync] {
        let Some(mut sandbox) = open_sandbox(variant) else { return };
        let (policy, paths) = (sandbox.project.narrow_policy(variant), sandbox.project.clone());
        let plain = sandbox.project.narrow_policy(PolicyVariant::Run);
        for text in corpus::commands() {
            let command = paths.substitute(&text);
            // Commands that plain run allows have already been run there.
            let already_run = variant == PolicyVariant::Destructive && plain.check(&command).is_allowed();
            let harm = if already_run { None } else { harm(&mut sandbox, &policy, &command) };
            report.extend(harm.map(|harm| format!("{variant:?} {text:?}\n    {harm}")));
        }
    }
    assert!(report.is_empty(), "allowed, but:\n{}\n", report.join("\n"));
}

#[test]
fn the_sandbox_detects_harmful_commands() {
    let Some(mut sandbox) = open_sandbox(PolicyVariant::Run) else { return };
    let harmful = [
        "rm x",
        "echo $(rm x)",
        "/bin/rm x",
        "nope",
        "./ls",
        "cd src && ./bin/dev.sh",
        "/tmp/evil/git",
        "eval 'rm x'",
        "find . -exec rm {} +",
        "echo x | xargs rm",
        "env rm",
        "timeout 1 rm x",
        "git -c alias.x='!rm x' x",
        "touch ../x",
        "echo x > .autonoe/status.json",
        "cp README.md .git/hooks/pre-commit",
        "touch README.md ~/x",
        "touch escape/x",
        "x='a[$(rm x)]'; echo $((x))",
        "echo x > /tmp/x",
        "touch /x",
        "touch .claude/settings.json",
        "echo x >> ~/.bashrc",
        "git config core.pager rm",
        "find . -delete",
        "sort -o ../x README.md",
        "hash -p /tmp/evil/ls ls; ls",
        "trap 'rm x' EXIT",
        "cat /etc/passwd",
        "x=/etc; cat $x/passwd",
        "head -1 escape-file",
        "grep user [a-e]*",
    ];
    let missed: Vec<_> =
        harmful.into_iter().filter(|command| sandbox.violations(command).is_empty()).collect();
    assert!(missed.is_empty(), "the sandbox does not detect the violations of {missed:#?}");
    let harmless = [
        "ls",
        "git status",
        "git add . && git commit -m x",
        "bin/dev.sh",
        "touch x",
        "ls > out.txt",
        "sleep 1",
        "date | cat",
    ];
    for command in harmless {
        assert_eq!(sandbox.violations(command), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn commands_that_bash_rejects_are_not_allowed() {
    let project = TestProject::new();
    let policy = project.narrow_policy(PolicyVariant::Run);
    find_problems(
        "allowed, but bash rejects",
        &all_commands(),
        2 * setting("AUTONOE_POLICY_CASES", CASES),
        &project,
        |command| {
            if !policy.check(command).is_allowed() {
                return None;
            }
            if command.contains('\0') {
                return Some("it contains NUL".into());
            }
            let mut bash = Command::new("bash");
            bash.env_clear().args(["-n", "-c", "--", command]).stdin(Stdio::null());
            let output = bash.output().unwrap();
            (!output.status.success())
                .then(|| String::from_utf8_lossy(&output.stderr).trim().replace('\n', " / "))
        },
    );
}
