//! `awk`: only programs that print. Strings are skipped; what remains may not run programs, redirect or name files.

use super::options::{OptionSyntax, parse_leading};
use super::reads;
use super::rule::{CommandCall, Rule, always, never};
use super::scope::CommandScope;
use super::secrets;
use crate::verdict::{RuleResult, deny_with_hint};

pub const RULES: &[Rule] = &[Rule {
    name: "awk",
    commands: &["awk", "gawk", "mawk"],
    run_only: false,
    judge,
    examples: &[
        always("awk '{print $1}' a.txt"),
        always("ps aux | awk '$3 > 5 {print $2, \"a > b | c\"}'"),
        always("awk -F, -v min=3 'NR>=10 && NR<=20 {sum += $2 / 2} END {print sum}' a.txt"),
        always("awk '/^## (a|b)/{print NR\": \"$0}' a.txt"),
        never("awk '{print}' /etc/passwd"),
        never("awk 'BEGIN{system(\"rm x\")}'"),
        never("awk '$1system(\"rm x\")' a.txt"),
        never("awk '{print > \"out\"}' a.txt"),
        never("awk '{print \"}\" > \"out\"}' a.txt"),
        never("awk '{print 1 / 2 > f / 3}' a.txt"),
        never("awk '{print | \"sh\"}' a.txt"),
        never("awk '/\"/ { system(\"x\") } /\"/' a.txt"),
        never("awk '/[/]\"/ {system(\"rm x\")} /[/]\"/' a.txt"),
        never("awk '/[/]\"/ {print > \"x\"} /[/]\"/' a.txt"),
        never("awk '/[]/]\"/ {print > \"x\"} /[]/]\"/' a.txt"),
        never("awk '/[[:a:]/]\"/ {print > \"x\"} /[[:a:]/]\"/' a.txt"),
        never("awk '/[\\]/]\"/ {print > \"x\"} /[\\]/]\"/' a.txt"),
        always("awk '/^[a-z]+:/ {n++} END {print n}' a.txt"),
        never("awk 'BEGIN{while ((getline l < \"/etc/passwd\") > 0) print l}'"),
        never("awk 'BEGIN{ARGV[1]=\"/etc/passwd\"; ARGC=2} {print}'"),
        never("awk '@load \"x\"; {print}' a.txt"),
        always("awk 'BEGIN{print ENVIRON[\"PATH\"]}'"),
        never("awk 'BEGIN{for (k in ENVIRON) print ENVIRON[k]}'"),
        never("awk 'BEGIN{for (k in SYMTAB[\"ENV\" \"IRON\"]) print k}'"),
        never("awk -f prog.awk a.txt"),
        never("awk -i inplace '{print}' a.txt"),
        never("awk \"$x\" a.txt"),
    ],
}];

const AWK: OptionSyntax = OptionSyntax {
    flags: "",
    valued: "Fv",
    long: &["version", "posix", "csv"],
    long_valued: &["field-separator", "assign"],
};

fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let (_, rest) = parse_leading("awk", &AWK, call.args)?;
    let Some((program, files)) = rest.split_first() else { return Ok(()) };
    if !program.literal().is_some_and(only_prints) {
        return deny_with_hint(
            "awk",
            "The awk program could run programs or write files.",
            "Use a literal program without system, getline, pipes and output redirections.",
        );
    }
    if program.text.split("ENVIRON").skip(1).any(|after| !after.starts_with("[\"")) {
        return secrets::prints_variables("awk");
    }
    files.iter().try_for_each(|file| reads::judge(scope, file))
}

fn only_prints(program: &str) -> bool {
    // Not as whole words: awk reads `1system(…)` as a number and a call.
    if ["system", "getline", "ARGV", "ARGC", "PROCINFO", "SYMTAB"].iter().any(|name| program.contains(name)) {
        return false;
    }
    let Some(code) = without_strings(program).filter(|code| !code.contains('@')) else { return false };
    // Only `print` and `printf` can be redirected or piped.
    let printed = code.find("print").map_or("", |at| &code[at..]);
    !printed.replace("||", "").contains(['>', '|'])
}

/// The program with its strings removed; `None` if it is not certain where they are: a quote in a regular expression
/// does not begin a string, and a slash in brackets does not end it.
fn without_strings(program: &str) -> Option<String> {
    let mut code = String::new();
    let mut rest = program;
    while let Some(at) = rest.find(['"', '/', '#']) {
        code.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => {
                let end = unescaped_quote(&rest[at + 1..])?;
                code.push_str("\"\"");
                rest = &rest[at + 1 + end + 1..];
            }
            b'/' => {
                let end = rest[at + 1..].find('/').map_or(rest.len(), |end| at + 1 + end + 1);
                let between = &rest[at..end];
                if between.contains('"') || between.contains("\\/") || may_end_in_brackets(between) {
                    return None;
                }
                code.push_str(between);
                rest = &rest[end..];
            }
            _ => return None,
        }
    }
    code.push_str(rest);
    Some(code)
}

/// Whether the last slash may be inside a bracket expression, where it does not end the regular expression.
fn may_end_in_brackets(segment: &str) -> bool {
    let Some((_, last)) = segment.rsplit_once('[') else { return false };
    !last.contains(']') || ["\\", "[[", "[]", "[^]"].iter().any(|unclear| segment.contains(unclear))
}

fn unescaped_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })
}
