//! Shell built-ins.

use super::assignments::judge_name_text;
use super::options::{OptionSyntax, parse};
use super::rule::{Caller, CommandCall, Rule, always, in_run, never};
use super::scope::CommandScope;
use super::scripts::is_activation;

use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::Arg;

/// Built-ins that are denied, most of them because they run text, replace the shell or change what names mean.
#[rustfmt::skip]
pub const REFUSED: [&str; 30] = [
    "eval", "source", ".", "exec", "alias", "unalias", "enable", "hash", "bind", "complete", "compgen",
    "compopt", "builtin", "shopt", "ulimit", "umask", "let", "fc", "history", "pushd", "popd", "dirs",
    "suspend", "logout", "caller", "help", "coproc", "select", "function", "times",
];

pub const RULES: &[Rule] = &[
    Rule {
        name: "builtin",
        commands: &[":", "break", "continue", "shift"],
        run_only: false,
        judge: super::rule::allow_any,
        examples: &[
            always("while true; do break; done"),
            always(": \"${X:=5}\""),
            never(": \"${PATH:=5}\""),
            always("sleep 2 & wait"),
        ],
    },
    Rule {
        name: "builtin.jobs",
        commands: &["wait", "jobs", "type", "disown"],
        run_only: false,
        judge: jobs,
        examples: &[
            always("sleep 1 & wait $!"),
            always("jobs -l"),
            always("type git"),
            never("jobs -x rm x"),
            never("wait -n -p PATH"),
        ],
    },
    Rule {
        name: "builtin.refused",
        commands: &REFUSED,
        run_only: false,
        judge: refused,
        examples: &[
            never("eval ls"),
            never("source x"),
            never(". ./x"),
            never("exec ls"),
            never("alias ls=rm"),
            in_run("source .venv/bin/activate && pytest"),
            in_run(". ./venv/bin/activate; python a.py"),
            never("source ../venv/bin/activate"),
            never("source /x/.venv/bin/activate"),
            never("source .venv/bin/../../x"),
        ],
    },
    Rule {
        name: "builtin.cd",
        commands: &["cd"],
        run_only: false,
        judge: cd,
        examples: &[
            always("cd src && ls"),
            always("(cd src && go test ./...)"),
            never("cd .. && ls"),
            never("cd"),
            always("cd src && ls && cd - && ls"),
            always("cd src; ls; cd -; ls"),
            never("cd -"),
            never("cd nowhere; cd -"),
            never("(cd src); cd -"),
            never("cd src && cd - && echo x > ../a.txt"),
            never("cd src && cd - && cd - && echo x > ../../a.txt"),
            never("OLDPWD=/ && cd - && ls"),
            never("cd $x"),
            never("cd .git && ls"),
            never("cd /tmp"),
            in_run("cd src && echo x > ../a.txt"),
            in_run("cd src || exit 1; echo x > ../a.txt"),
            in_run("cd src; echo x > ../a.txt"),
            never("cd nowhere; echo x > ../a.txt"),
            never("cd src && echo x > ../../a.txt"),
            never("cd src && cd .. && echo x > .git/config"),
        ],
    },
    Rule {
        name: "builtin.exit",
        commands: &["exit", "return"],
        run_only: false,
        judge: exit,
        examples: &[always("npm test || exit 1"), never("exit; sh x")],
    },
    Rule {
        name: "builtin.set",
        commands: &["set"],
        run_only: false,
        judge: set,
        examples: &[
            always("set -euo pipefail; ls"),
            always("set -x"),
            always("set -- a b"),
            never("set -k"),
            never("set"),
            never("set | grep KEY"),
            never("set $x"),
        ],
    },
    Rule {
        name: "builtin.export",
        commands: &["export", "declare", "local", "readonly", "typeset", "unset"],
        run_only: false,
        judge: export,
        examples: &[
            always("export NODE_ENV=test && npm test"),
            always("declare -a files=(a b)"),
            always("PYTHONPATH=. pytest && PYTHONPATH=src:lib pytest"),
            in_run("export PYTHONPATH=src; python a.py"),
            never("PYTHONPATH=.. pytest"),
            never("PYTHONPATH=/x pytest"),
            never("PYTHONPATH=.:$TERM pytest"),
            never("PYTHONPATH+=:/x pytest"),
            never("export PATH=/x"),
            never("declare -n x=PATH"),
            never("export \"$x\""),
            never("declare -i x='a[$(rm x)]'"),
            never("unset PATH"),
            never("export LD_PRELOAD=x; ls"),
            always("export A=b; export A; declare -p A; declare -x B=c; local_x=1; readonly C=d"),
            in_run("export FLASK_APP=src/a.js:create FLASK_DEBUG=1; flask run"),
            never("FLASK_APP=../x flask run"),
            never("FLASK_APP=$x flask run"),
            never("export FLASK_APP=/x/app.py:app"),
            never("GOCACHEPROG='sh -c id' go test"),
            never("GOTOOLDIR=src go build"),
            never("GOPACKAGESDRIVER=./evil go build"),
            never("PYO3_PYTHON=./evil cargo build"),
            never("NODE=./evil npm test"),
            never("THOR_MERGE=./evil rails g x"),
            never("THOR_DIFF=./evil rails g x"),
            never("IRBRC=x irb"),
            never("__PYVENV_LAUNCHER__=x python3 a.py"),
            never("RSYNC_RSH=./evil ls"),
            never("export"),
            never("export -p"),
            never("declare"),
            never("declare -x"),
            never("declare -p | grep KEY"),
            never("typeset -x"),
            never("echo \"$(export -p)\""),
        ],
    },
    Rule {
        name: "builtin.read",
        commands: &["read", "mapfile", "readarray", "getopts"],
        run_only: false,
        judge: read,
        examples: &[
            always("while read -r l; do echo \"$l\"; done < file"),
            always("while IFS= read -r l; do echo \"$l\"; done < file"),
            never("read PATH"),
            never("readarray -t PATH < a.txt"),
            never("read 'a[$(rm x)]'"),
            never("mapfile -C 'rm x' -c 1 a"),
            never("IFS=/ ; ls"),
        ],
    },
    Rule {
        name: "builtin.printf",
        commands: &["printf"],
        run_only: false,
        judge: printf,
        examples: &[
            always("printf '%s\\n' \"$x\""),
            always("printf -v out %s x"),
            never("printf -v PATH %s x"),
            never("printf -vPATH x"),
            never("printf \"$x\""),
            never("printf 'abc%n' PATH"),
        ],
    },
    Rule {
        name: "builtin.trap",
        commands: &["trap"],
        run_only: false,
        judge: trap,
        examples: &[
            always("trap 'echo bye' EXIT; ls"),
            always("trap - EXIT"),
            never("trap 'sh x' EXIT"),
            never("trap \"$x\" EXIT"),
        ],
    },
    Rule {
        name: "builtin.kill",
        commands: &["kill"],
        run_only: false,
        judge: kill,
        examples: &[
            in_run("node server.js & sleep 1; kill $!"),
            in_run("node s.js & PID=$!; sleep 1; kill $PID 2>/dev/null || true"),
            always("kill %1"),
            always("kill -l; kill -l 9"),
            always("kill -0 4242"),
            always("sleep 9 & kill %%; kill %+"),
            in_run("node s.js & PIDS+=($!); kill \"${PIDS[@]}\""),
            in_run("node s.js & for p in $!; do kill $p; done"),
            never("kill $x"),
            never("kill -9 $PPID$x"),
            never("x=1; kill $x"),
            never("for p in $(seq 1 99999); do kill -9 $p; done"),
            never("node s.js & p=$!; p+=1; kill $p"),
            never("node s.js & p=$!; ((p = 1)); kill $p"),
            never("node s.js & p=$!; kill 1$p"),
            never("kill -- -$!"),
            never("kill -0 -9 4242"),
            never("kill -9 4242"),
            never("kill -0 -1"),
            never("kill -9 -1"),
            never("kill 1"),
            never("kill $(pgrep x)"),
            never("pgrep x | xargs kill"),
            never("pgrep x | xargs -I{} kill -9 {}"),
            never("timeout 5 kill \"$x\""),
        ],
    },
];

