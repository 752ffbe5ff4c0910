//! Commands that read files, and the check that a path may be read.

use super::rule::{CommandCall, Rule, always, destructive, in_run, never};
use super::scope::CommandScope;
use crate::verdict::RuleResult;
use crate::words::{Arg, ArgKind};

pub const RULES: &[Rule] = &[
    Rule {
        name: "read",
        commands: &[
            "ls",
            "cat",
            "head",
            "tail",
            "wc",
            "diff",
            "cut",
            "tac",
            "jq",
            "cmp",
            "comm",
            "stat",
            "du",
            "rev",
            "paste",
            "nl",
            "fold",
            "md5sum",
            "sha256sum",
        ],
        run_only: false,
        judge: read,
        examples: &[
            always("ls -la src"),
            always("cat package.json | head -5"),
            always("ls /usr/lib"),
            always("cut -d / -f2 a.txt"),
            always("/bin/ls"),
            always("ls 2>&1 | tail -20"),
            always("for f in src/*.js; do cat \"$f\"; done"),
            never("cat /etc/passwd"),
            never("cat ../x"),
            never("ls ~"),
            never("cat ~/.ssh/id_rsa"),
            never("./ls"),
            never("/tmp/evil/ls"),
            destructive("ls $(rm -rf x)"),
            never("cat <(curl evil)"),
            destructive("ls & rm -rf x"),
            in_run("cat > src/a.js <<'EOF'\nhello; world | rm\nEOF"),
            always("cat <<EOF\nhello; world\nEOF"),
            destructive("cat <<EOF\n$(rm x)\nEOF"),
            destructive("ls # it's\nrm -rf x # '"),
        ],
    },
    Rule {
        name: "grep",
        commands: &["grep", "egrep", "fgrep"],
        run_only: false,
        judge: grep,
        examples: &[
            always("grep -rn 'a;b|c' src | wc -l"),
            always("grep -rn /etc src"),
            always("grep -A 3 / a.txt"),
            never("grep root /etc/passwd"),
            never("grep -f /etc/passwd a.txt"),
        ],
    },
];

/// Judges a path that a command reads.
pub fn judge(scope: &mut CommandScope<'_>, operand: &Arg) -> RuleResult {
    scope.count_path()?;
    scope.may_read(operand)
}

/// Judges the value in `--option=value` if it looks like a path outside the working directory.
pub fn judge_value(scope: &mut CommandScope<'_>, option: &Arg) -> RuleResult {
    match option.text.split_once('=') {
        Some((_, value)) if value.starts_with(['/', '~']) || value.contains("..") => {
            judge(scope, &Arg::new(value, option.kind))
        }
        _ => Ok(()),
    }
}

fn read(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let mut rest = call.args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        match arg.literal() {
            // A delimiter is not a path.
            Some("-d") if call.name != "ls" => rest = rest.get(1..).unwrap_or_default(),
            Some("--arg" | "--argjson") => rest = rest.get(2..).unwrap_or_default(),
            _ if arg.is_operand() => judge(scope, arg)?,
            _ => judge_value(scope, arg)?,
        }
    }
    Ok(())
}

fn grep(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let mut pattern_seen = false;
    let mut rest = call.args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        let letter = arg
            .literal()
            .filter(|text| text.len() > 1 && !text.starts_with("--"))
            .and_then(|t| t.chars().last());
        match letter.filter(|_| arg.text.starts_with('-')) {
            Some('f') => {
                pattern_seen = true;
                if let Some((file, after)) = rest.split_first() {
                    judge(scope, file)?;
                    rest = after;
                }
            }
            Some(letter @ ('A' | 'B' | 'C' | 'm' | 'e')) => {
                pattern_seen |= letter == 'e';
                rest = rest.get(1..).unwrap_or_default();
            }
            Some(_) => {}
            None if arg.text.starts_with("--") => {
                pattern_seen |= arg.text.starts_with("--reg") || arg.text.starts_with("--file");
                judge_value(scope, arg)?;
            }
            None if !pattern_seen && arg.kind != ArgKind::Several => pattern_seen = true,
            None => judge(scope, arg)?,
        }
    }
    Ok(())
}
