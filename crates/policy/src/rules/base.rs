//! Commands that only print, whatever their arguments.

use super::{Rule, always, destructive, free, never};

/// The commands without dangerous arguments.
pub const RULES: &[Rule] = &[Rule {
    name: "base",
    commands: &[
        "pwd", "tr", "which", "ps", "lsof", "sleep", "seq", "basename", "dirname", "nproc", "df", "realpath",
        "readlink", "expr", "uname", "whoami", "id", "true", "false", "echo", "test", "[",
    ],
    only_run: false,
    judge: free,
    examples: &[
        always("test -d src || echo none"),
        always("if [ -f x ]; then echo y; fi"),
        never("$x"),
        never("{rm,-rf,x}"),
        never("curl localhost"),
        destructive("echo 'a\\' ; rm -rf x ; echo 'b'"),
        destructive("( (rm -rf x) )"),
        never("echo \"$(echo a # )\n rm -rf x)\""),
        destructive("r\\m x"),
        destructive("$'\\x72m' x"),
    ],
}];
