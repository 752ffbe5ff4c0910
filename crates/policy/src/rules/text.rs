//! Filters that can also write files (`sort -o`, the second operand of `uniq` and `xxd`, `tree -o`) or set the clock
//! (`date -s`).

use super::options::{OptionSyntax, parse};
use super::reads;
use super::rule::{CommandCall, Rule, always, in_run, never};
use super::scope::CommandScope;
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::Arg;

pub const RULES: &[Rule] = &[
    Rule {
        name: "sort",
        commands: &["sort"],
        run_only: false,
        judge: |scope, call| filter(scope, "sort", &SORT, call),
        examples: &[
            always("sort -rn -k2,2 -t: names.txt | uniq -c"),
            always("sort -u a b"),
            never("sort -o out in"),
            never("sort -uo out in"),
            never("sort --outp=x in"),
            never("sort --compress-program=sh in"),
            never("sort $x"),
        ],
    },
    Rule {
        name: "uniq",
        commands: &["uniq"],
        run_only: false,
        judge: uniq,
        examples: &[
            always("uniq -c"),
            in_run("uniq a b"),
            never("uniq a /etc/b"),
            never("uniq a .autonoe/b"),
            always("find src -type f -exec uniq {} \\;"),
            never("uniq *.txt"),
            never("uniq $x"),
            never("find src -type f -exec uniq {} +"),
            never("ls | xargs uniq"),
            never("ls | xargs uniq a.txt"),
        ],
    },
    Rule {
        name: "xxd",
        commands: &["xxd"],
        run_only: false,
        judge: xxd,
        examples: &[
            always("xxd -l 64 a.txt | head"),
            always("xxd -c 16 -g 1 -s -16 a.txt"),
            always("xxd \"$x\""),
            always("xxd -r -p a.txt"),
            always("echo 5b63 | xxd -r -p -"),
            always("find src -type f -exec xxd {} \\;"),
            in_run("xxd -r a.txt > src/out.bin"),
            never("xxd -r a.txt src/out.bin"),
            never("xxd /etc/passwd"),
            never("xxd a.txt ../out"),
            never("xxd a.txt -b"),
            never("xxd -- a.txt"),
            never("printf 5b63 | xxd -r -p - .git/config"),
            never("xxd -c 16 - .git/config"),
            never("xxd -c a.txt .git/config"),
            never("xxd -r -- - x"),
            never("xxd {a,b}.txt"),
            never("xxd *.txt"),
            never("xxd $x"),
            never("xxd $(ls)"),
            never("xxd a.txt \"$x\""),
            never("ls | xargs xxd"),
            never("ls | xargs -I{} xxd a.txt {}"),
            never("find .git -exec xxd {} +"),
            never("find . -type f -exec xxd -r - {} \\;"),
        ],
    },
    Rule {
        name: "tree",
        commands: &["tree"],
        run_only: false,
        judge: |scope, call| filter(scope, "tree", &TREE, call),
        examples: &[
            always("tree -L 2 -I node_modules"),
            always("tree src"),
            never("tree -o x"),
            never("tree -R -L 1 -H ."),
        ],
    },
    Rule {
        name: "date",
        commands: &["date"],
        run_only: false,
        judge: date,
        examples: &[
            always("date"),
            always("date -u +%Y-%m-%d"),
            never("date -s 2020-01-01"),
            never("date --set=x"),
            always("date -r a.txt +%F"),
            never("date -r /etc/passwd"),
            never("date 010100002020"),
        ],
    },
];

#[rustfmt::skip]
const SORT: OptionSyntax = OptionSyntax {
    flags: "bdfghiMnRrVcCmsuz",
    valued: "ktS",
    long: &[
        "ignore-leading-blanks", "dictionary-order", "ignore-case", "general-numeric-sort",
        "human-numeric-sort", "month-sort", "numeric-sort", "random-sort", "reverse", "version-sort",
        "check", "merge", "stable", "unique", "zero-terminated", "help", "version",
    ],
    long_valued: &["key", "field-separator", "sort", "parallel", "buffer-size"],
};

