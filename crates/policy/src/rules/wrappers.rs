//! Commands that run another command. The inner command is judged as if it were run directly.

use super::assignments;
use super::environment::{self, GivenVariable};
use super::options::{OptionSyntax, ParsedArgs, parse_leading};
use super::reads;
use super::rule::{CommandCall, Rule, always, destructive, in_run, never};
use super::scope::CommandScope;
use super::secrets;
use crate::possible_values::{TOO_MANY, UNKNOWN, possible_argument};
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::{Arg, ArgKind};

pub const RULES: &[Rule] = &[
    Rule {
        name: "timeout",
        commands: &["timeout", "gtimeout"],
        run_only: false,
        judge: timeout,
        examples: &[
            in_run("timeout 30 npm start > server.log 2>&1 &"),
            always("timeout -k 5 60 npm test"),
            always("timeout --signal=KILL 1m ls"),
            destructive("timeout 5 rm -rf x"),
            never("timeout 5 bash -c ls"),
            never("timeout $x ls"),
            never("timeout 5 $x"),
            never("timeout 5 timeout 5 sh x"),
        ],
    },
    Rule {
        name: "nice",
        commands: &["nice", "nohup", "time"],
        run_only: false,
        judge: nice,
        examples: &[
            always("nice -n 10 npm test"),
            in_run("nohup node server.js > server.log 2>&1 &"),
            always("time npm test"),
            always("ls | time cat"),
            destructive("nohup rm x"),
            never("nice -n 5 sh -c x"),
            never("/usr/bin/time -o x ls"),
            destructive("time rm x"),
        ],
    },
    Rule {
        name: "env",
        commands: &["env"],
        run_only: false,
        judge: env,
        examples: &[
            always("env CI=1 npm test"),
            always("env -u FOO ls"),
            never("env PATH=. ls"),
            never("env -S 'rm x'"),
            destructive("env rm x"),
            never("env"),
            never("env $x ls"),
            never("env -C / ls"),
            never("env FLASK_APP=/x/app.py flask run"),
            never("env GOCACHEPROG=./evil go build"),
        ],
    },
    Rule {
        name: "printenv",
        commands: &["printenv"],
        run_only: false,
        judge: printenv,
        examples: &[
            always("printenv PATH"),
            never("printenv HOME PATH | head"),
            never("printenv"),
            never("printenv -0"),
            never("printenv $x"),
            never("ls | xargs printenv"),
        ],
    },
    Rule {
        name: "xargs",
        commands: &["xargs"],
        run_only: false,
        judge: xargs,
        examples: &[
            always("git ls-files | xargs wc -l"),
            always("ls | xargs -I{} echo {}"),
            always("ls | xargs"),
            always("xargs -a a.txt echo"),
            always("xargs --arg-file=a.txt -n 1 echo"),
            never("xargs -a /etc/hostname"),
            never("xargs -a/etc/hostname echo"),
            never("xargs -ra /etc/hostname echo"),
            never("xargs -a /etc/hostname -a a.txt echo"),
            never("xargs --arg-file=/etc/hostname echo"),
            never("xargs --arg-file ../x echo"),
            never("xargs -a $x echo"),
            always("ls src | xargs -I{} cat src/{}"),
            always("echo a.txt | xargs cat; xargs cat <<< a.txt"),
            never("echo /etc/passwd | xargs cat"),
            never("echo /etc/passwd | sort | xargs -n 1 cat"),
            never("printf '/etc/passwd\\n' | xargs -I{} cat {}"),
            never("printf '/etc/passwd\\0' | xargs -0 cat"),
            never("echo x:/etc/passwd | xargs -d: cat"),
            never("xargs cat <<< ../x"),
            never("xargs cat <<EOF\n/etc/passwd\nEOF"),
            never("echo -e '\\x2fetc/passwd' | xargs cat"),
            never("echo -f/etc/passwd | xargs grep -r x"),
            never("ls | xargs -I{} cat /{}"),
            never("ls | xargs -I{} cat ../{}"),
            never("ls | xargs -I{} cat {}/../x"),
            never("ls | xargs -I{} cat {}./x"),
            never("ls | xargs -I{} head /root/{}/x"),
            never("{ echo /etc/passwd; } | xargs cat"),
            never("(printf /etc; printf /passwd) | xargs cat"),
            never("if true; then echo /etc/passwd; fi | xargs cat"),
            never("for f in /etc/passwd; do echo $f; done | xargs cat"),
            never("for f in /et c/passwd; do printf %s $f; done | xargs cat"),
            never("while true; do echo /etc/passwd; break; done | xargs cat"),
            never("case x in x) echo /etc/passwd;; esac | xargs cat"),
            never("f() { echo /etc/passwd; }; f | xargs cat"),
            never("f() { xargs cat; }; echo /etc/passwd | f"),
            never("f() { xargs cat; }; f <<< /etc/passwd"),
            never("env echo /etc/passwd | xargs cat"),
            never("timeout 5 echo /etc/passwd | xargs cat"),
            never("echo /etc/passwd | cat | xargs cat"),
            never("echo /etc/passwd | { xargs cat; }"),
            never("echo /etc/passwd | timeout 5 xargs cat"),
            never("echo /etc/passwd | if true; then xargs cat; fi"),
            never("echo /etc/passwd | tee >(xargs cat)"),
            never("cat <<E | xargs cat\n/etc/passwd\nE"),
            never("{ cat; } <<E | xargs cat\n/etc/passwd\nE"),
            never("xargs cat < <(echo /etc/passwd)"),
            never("xargs -a <(echo /etc/passwd) cat"),
            never("echo /etc/passwd $x | xargs cat"),
            never("echo \"$x\" /etc/passwd | xargs -n 1 cat"),
            never("printf '%s%s' . ./x | xargs cat"),
            never("printf '%.1s' /etc/ | xargs ls"),
            always("{ echo a.txt; echo src/a.js; } | xargs cat"),
            always("for f in src/*.js; do echo \"$f\"; done | sort | xargs wc -l"),
            always("for i in 1 2 3; do echo \"$i\"; done | xargs -I{} cat src/{}.js"),
            always("printf '%s\\n' a.txt src/a.js | xargs -n 1 cat"),
            always("echo \"$x\" | xargs cat"),
            always("f() { xargs cat; }; git ls-files | f"),
            never("ls | xargs rm"),
            never("ls | xargs -I{} {}"),
            never("ls | xargs sh -c"),
            never("ls | xargs cp -t src"),
            never("ls | xargs find ."),
        ],
    },
    Rule {
        name: "command",
        commands: &["command"],
        run_only: false,
        judge: command,
        examples: &[
            always("command -v node"),
            never("command ls"),
            never("command rm x"),
            never("command -p ls"),
        ],
    },
];

