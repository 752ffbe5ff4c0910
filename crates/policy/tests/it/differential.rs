//! The policy against real bash: what it allows is run on the [`stage`](crate::stage), and nothing it would deny by name
//! may run, nothing outside the project or under protection may change; what bash refuses may not be allowed.
//!
//! `AUTONOE_POLICY_CASES` sets how many commands are generated, `AUTONOE_POLICY_SEED` from where.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use autonoe_policy::CommandPolicy;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::corpus;
use crate::fixture::{Paths, Play, Project};
use crate::grammar;
use crate::stage::Stage;

/// Enough to be worth its seconds on every run; nightly runs ask for more.
const CASES: u64 = 1500;
const SEED: u64 = 20_261_115;
/// Failures worth reporting before it stops looking.
const ENOUGH: usize = 25;
/// Steps spent on making a failure small.
const SHRINK: usize = 300;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Generates commands and collects, made small, those that `problem` has something to say about.
fn hunt(what: &str, cases: u64, paths: &Paths, mut problem: impl FnMut(&str) -> Option<String>) {
    let seed = setting("AUTONOE_POLICY_SEED", SEED);
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    });
    let commands = grammar::command(corpus::commands());
    let mut found = BTreeSet::new();
    for _ in 0..cases {
        let mut tree = commands.new_tree(&mut runner).unwrap();
        let Some(mut worst) = problem(&paths.fill(&tree.current())) else { continue };
        let mut smallest = tree.current();
        let mut deeper = tree.simplify();
        for _ in 0..SHRINK {
            if !deeper {
                break;
            }
            match problem(&paths.fill(&tree.current())) {
                Some(text) => {
                    (worst, smallest) = (text, tree.current());
                    deeper = tree.simplify();
                }
                None => deeper = tree.complicate(),
            }
        }
        found.insert(format!("{smallest:?}\n    {worst}"));
        if found.len() >= ENOUGH {
            break;
        }
    }
    let report = found.into_iter().collect::<Vec<_>>().join("\n");
    assert!(report.is_empty(), "{what} (seed {seed}, {cases} cases):\n{report}\n");
}

/// What an allowed command did wrong; nothing for a denied one.
fn harm(stage: &mut Stage, policy: &CommandPolicy, command: &str) -> Option<String> {
    if !policy.check(command).is_allowed() {
        return None;
    }
    if command.contains('\0') {
        return Some("it contains NUL".into());
    }
    let violations = stage.violations(command);
    (!violations.is_empty()).then(|| violations.join("; "))
}

fn stage(play: Play) -> Option<Stage> {
    let stage = Stage::new(play);
    if stage.is_none() {
        eprintln!("skipped: no bubblewrap here, and hostile commands run in nothing less");
    }
    stage
}

/// Generated commands, judged and run under the rules of `play`.
fn perform(play: Play, share: u64) {
    let Some(mut stage) = stage(play) else { return };
    let (policy, paths) = (stage.project.narrow_policy(play), stage.project.clone());
    let cases = setting("AUTONOE_POLICY_CASES", CASES) / share;
    let mut performed = 0;
    hunt("allowed, but", cases, &paths, |command| {
        performed += u64::from(policy.check(command).is_allowed());
        harm(&mut stage, &policy, command)
    });
    assert!(performed >= cases / 20, "only {performed} of {cases} commands were allowed: this tests nothing");
}

#[test]
fn nothing_denied_runs_from_an_allowed_command() {
    perform(Play::Run, 1);
}

#[test]
fn nothing_denied_runs_where_rm_and_mv_are_allowed() {
    perform(Play::Destructive, 2);
}

#[test]
fn nothing_changes_in_sync() {
    perform(Play::Sync, 2);
}

#[test]
fn the_corpora_do_no_harm_where_allowed() {
    let mut report = Vec::new();
    for play in [Play::Run, Play::Destructive, Play::Sync] {
        let Some(mut stage) = stage(play) else { return };
        let (policy, paths) = (stage.project.narrow_policy(play), stage.project.clone());
        let plain = stage.project.narrow_policy(Play::Run);
        for text in corpus::commands() {
            let command = paths.fill(&text);
            // What run allows anyway has been seen there.
            let seen = play == Play::Destructive && plain.check(&command).is_allowed();
            let harm = if seen { None } else { harm(&mut stage, &policy, &command) };
            report.extend(harm.map(|harm| format!("{play:?} {text:?}\n    {harm}")));
        }
    }
    assert!(report.is_empty(), "allowed, but:\n{}\n", report.join("\n"));
}

#[test]
fn the_stage_sees_harm() {
    let Some(mut stage) = stage(Play::Run) else { return };
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
    ];
    let missed: Vec<_> = harmful.into_iter().filter(|command| stage.violations(command).is_empty()).collect();
    assert!(missed.is_empty(), "the stage does not see what these do: {missed:#?}");
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
        assert_eq!(stage.violations(command), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn what_bash_refuses_is_not_allowed() {
    let project = Project::new();
    let policy = project.narrow_policy(Play::Run);
    hunt("allowed, but bash refuses", 2 * setting("AUTONOE_POLICY_CASES", CASES), &project, |command| {
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
    });
}
