//! `bin/dev.sh` (`bin/dev` in Rails), the project's start script: allowed without arguments, also in the background or
//! with redirected output.

use super::scope::CommandScope;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::Arg;

const SCRIPTS: [&str; 2] = ["bin/dev.sh", "bin/dev"];

/// Whether a path names the script from every possible working directory.
pub fn is_dev_script(scope: &CommandScope<'_>, path: &str) -> bool {
    let root = &scope.paths.root;
    let relative = path.strip_prefix("./").unwrap_or(path);
    let is_script = |relative: &str| SCRIPTS.contains(&relative);
    if path.starts_with('/') {
        return SCRIPTS.iter().any(|script| root.join(script).as_os_str() == path);
    }
    is_script(relative) && scope.directories.iter().all(|directory| directory == root)
}

/// Whether a path ends with the script's name. Such a file in another directory is not taken for it.
pub fn has_its_name(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("dev.sh" | "dev"))
}

pub fn judge(path: &str, args: &[Arg]) -> RuleResult {
    if args.is_empty() {
        return Ok(());
    }
    deny_with_hint(
        "devscript",
        format!("'{path}' does not accept arguments."),
        format!("Run it without arguments: {path} &"),
    )
}

#[cfg(test)]
pub const EXAMPLES: &[super::rule::RuleExample] = &[
    super::rule::always("bin/dev.sh"),
    super::rule::always("./bin/dev.sh &"),
    super::rule::always("./bin/dev > /dev/null 2>&1 &"),
    super::rule::in_run("./bin/dev.sh > dev.log 2>&1 &"),
    super::rule::never("bin/dev.sh --port 3000"),
    super::rule::never("cd src && ./bin/dev.sh"),
    super::rule::in_run("./bin/other.sh --flag"),
    super::rule::never("bin/../bin/other.sh"),
    super::rule::never("./bin/missing.sh"),
];