const TIMEOUT: OptionSyntax = OptionSyntax {
    flags: "v",
    valued: "ks",
    long: &["foreground", "preserve-status", "verbose"],
    long_valued: &["kill-after", "signal"],
};
const NICE: OptionSyntax =
    OptionSyntax { flags: "0123456789", valued: "n", long: &[], long_valued: &["adjustment"] };
const NOHUP: OptionSyntax = OptionSyntax { flags: "", valued: "", long: &[], long_valued: &[] };
const TIME: OptionSyntax = OptionSyntax { flags: "p", valued: "", long: &[], long_valued: &[] };
const ENV: OptionSyntax =
    OptionSyntax { flags: "i0", valued: "u", long: &["ignore-environment"], long_valued: &["unset"] };
const XARGS: OptionSyntax = OptionSyntax {
    flags: "0rtx",
    valued: "nPILdsa",
    long: &["null", "no-run-if-empty", "verbose", "exit"],
    long_valued: &["max-args", "max-procs", "delimiter", "arg-file", "max-chars"],
};

fn timeout(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let (_, rest) = parse_leading("timeout", &TIMEOUT, call.args)?;
    let Some((duration, command)) = rest.split_first() else {
        return deny("timeout", "timeout requires a duration.");
    };
    if !duration.literal().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit() || c == '.')) {
        return deny_with_hint("timeout", "The duration is not literal.", "timeout 30 command");
    }
    run(scope, "timeout", command)
}

fn nice(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let syntax = match call.name {
        "nice" => &NICE,
        "time" => &TIME,
        _ => &NOHUP,
    };
    let (_, command) = parse_leading("nice", syntax, call.args)?;
    run(scope, "nice", command)
}

fn env(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let (parsed, mut rest) = parse_leading("env", &ENV, call.args)?;
    for (option, value) in &parsed.options {
        if option == "u" || option == "unset" {
            let name = value.as_ref().and_then(Arg::literal).unwrap_or_default();
            assignments::judge_name_text(name)?;
        }
    }
    let given_before = scope.environment.len();
    while let Some((assignment, after)) = rest.split_first() {
        let Some((name, _)) = assignment.text.split_once('=') else { break };
        if assignment.kind == ArgKind::Several {
            return deny("env", "An argument of env is not known before the command runs.");
        }
        let given = GivenVariable { name: name.to_owned(), value: value_of(assignment) };
        environment::judge(scope, &given)?;
        scope.environment.push(given);
        rest = after;
    }
    if rest.is_empty() {
        return deny_with_hint(
            "env",
            "env alone prints the whole environment.",
            "Print one variable: echo \"$NAME\".",
        );
    }
    let result = run(scope, "env", rest);
    scope.environment.truncate(given_before);
    result
}

/// What follows the name in an assignment, with what it may be.
fn value_of(assignment: &Arg) -> Arg {
    let value = |text: &str| text.split_once('=').map_or_else(String::new, |(_, value)| value.to_owned());
    let may_be = assignment.may_be.iter().map(|arg| Arg { text: value(&arg.text), ..arg.clone() }).collect();
    // A pattern that matches no file is text.
    let kind = if assignment.kind == ArgKind::Glob { ArgKind::Plain } else { assignment.kind };
    Arg { may_be, may_be_too_many: assignment.may_be_too_many, ..Arg::new(value(&assignment.text), kind) }
}