fn refused(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    if matches!(call.name, "source" | ".") && call.caller == Caller::Shell && is_activation(scope, call) {
        return Ok(());
    }
    let instead = match call.name {
        "source" | "." => "Run the program directly, e.g. `uv run pytest` or `python3 -m pytest`.",
        "pushd" | "popd" => "Use a subshell: (cd dir && command).",
        "let" => "Use $(( … )).",
        _ => "Write the commands directly.",
    };
    deny_with_hint("builtin.refused", format!("The built-in '{}' is not allowed.", call.name), instead)
}

fn jobs(_: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let harmless =
        |arg: &Arg| !arg.text.starts_with('-') || matches!(arg.literal(), Some("-n" | "-f" | "-l"));
    if call.args.iter().all(harmless) {
        Ok(())
    } else {
        deny("builtin.jobs", format!("That option of '{}' is not allowed.", call.name))
    }
}

fn cd(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    if call.caller == Caller::Program {
        return deny("builtin.cd", "cd is a shell built-in; another program cannot run it.");
    }
    let args = match call.args {
        [dashes, rest @ ..] if dashes.literal() == Some("--") => rest,
        args => args,
    };
    if let [target] = args
        && target.literal() == Some("-")
        && scope.visited().first().is_some_and(|start| !scope.directories.contains(start))
    {
        // The shell has left its first directory, so that `OLDPWD` is a directory in which it has been.
        scope.entered(scope.visited().to_vec(), false);
        return Ok(());
    }
    let target = match args {
        [target] => target.literal().filter(|text| !text.is_empty() && !text.starts_with('-')),
        _ => None,
    };
    let Some(target) = target else {
        return deny_with_hint(
            "builtin.cd",
            "cd requires exactly one literal directory.",
            "cd path/inside/the/project",
        );
    };
    scope.count_path()?;
    let entered = scope.paths.enter(&scope.directories, target)?;
    let certain =
        scope.sequential && !scope.files_changed && entered.iter().all(|directory| directory.is_dir());
    scope.entered(entered, certain);
    Ok(())
}

