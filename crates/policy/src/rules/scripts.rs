//! The project's own scripts: by their path, as the argument of a shell, and a virtual environment's `activate`. They
//! are the project's code like its package scripts, so their content is not judged; only where they are.

use autonoe_core::profile::Profile;

use super::options::{OptionSyntax, parse_leading};
use super::rule::{CommandCall, Rule, in_run, never};
use super::scope::CommandScope;
use crate::paths::protection_reason;
use crate::verdict::{RuleResult, deny_with_hint};

pub const RULES: &[Rule] = &[Rule {
    name: "script.shell",
    commands: &["bash", "sh", "zsh", "dash"],
    run_only: true,
    judge: shell,
    examples: &[
        in_run("bash bin/dev.sh"),
        in_run("bash -ex ./bin/dev.sh --flag | head"),
        in_run("sh bin/dev.sh > out.log 2>&1 &"),
        never("bash -c ls"),
        never("bash"),
        never("echo ls | sh"),
        never("bash -s < a.txt"),
        never("bash missing.sh"),
        never("bash /usr/bin/ldd"),
        never("bash ../x.sh"),
        never("bash .git/hooks/x"),
        never("bash \"$x\""),
        never("bash -i bin/dev.sh"),
        never("bash --rcfile a.txt bin/dev.sh"),
    ],
}];

const SHELL: OptionSyntax = OptionSyntax { flags: "euxvn", valued: "o", long: &[], long_valued: &[] };

fn shell(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let (parsed, rest) = parse_leading("script.shell", &SHELL, call.args)?;
    if parsed
        .options
        .iter()
        .any(|(name, value)| name == "o" && value.as_ref().is_none_or(|v| v.text != "pipefail"))
    {
        return refuse("That shell option is not allowed.");
    }
    match rest.first().and_then(|script| script.literal()) {
        Some(script) if is_own_script(scope, script) => Ok(()),
        _ => refuse("A shell may only run an existing script of the project."),
    }
}

fn refuse(reason: &str) -> RuleResult {
    deny_with_hint("script.shell", reason, "bash path/to/script.sh, or write the commands directly.")
}

/// Whether a path names an existing file of the project, from every possible working directory. A path with `..` or the
/// name of a known command is not taken for a script.
pub fn is_own_script(scope: &mut CommandScope<'_>, path: &str) -> bool {
    let mut segments = path.split('/');
    let name = path.rsplit('/').next().unwrap_or(path);
    if segments.any(|segment| segment == "..") || super::is_known(name) || scope.count_path().is_err() {
        return false;
    }
    let root = scope.paths.root.clone();
    let targets: Vec<_> = scope.possible_targets(path).collect();
    targets.len() == scope.directories.len()
        && targets.iter().all(|real| {
            real.is_file() && real.strip_prefix(&root).is_ok_and(|inside| protection_reason(inside).is_none())
        })
}

/// Whether `source` names the `activate` script of a virtual environment in the project. Its programs are judged by their
/// names, like those of the system.
pub fn is_activation(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> bool {
    let [script] = call.args else { return false };
    let environments = [".venv/bin/activate", "venv/bin/activate", "env/bin/activate", ".env/bin/activate"];
    let Some(path) = script.literal() else { return false };
    let relative = path.strip_prefix("./").unwrap_or(path);
    !scope.options.is_sync()
        && scope.options.has(Profile::Python)
        && environments.contains(&relative)
        && scope.count_path().is_ok()
        && scope.possible_targets(path).filter(|real| real.starts_with(&scope.paths.root)).count()
            == scope.directories.len()
}
