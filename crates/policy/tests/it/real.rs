//! The real commands of agents and developers: nearly all of them must pass at the contained level.

use autonoe_policy::{CommandPolicy, Mode, PolicyLevel, PolicyOptions};

use crate::fixture::TestProject;

const COMMANDS: &str = include_str!("../corpus/real.txt");
/// The most commands that the contained level may deny, in percent.
const MAX_DENIED: usize = 3;
/// The most commands that the strict level denies; lower it when the allowlist grows.
const STRICT_DENIED: usize = 430;

/// The denied commands, with the rule and the reason.
fn denied<'a>(project: &TestProject, level: PolicyLevel, commands: &[&'a str]) -> Vec<(&'a str, String)> {
    let options = PolicyOptions { level, ..project.options(Mode::Run, Vec::new()) };
    let policy = CommandPolicy::new(options);
    let verdicts = commands.iter().map(|command| (*command, policy.check(command)));
    verdicts
        .filter(|(_, verdict)| !verdict.is_allowed())
        .map(|(command, verdict)| (command, format!("{}: {}", verdict.rule, verdict.reason)))
        .collect()
}

#[test]
fn real_commands_are_rarely_denied() {
    let project = TestProject::new();
    let commands: Vec<&str> =
        COMMANDS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(commands.len() >= 600, "only {} commands", commands.len());
    let contained = denied(&project, PolicyLevel::Contained, &commands);
    let strict = denied(&project, PolicyLevel::Strict, &commands);
    for (level, denied) in [("contained", &contained), ("strict", &strict)] {
        println!("{level}: {} of {} denied", denied.len(), commands.len());
        denied.iter().for_each(|(command, why)| println!("  {command}\n      {why}"));
    }
    assert!(contained.len() * 100 <= commands.len() * MAX_DENIED, "{} denied", contained.len());
    assert!(strict.len() <= STRICT_DENIED, "{} denied", strict.len());
}
