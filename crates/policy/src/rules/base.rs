//! Commands that are harmless with any arguments.

use super::rule::{Rule, allow_any, always, destructive, never};

pub const RULES: &[Rule] = &[Rule {
    name: "base",
    commands: &[
        "pwd", "tr", "which", "lsof", "sleep", "seq", "basename", "dirname", "nproc", "df", "realpath",
        "readlink", "expr", "uname", "whoami", "id", "true", "false", "echo", "test", "[", "yes",
    ],
    run_only: false,
    judge: allow_any,
    examples: &[
        always("test -d src || echo none"),
        always("if [ -f x ]; then echo y; fi"),
        never("$x"),
        never("{rm,-rf,x}"),
        always("yes | head -3"),
        destructive("echo 'a\\' ; rm -rf x ; echo 'b'"),
        destructive("( (rm -rf x) )"),
        never("echo \"$(echo a # )\n rm -rf x)\""),
        destructive("r\\m x"),
        destructive("$'\\x72m' x"),
    ],
}];