#[rustfmt::skip]
const UNIQ: OptionSyntax = OptionSyntax {
    flags: "cdDiuz",
    valued: "fsw",
    long: &[
        "count", "repeated", "all-repeated", "group", "ignore-case", "unique", "zero-terminated", "help",
        "version",
    ],
    long_valued: &["skip-fields", "skip-chars", "check-chars"],
};

#[rustfmt::skip]
const TREE: OptionSyntax = OptionSyntax {
    flags: "adflxinNqpugshDFvtcUrCAJXQ",
    valued: "LPI",
    long: &[
        "gitignore", "prune", "dirsfirst", "filesfirst", "noreport", "du", "si", "inodes", "matchdirs",
        "ignore-case", "version", "help", "metafirst", "info", "filelimit", "charset", "sort",
    ],
    long_valued: &[],
};

const DATE: OptionSyntax = OptionSyntax {
    flags: "uRj",
    valued: "dIr",
    long: &["utc", "universal", "rfc-email", "iso-8601", "rfc-3339", "help", "version"],
    long_valued: &["date", "reference"],
};

fn filter(
    scope: &mut CommandScope<'_>,
    rule: &'static str,
    syntax: &OptionSyntax,
    call: CommandCall<'_>,
) -> RuleResult {
    let parsed = parse(rule, syntax, call.args)?;
    reads::judge_following(scope, call)?;
    parsed.operands.iter().try_for_each(|operand| reads::judge(scope, operand))
}

fn uniq(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let parsed = parse("uniq", &UNIQ, call.args)?;
    if !parsed.operands.iter().all(|operand| operand.is_single()) {
        return deny_with_hint(
            "uniq",
            "What is not known before the command runs may be two files, and uniq writes the second one.",
            "Name one file: uniq file.",
        );
    }
    if let Some(input) = parsed.operands.first() {
        reads::judge(scope, input)?;
    }
    match parsed.operands.as_slice() {
        [] | [_] => Ok(()),
        [_, output] => {
            scope.count_path()?;
            scope.may_write(output)
        }
        _ => deny("uniq", "uniq takes at most one input and one output."),
    }
}

/// Options of `xxd` whose value is a number in the next argument.
const XXD_NUMBERS: [&str; 5] = ["-c", "-g", "-l", "-s", "-o"];

/// Only with one file: the second one is written. Nothing after the first file is an option.
fn xxd(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let mut rest = call.args;
    while let [option, after @ ..] = rest {
        let Some(text) = option.literal().filter(|text| text.len() > 1 && text.starts_with('-')) else {
            break;
        };
        let has_value = XXD_NUMBERS.contains(&text) && after.first().is_some_and(is_number);
        rest = match text {
            "--" => break,
            _ if has_value => &after[1..],
            _ => after,
        };
    }
    match rest {
        [] => Ok(()),
        [only] if only.is_single() && only.literal() != Some("--") => reads::judge(scope, only),
        _ => deny_with_hint(
            "xxd",
            "xxd writes its second file, and only one is known to be the first.",
            "Name one file, and redirect the output: xxd -r file > out.",
        ),
    }
}

fn is_number(arg: &Arg) -> bool {
    arg.literal().is_some_and(|text| {
        let digits = text.trim_start_matches(['-', '+']);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'x')
    })
}

fn date(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    // `-I` takes a value only if it is attached.
    let args: Vec<_> = call.args.iter().filter(|arg| arg.literal() != Some("-I")).cloned().collect();
    let parsed = parse("date", &DATE, &args)?;
    // With BSD's date the value of -r is a number.
    for reference in ["r", "reference"].into_iter().filter_map(|option| parsed.value(option)) {
        reads::judge(scope, reference)?;
    }
    if parsed.operands.iter().any(|operand| !operand.text.starts_with('+')) {
        return deny_with_hint("date", "Setting the clock is not allowed.", "Print it: date +%F.");
    }
    Ok(())
}