fn exit(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    // With a non-numeric argument, exit may print an error and not exit.
    let numbered = call
        .args
        .iter()
        .all(|arg| arg.literal().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit())));
    if call.caller == Caller::Shell
        && call.args.len() <= 1
        && numbered
        && (call.name == "exit" || scope.in_function)
    {
        scope.exits();
    }
    Ok(())
}

fn set(_: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    const NAMES: [&str; 9] =
        ["errexit", "nounset", "pipefail", "xtrace", "noglob", "noclobber", "verbose", "errtrace", "monitor"];
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        match arg.literal() {
            Some("--") => return Ok(()),
            Some(text) if text.starts_with(['-', '+']) && text.len() > 1 => {
                let names = text.bytes().filter(|b| *b == b'o').count();
                if names > 1 || !text[1..].bytes().all(|b| b"euxvfCEom".contains(&b)) {
                    return deny_with_hint(
                        "builtin.set",
                        format!("set {text} is not allowed."),
                        "set -euo pipefail",
                    );
                }
                let named = if text.contains('o') { args.next().map(|name| name.literal()) } else { None };
                if named.is_some_and(|name| !name.is_some_and(|name| NAMES.contains(&name))) {
                    return deny_with_hint(
                        "builtin.set",
                        "That shell option is not allowed.",
                        "set -euo pipefail",
                    );
                }
            }
            Some(_) => return Ok(()),
            None => {
                return deny_with_hint(
                    "builtin.set",
                    "The arguments of set are not known before the command runs.",
                    "set -- \"$@\"",
                );
            }
        }
    }
    Ok(())
}

/// The walk has already judged the assignments among the arguments.
fn export(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    if call.name == "unset" && scope.has_functions() && call.args.first().and_then(Arg::literal) != Some("-v")
    {
        return deny_with_hint("builtin.unset", "unset could remove a function.", "unset -v name");
    }
    for arg in call.args {
        match arg.literal() {
            Some(option) if option.starts_with('-') => {
                let letters = if call.name == "unset" { "v".as_bytes() } else { b"aArxgp" };
                if !option[1..].bytes().all(|b| letters.contains(&b)) {
                    return deny("builtin.export", format!("{} {option} is not allowed.", call.name));
                }
            }
            Some(name) => judge_name_text(name)?,
            None => return deny("builtin.export", "The variable name is not known before the command runs."),
        }
    }
    Ok(())
}

