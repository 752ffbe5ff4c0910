//! Signals at the contained level. The sandbox keeps them inside the session, where the session's own first process
//! and the agent live too.

use regex::RegexBuilder;

use crate::policy_options::PolicyOptions;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::Arg;

/// The longest pattern that is read, and the most memory for it, in bytes.
const MAX_PATTERN: usize = 256;
const MAX_EXPRESSION: usize = 64 * 1024;

/// What stands for the value of `$PPID`.
pub const PARENT: &str = "$PPID";

pub fn judge(options: &PolicyOptions, name: &str, args: &[Arg]) -> RuleResult {
    match name {
        "kill" => kill(args),
        "killall5" => refuse("killall5 signals every process."),
        "skill" if !args.is_empty() => refuse("skill may select processes by their user or terminal."),
        "fuser" => fuser(args),
        "pkill" | "killall" => by_name(options, name, args),
        _ => Ok(()),
    }
}

/// Denies process 1, every process at once (`-1` after a signal or `--`), and the process that started the shell.
fn kill(args: &[Arg]) -> RuleResult {
    let is_signal = |arg: &Arg| arg.literal().is_some_and(|text| text.starts_with('-') && text.len() > 1);
    let targets = match args {
        [option, _, rest @ ..] if matches!(option.literal(), Some("-s" | "-n" | "--signal")) => rest,
        [option, rest @ ..] if is_signal(option) && !rest.is_empty() => rest,
        args => args,
    };
    for target in targets.iter().filter_map(Arg::literal) {
        let number = target.trim_start_matches(['-', '+']);
        if number == PARENT {
            return refuse("kill may not signal the shell's parent, which is the agent's.");
        }
        if is_one(number) {
            return refuse("kill may not signal process 1 or every process.");
        }
    }
    Ok(())
}

/// `fuser -k` may end the server at a port, but not whatever uses a file or a directory.
fn fuser(args: &[Arg]) -> RuleResult {
    let is_kill = |text: &str| {
        text == "--kill" || (text.starts_with('-') && !text.starts_with("--") && text.contains('k'))
    };
    let is_port = |text: &str| {
        matches!(text, "tcp" | "udp")
            || text.trim_end_matches("/tcp").trim_end_matches("/udp").parse::<u16>().is_ok()
    };
    let literals = || args.iter().filter_map(Arg::literal);
    let names_files = literals().any(|text| !text.starts_with('-') && !is_port(text));
    match literals().any(is_kill) && names_files {
        true => refuse("fuser may only end processes by their port."),
        false => Ok(()),
    }
}

/// Whether a number, in any notation that a `kill` accepts, is 1.
fn is_one(number: &str) -> bool {
    let number = number.trim();
    let digits = number.strip_prefix("0x").or_else(|| number.strip_prefix("0X")).unwrap_or(number);
    digits.trim_start_matches('0') == "1"
}

/// Denies a name that would match the agent's own processes or every process.
fn by_name(options: &PolicyOptions, program: &str, args: &[Arg]) -> RuleResult {
    const OURS: [&str; 6] = ["autonoe", "claude", "codex", "gemini", "bwrap", "bash"];
    let literals = || args.iter().filter_map(Arg::literal);
    let selects_otherwise = |text: &str| {
        let long = ["--group", "--pgroup", "--session", "--inverse"];
        let is_other =
            matches!(text, "-G" | "-g" | "-s" | "-v") || long.iter().any(|long| text.starts_with(long));
        program == "pkill" && is_other
    };
    // With a name too, both have to fit.
    let is_user = |text: &str| matches!(text, "-u" | "-U" | "--user" | "--uid" | "--euid");
    let is_of_user = |at: usize| at > 0 && args[at - 1].literal().is_some_and(is_user);
    let patterns: Vec<&Arg> = (0..args.len())
        .filter(|at| !is_of_user(*at))
        .map(|at| &args[at])
        .filter(|arg| !arg.text.starts_with('-'))
        .collect();
    if patterns.is_empty() && !literals().any(|text| matches!(text, "-l" | "-V" | "--help" | "--version")) {
        return refuse(&format!("{program} requires a process name."));
    }
    let is_parent = |text: &str| text.trim_start_matches("-P").trim_start_matches("--parent=") == PARENT;
    let after_parent = args.windows(2).filter(|pair| matches!(pair[0].literal(), Some("-P" | "--parent")));
    let names_first = after_parent.filter_map(|pair| pair[1].literal()).any(is_one);
    if literals().any(is_parent) || names_first {
        return refuse(&format!("{program} may not select the children of the agent or of process 1."));
    }
    if literals().any(selects_otherwise) {
        return refuse(&format!("{program} may only select processes by name."));
    }
    let is_full = literals().any(|text| {
        text == "--full" || (!text.starts_with("--") && text.starts_with('-') && text.contains('f'))
    });
    for pattern in patterns.iter().filter_map(|pattern| pattern.literal()) {
        if options.pkill_targets.iter().any(|target| target == pattern) {
            continue;
        }
        let has_letter = |letter: char| {
            literals().any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(letter))
        };
        let has_long = |long: &str| literals().any(|text| text == long);
        let is_pkill = program == "pkill";
        let is_expression = is_pkill || has_letter('r') || has_long("--regexp");
        let is_exact = is_pkill && (has_letter('x') || has_long("--exact"));
        let has_case = !has_letter('i') && !has_letter('I') && !has_long("--ignore-case");
        if is_expression && OURS.iter().any(|name| matches(pattern, name, is_exact, has_case)) {
            return refuse(&format!("'{program} {pattern}' would end the agent's own processes."));
        }
        let bare = pattern.trim_matches(['^', '$', '*', '.', '\\', '+', '?', '[', ']', '|', ' ']);
        let bare = if has_case { bare.to_owned() } else { bare.to_lowercase() };
        let bare = bare.as_str();
        if bare.is_empty() || OURS.contains(&bare) || (program == "pkill" && is_full && bare == "node") {
            return refuse(&format!("'{program} {pattern}' would end the agent's own processes."));
        }
    }
    Ok(())
}

/// Whether the regular expression of `pkill` matches a name. One that cannot be read matches none.
fn matches(pattern: &str, name: &str, is_exact: bool, has_case: bool) -> bool {
    let expression = if is_exact { format!("^(?:{pattern})$") } else { pattern.to_owned() };
    let built = RegexBuilder::new(&expression).case_insensitive(!has_case).size_limit(MAX_EXPRESSION).build();
    pattern.len() <= MAX_PATTERN && built.is_ok_and(|expression| expression.is_match(name))
}

fn refuse(reason: &str) -> RuleResult {
    deny_with_hint(
        "contained.signal",
        reason,
        "Name the process that you started: `pkill -f '[n]ode server.js'`, whose brackets keep it from ending the command itself.",
    )
}
