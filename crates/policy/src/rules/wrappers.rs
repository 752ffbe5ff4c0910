//! Commands that run another: resolved, not trusted. What they would run is judged as if it stood alone.

use super::options::{Parsed, Syntax, parse_leading};
use super::{Rule, always, assignments, destructive, in_run, never};
use crate::verdict::{Ruling, deny, deny_but};
use crate::walk::{Call, Walker};
use crate::words::{Arg, Kind};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "timeout",
        commands: &["timeout", "gtimeout"],
        only_run: false,
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
        only_run: false,
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
        only_run: false,
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
        ],
    },
    Rule {
        name: "xargs",
        commands: &["xargs"],
        only_run: false,
        judge: xargs,
        examples: &[
            always("git ls-files | xargs wc -l"),
            always("ls | xargs -I{} echo {}"),
            always("ls | xargs"),
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
        only_run: false,
        judge: command,
        examples: &[
            always("command -v node"),
            never("command ls"),
            never("command rm x"),
            never("command -p ls"),
        ],
    },
];

const TIMEOUT: Syntax = Syntax {
    flags: "v",
    valued: "ks",
    long: &["foreground", "preserve-status", "verbose"],
    long_valued: &["kill-after", "signal"],
};
const NICE: Syntax = Syntax { flags: "0123456789", valued: "n", long: &[], long_valued: &["adjustment"] };
const NOHUP: Syntax = Syntax { flags: "", valued: "", long: &[], long_valued: &[] };
const TIME: Syntax = Syntax { flags: "p", valued: "", long: &[], long_valued: &[] };
const ENV: Syntax =
    Syntax { flags: "i0", valued: "u", long: &["ignore-environment"], long_valued: &["unset"] };
const XARGS: Syntax = Syntax {
    flags: "0rtx",
    valued: "nPILdsa",
    long: &["null", "no-run-if-empty", "verbose", "exit"],
    long_valued: &["max-args", "max-procs", "delimiter", "arg-file", "max-chars"],
};

fn timeout(walker: &mut Walker<'_>, call: Call<'_>) -> Ruling {
    let (_, rest) = parse_leading("timeout", &TIMEOUT, call.args)?;
    let Some((duration, command)) = rest.split_first() else {
        return deny("timeout", "timeout needs a duration.");
    };
    if !duration.literal().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit() || c == '.')) {
        return deny_but("timeout", "The duration is not written out.", "timeout 30 command");
    }
    run(walker, "timeout", command)
}

fn nice(walker: &mut Walker<'_>, call: Call<'_>) -> Ruling {
    let syntax = match call.name {
        "nice" => &NICE,
        "time" => &TIME,
        _ => &NOHUP,
    };
    let (_, command) = parse_leading("nice", syntax, call.args)?;
    run(walker, "nice", command)
}

fn env(walker: &mut Walker<'_>, call: Call<'_>) -> Ruling {
    let (parsed, mut rest) = parse_leading("env", &ENV, call.args)?;
    for (option, value) in &parsed.options {
        if option == "u" || option == "unset" {
            let name = value.as_ref().and_then(Arg::literal).unwrap_or_default();
            assignments::judge_name_text(name)?;
        }
    }
    while let Some((assignment, after)) = rest.split_first() {
        let Some((name, _)) = assignment.text.split_once('=') else { break };
        if assignment.kind == Kind::Several {
            return deny("env", "An argument of env is not known before it runs.");
        }
        assignments::judge_name_text(name)?;
        rest = after;
    }
    if rest.is_empty() {
        return deny_but(
            "env",
            "env alone prints the whole environment.",
            "Print one variable: echo \"$NAME\".",
        );
    }
    run(walker, "env", rest)
}

fn xargs(walker: &mut Walker<'_>, call: Call<'_>) -> Ruling {
    let (parsed, command) = parse_leading("xargs", &XARGS, call.args)?;
    if command.is_empty() {
        return Ok(());
    }
    let replaced = replacement(&parsed);
    let mut argv: Vec<Arg> = command.to_vec();
    match replaced {
        Some(None) => return deny("xargs", "The replacement is not known before it runs."),
        Some(Some(_)) if ["n", "L", "max-args"].iter().any(|option| parsed.has(option)) => {
            return deny("xargs", "With -n or -L the replacement does not hold.");
        }
        Some(Some(mark)) => {
            for arg in argv.iter_mut().filter(|arg| arg.text.contains(mark.as_str())) {
                *arg = Arg::unknown();
            }
        }
        None => argv.push(Arg::new("", Kind::Several)),
    }
    walker.dispatch_wrapped(&argv)
}

/// The text that `-I` replaces, if it is there, and if it is known.
fn replacement(parsed: &Parsed<'_>) -> Option<Option<String>> {
    let value = parsed.value("I")?;
    Some(value.literal().filter(|mark| !mark.is_empty()).map(str::to_owned))
}

/// It hides built-ins from the rules for them, so it may only look.
fn command(_: &mut Walker<'_>, call: Call<'_>) -> Ruling {
    match call.args.first().and_then(Arg::literal) {
        Some("-v" | "-V") => Ok(()),
        _ => deny_but("command", "`command` may only be used to look for a program.", "command -v name"),
    }
}

fn run(walker: &mut Walker<'_>, rule: &'static str, command: &[Arg]) -> Ruling {
    if command.is_empty() {
        return deny(rule, format!("{rule} has nothing to run."));
    }
    walker.dispatch_wrapped(command)
}