const READ: OptionSyntax = OptionSyntax { flags: "rs", valued: "apnNtdui", long: &[], long_valued: &[] };
const MAPFILE: OptionSyntax = OptionSyntax { flags: "t", valued: "dnOsu", long: &[], long_valued: &[] };

fn read(_: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let names = match call.name {
        // `getopts` takes the option letters, then the variable name.
        "getopts" => call.args.iter().skip(1).take(1).collect(),
        name => {
            let syntax = if name == "read" { &READ } else { &MAPFILE };
            let parsed = parse("builtin.read", syntax, call.args)?;
            if let Some(array) = parsed.value("a") {
                judge_name_text(array.literal().unwrap_or_default())?;
            }
            parsed.operands
        }
    };
    names.into_iter().try_for_each(|name| judge_name_text(name.literal().unwrap_or_default()))
}

fn printf(_: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let args = match call.args {
        [option, name, rest @ ..] if option.literal() == Some("-v") => {
            judge_name_text(name.literal().unwrap_or_default())?;
            rest
        }
        [option, rest @ ..] if option.literal() == Some("--") => rest,
        args => args,
    };
    match args {
        [] => Ok(()),
        [format, values @ ..] if format.is_operand() => match format.literal() {
            Some(text) if assigns(text) => deny("builtin.printf", "printf's %n sets variables."),
            None if !values.is_empty() => unknown_format(),
            _ => Ok(()),
        },
        _ => unknown_format(),
    }
}

fn unknown_format() -> RuleResult {
    deny_with_hint(
        "builtin.printf",
        "printf's format is not known before the command runs.",
        "printf '%s\\n' \"$x\"",
    )
}

/// Whether a format contains `%n`, which sets the variable named by its argument.
fn assigns(format: &str) -> bool {
    format.split('%').skip(1).any(|directive| {
        directive
            .trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #'.*hljztL".contains(c))
            .starts_with('n')
    })
}

fn trap(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    match call.args.first().map(|arg| (arg, arg.literal())) {
        None | Some((_, Some("-" | "" | "-p"))) => Ok(()),
        Some((_, Some(action))) => {
            scope.scripts.push(action.to_owned());
            Ok(())
        }
        Some((_, None)) => deny_with_hint(
            "builtin.trap",
            "The trap's action is not known before the command runs.",
            "trap 'kill $!' EXIT",
        ),
    }
}

fn kill(_: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    if call.args.first().and_then(Arg::literal) == Some("-l") {
        return Ok(());
    }
    let asks = call.args.first().and_then(Arg::literal) == Some("-0")
        && !call.args[1..].iter().any(|arg| arg.text.starts_with('-'));
    let mut after_target = false;
    for arg in call.args {
        match arg.literal() {
            Some(
                "-9" | "-15" | "-2" | "-0" | "-TERM" | "-KILL" | "-INT" | "-HUP" | "-SIGTERM" | "-SIGKILL"
                | "-SIGINT",
            ) if !after_target => {}
            Some(job) if is_own_job(job) => after_target = true,
            // Signal 0 only asks whether the process exists.
            Some(pid) if asks && pid.bytes().all(|b| b.is_ascii_digit()) => after_target = true,
            // `judge_kill_words` has checked that it is a number, but only in the shell's own words.
            None if call.caller == Caller::Shell => after_target = true,
            _ => {
                return deny_with_hint(
                    "builtin.kill",
                    "kill may only end processes that this command started.",
                    "kill $! or kill %1, or pkill with a process name.",
                );
            }
        }
    }
    Ok(())
}

/// Whether this is `%1`, or `%%`, `%+` or `%-`: a job that this shell started.
fn is_own_job(target: &str) -> bool {
    target
        .strip_prefix('%')
        .is_some_and(|job| matches!(job, "%" | "+" | "-") || job.bytes().all(|b| b.is_ascii_digit()))
}
