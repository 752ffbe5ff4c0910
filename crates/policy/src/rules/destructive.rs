//! `rm` and `mv`: in `run --allow-destructive` only, on paths that are written out and checked. A lock file that git left behind
//! is an exception, and has a file of its own.

use super::files::arrive;
use super::options::{Syntax, parse};
use super::{Rule, destructive, git_lock, links, never};
use crate::verdict::{Ruling, deny, deny_but};
use crate::walk::{Call, Walker};
use crate::words::Arg;

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "rm",
        commands: &["rm"],
        only_run: true,
        judge: rm,
        examples: &[
            destructive("rm -rf dist"),
            destructive("rm -f src/a.js src/b.js"),
            destructive("rm dist/*"),
            destructive("rm *.log"),
            never("rm -rf ."),
            never("rm -rf *"),
            never("rm -rf ./*"),
            never("rm -rf [a-z]*"),
            never("rm -rf .git"),
            never("rm -f .git/*.lock"),
            never("rm -rf .autonoe"),
            never("rm -rf ~"),
            never("rm -rf $HOME"),
            never("rm -rf \"$x\""),
            never("rm -rf {../outside,a}"),
            never("rm -rf {a,b}"),
            never("rm -rf $(pwd)/../x"),
            never("rm -rf ../x"),
            never("rm -rf /"),
            never("rm --no-preserve-root -rf dist"),
            never("rm"),
            never("find . | xargs rm"),
            never("cd src && rm -rf .."),
        ],
    },
    Rule {
        name: "mv",
        commands: &["mv"],
        only_run: true,
        judge: mv,
        examples: &[
            destructive("mv a b"),
            destructive("mv src/*.js lib/"),
            never("mv --target-directory=/etc a b"),
            never("mv -t /etc a"),
            never("mv x .autonoe/status.json"),
            never("mv .git x"),
            never("mv a"),
            never("mv a ../b"),
            never("mv /etc/passwd a"),
        ],
    },
];

const RM: Syntax = Syntax {
    flags: "rRfvidI",
    valued: "",
    long: &["recursive", "force", "verbose", "dir", "one-file-system", "interactive"],
    long_valued: &[],
};

const MV: Syntax = Syntax {
    flags: "fnvuiT",
    valued: "t",
    long: &["force", "no-clobber", "verbose", "update", "no-target-directory"],
    long_valued: &["target-directory"],
};

fn rm(walker: &mut Walker<'_>, call: Call<'_>) -> Ruling {
    let parsed = parse("rm", &RM, call.args);
    if let Ok(parsed) = &parsed
        && let Some(ruling) = git_lock::judge(walker, parsed)
    {
        return ruling;
    }
    permitted(walker, call.name)?;
    let parsed = parsed?;
    if parsed.operands.is_empty() {
        return deny("rm", format!("{} needs a path.", call.name));
    }
    parsed.operands.iter().try_for_each(|operand| removed(walker, operand))
}

fn mv(walker: &mut Walker<'_>, call: Call<'_>) -> Ruling {
    permitted(walker, call.name)?;
    let parsed = parse("mv", &MV, call.args)?;
    let mut sources = parsed.operands.clone();
    let option = parsed.value("t").or_else(|| parsed.value("target-directory")).cloned();
    let target = option.or_else(|| sources.pop().cloned());
    let Some(target) = target.filter(|_| !sources.is_empty()) else {
        return deny("mv", "mv needs a source and a destination.");
    };
    for source in &sources {
        removed(walker, source)?;
        links::judge(walker, source)?;
    }
    arrive(walker, "mv", &sources, &target)
}

/// Whether something may be removed or moved away.
pub fn removed(walker: &mut Walker<'_>, target: &Arg) -> Ruling {
    if target.from_braces {
        return deny_but(
            "path.unknown",
            "What would be removed is hidden in braces.",
            "Write the paths out.",
        );
    }
    walker.count_path()?;
    walker.policy.paths.remove(&walker.directories, target)
}

fn permitted(walker: &Walker<'_>, name: &str) -> Ruling {
    if walker.policy.options.allow_destructive && !walker.policy.is_sync() {
        return Ok(());
    }
    deny_but(
        "destructive",
        format!("'{name}' is not allowed without --allow-destructive."),
        "Leave the file, overwrite it, or ask for a run with --allow-destructive.",
    )
}
