//! `bin/dev.sh`, the project's own start script (`bin/dev` in Rails): no arguments; in the background or with its
//! output in a file is fine.

use crate::verdict::{Ruling, deny_but};
use crate::walk::Walker;
use crate::words::Arg;

const SCRIPTS: [&str; 2] = ["bin/dev.sh", "bin/dev"];

/// Whether a path is the script, from wherever the command is.
pub fn is_one(walker: &Walker<'_>, path: &str) -> bool {
    let root = &walker.policy.paths.root;
    let relative = path.strip_prefix("./").unwrap_or(path);
    let is_script = |relative: &str| SCRIPTS.contains(&relative);
    if path.starts_with('/') {
        return SCRIPTS.iter().any(|script| root.join(script).as_os_str() == path);
    }
    is_script(relative) && walker.directories.iter().all(|directory| directory == root)
}

/// It takes no arguments.
pub fn judge(path: &str, args: &[Arg]) -> Ruling {
    if args.is_empty() {
        return Ok(());
    }
    deny_but("devscript", format!("'{path}' does not accept arguments."), format!("Run it alone: {path} &"))
}

#[cfg(test)]
pub const EXAMPLES: &[super::Example] = &[
    super::always("bin/dev.sh"),
    super::always("./bin/dev.sh &"),
    super::always("./bin/dev > /dev/null 2>&1 &"),
    super::in_run("./bin/dev.sh > dev.log 2>&1 &"),
    super::never("bin/dev.sh --port 3000"),
    super::never("cd src && ./bin/dev.sh"),
    super::never("./bin/other.sh"),
];