fn printenv(_: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let is_name = |arg: &Arg| arg.literal().is_some_and(|text| !text.is_empty() && !text.starts_with('-'));
    match call.args.len() == 1 && call.args.iter().all(is_name) {
        true => Ok(()),
        false => secrets::prints_variables("printenv"),
    }
}

fn xargs(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let (parsed, command) = parse_leading("xargs", &XARGS, call.args)?;
    let files = parsed.options.iter().filter(|(option, _)| option == "a" || option == "arg-file");
    for file in files.filter_map(|(_, value)| value.as_ref()) {
        if file.text.starts_with("<(") {
            return deny_with_hint("xargs", "What the command prints is not judged.", "command | xargs …");
        }
        reads::judge(scope, file)?;
    }
    if command.is_empty() {
        return Ok(());
    }
    let replacement = replacement(&parsed);
    let is_open = scope.input.iter().any(|text| text.contains(TOO_MANY));
    let mut argv: Vec<Arg> = command.to_vec();
    match replacement {
        Some(None) => {
            return deny("xargs", "The replacement string of xargs -I is not known before the command runs.");
        }
        Some(Some(_)) if ["n", "L", "max-args"].iter().any(|option| parsed.has(option)) => {
            return deny("xargs", "xargs -I cannot be combined with -n or -L.");
        }
        Some(Some(mark)) => {
            let lines = inputs(scope, &parsed, |text| text.lines().collect());
            for arg in argv.iter_mut().filter(|arg| arg.text.contains(mark.as_str())) {
                *arg = Arg { may_be_too_many: is_open, ..replaced(&arg.text, &mark, &lines) };
            }
        }
        None => {
            let words = inputs(scope, &parsed, |text| text.split_whitespace().collect());
            let may_be = words.into_iter().map(possible_argument).collect();
            argv.push(Arg { may_be, may_be_too_many: is_open, ..Arg::new("", ArgKind::Several) });
        }
    }
    // What the command itself reads is not the input of xargs.
    let input = std::mem::take(&mut scope.input);
    let result = scope.judge_wrapped(&argv);
    scope.input = input;
    result
}

/// The known input of xargs, divided into what becomes arguments.
fn inputs(
    scope: &CommandScope<'_>,
    parsed: &ParsedArgs<'_>,
    divided: impl Fn(&str) -> Vec<&str>,
) -> Vec<String> {
    let option = parsed.value("d").or_else(|| parsed.value("delimiter"));
    let delimiter = option.and_then(Arg::literal).and_then(|text| text.chars().next());
    let mut found = Vec::new();
    // It takes quotes and backslashes away, unless the input is divided otherwise.
    let plain = scope.input.iter().filter(|text| text.contains(['\'', '"', '\\']));
    let plain: Vec<String> = plain.map(|text| text.replace(['\'', '"', '\\'], "")).collect();
    for text in scope.input.iter().chain(&plain).filter(|text| !text.contains(TOO_MANY)) {
        found.push(text.trim().to_owned());
        found.extend(divided(text).into_iter().map(|piece| piece.trim_matches(['\'', '"', ' ']).to_owned()));
        if let Some(delimiter) = delimiter {
            found.extend(text.split(delimiter).map(|piece| piece.trim().to_owned()));
        }
    }
    found
}

/// An argument in which `xargs -I` replaces a mark by one of these lines, or by something else.
fn replaced(text: &str, mark: &str, lines: &[String]) -> Arg {
    let unknown = UNKNOWN.to_string();
    let values = lines.iter().chain([&unknown]);
    let may_be = values.map(|value| possible_argument(text.replace(mark, value))).collect();
    let beginning = text.split(mark).next().unwrap_or_default();
    Arg { may_be, ..Arg::new(beginning, ArgKind::Unknown) }
}

/// The text that `-I` replaces: `None` without `-I`, `Some(None)` if it is not known.
fn replacement(parsed: &ParsedArgs<'_>) -> Option<Option<String>> {
    let value = parsed.value("I")?;
    Some(value.literal().filter(|mark| !mark.is_empty()).map(str::to_owned))
}

/// `command` bypasses the rules for functions and built-ins, so only `-v` and `-V` are allowed.
fn command(_: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    match call.args.first().and_then(Arg::literal) {
        Some("-v" | "-V") => Ok(()),
        _ => deny_with_hint("command", "`command` may only be used to look up a program.", "command -v name"),
    }
}

fn run(scope: &mut CommandScope<'_>, rule: &'static str, command: &[Arg]) -> RuleResult {
    if command.is_empty() {
        return deny(rule, format!("{rule} requires a command to run."));
    }
    scope.judge_wrapped(command)
}
