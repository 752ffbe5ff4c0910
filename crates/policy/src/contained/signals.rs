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

/// What stands for the numbers of processes of which some may be the agent's.
const PROCESSES: &str = "$PROCESSES";

/// Programs that a list of processes passes unchanged, as far as it matters here.
const PASSING: [&str; 7] = ["awk", "gawk", "sed", "cut", "tr", "grep", "xargs"];

/// The agent's own programs, and the first process of a system.
const OURS: [&str; 8] = ["autonoe", "claude", "codex", "gemini", "bwrap", "bash", "systemd", "init"];

/// Command lines of the agent's own processes, as `pkill -f` sees them.
const OUR_COMMAND_LINES: [&str; 5] = [
    "/usr/bin/autonoe run",
    "node /usr/bin/claude -p --output-format stream-json --verbose",
    "/usr/bin/codex exec --json",
    "node /usr/bin/gemini -p",
    "/usr/bin/bwrap --unshare-all",
];

/// What stands for the processes that a command prints: [`PARENT`] if they are the agent's.
pub fn processes(
    options: &PolicyOptions,
    name: &str,
    args: &[Arg],
    passed: Option<&str>,
) -> Option<&'static str> {
    let passed = passed.unwrap_or_default();
    let literals = || args.iter().filter_map(Arg::literal);
    let ours = |is_ours: bool, otherwise| if is_ours { Some(PARENT) } else { otherwise };
    match name {
        "ps" => ours(literals().any(|text| text.contains("ppid")), Some(PROCESSES)),
        "pgrep" => ours(judge(options, "pkill", args).is_err(), None),
        "pidof" => ours(judge(options, "killall", args).is_err(), None),
        name if !PASSING.contains(&name) => None,
        "grep" | "awk" | "gawk" | "sed" if passed.contains(PROCESSES) => {
            let excludes = literals().any(|text| text.starts_with("-v") || text.starts_with("!"));
            let names_ours = |text: &str| {
                let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
                words.into_iter().any(|word| OURS[..4].contains(&word))
                    || starts_like_ours(&text.replace(['[', ']'], ""))
            };
            ours(!excludes && literals().any(names_ours), Some(PROCESSES))
        }
        _ => ours(passed.contains(PARENT), passed.contains(PROCESSES).then_some(PROCESSES)),
    }
}

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
        if number.trim_start_matches('$') == PARENT.trim_start_matches('$') {
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
    let is_pkill = program == "pkill";
    let selection = Selection::of(is_pkill, args);
    let has = |letter: char, long: &str| selection.has(letter, long);
    if selection.patterns.is_empty() && !selection.has_unknown {
        let is_question = has('l', "list") || has('V', "version") || has('\0', "help");
        // With these the processes are named in another way.
        let names_others = is_pkill && (has('P', "parent") || has('F', "pidfile"));
        if !is_question && !names_others {
            return refuse(&format!("{program} requires a process name."));
        }
    }
    let is_agents = |parent: &str| {
        parent.split(',').any(|number| {
            number == PARENT
                || is_one(number)
                || (number.starts_with('0') && number.trim_matches('0').is_empty())
        })
    };
    if is_pkill && selection.values('P', "parent").any(is_agents) {
        return refuse(&format!("{program} may not select the children of the agent or of process 1."));
    }
    if is_pkill
        && [('G', "group"), ('g', "pgroup"), ('s', "session"), ('v', "inverse")]
            .iter()
            .any(|(c, l)| has(*c, l))
    {
        return refuse(&format!("{program} may only select processes by name."));
    }
    let is_full = is_pkill && has('f', "full");
    let is_expression = is_pkill || has('r', "regexp");
    let is_exact = is_pkill && has('x', "exact");
    let has_case = !has('i', "ignore-case") && !has('I', "ignore-case");
    let lines = OUR_COMMAND_LINES.iter().filter(|_| is_full);
    for pattern in selection.patterns {
        if options.pkill_targets.iter().any(|target| target == pattern) {
            continue;
        }
        let is_ours = |name: &&str| matches(pattern, name, is_exact, has_case);
        let bare = pattern.trim_matches(['^', '$', '*', '.', '\\', '+', '?', '[', ']', '|', ' ']);
        let bare = if has_case { bare.to_owned() } else { bare.to_lowercase() };
        let bare = bare.as_str();
        if (is_expression && OURS.iter().chain(lines.clone()).any(is_ours))
            || bare.is_empty()
            || OURS.contains(&bare)
            || (is_full && (bare == "node" || starts_like_ours(bare)))
        {
            return refuse(&format!("'{program} {pattern}' would end the agent's own processes."));
        }
    }
    Ok(())
}

/// Whether a pattern begins with the name of one of the agent's own programs.
fn starts_like_ours(pattern: &str) -> bool {
    let first = pattern.split(|c: char| c.is_whitespace() || "*|(.\\".contains(c)).next().unwrap_or_default();
    let program = first.rsplit('/').next().unwrap_or_default();
    OURS[..5].contains(&program)
}

/// How `pkill` or `killall` selects processes.
struct Selection<'a> {
    /// Options with their values.
    options: Vec<(&'a str, Option<&'a str>)>,
    /// The known ones.
    patterns: Vec<&'a str>,
    /// Whether there are others.
    has_unknown: bool,
}

impl<'a> Selection<'a> {
    fn of(is_pkill: bool, args: &'a [Arg]) -> Self {
        let (letters, words): (&str, &[&str]) = match is_pkill {
            true => (
                "PGgstuUFOrqA",
                &[
                    "signal",
                    "parent",
                    "pgroup",
                    "group",
                    "session",
                    "terminal",
                    "euid",
                    "uid",
                    "pidfile",
                    "older",
                    "runstates",
                    "queue",
                    "cgroup",
                    "ns",
                    "nslist",
                    "env",
                ],
            ),
            false => ("soyunZ", &["signal", "older-than", "younger-than", "user", "ns", "context"]),
        };
        let mut found = Self { options: Vec::new(), patterns: Vec::new(), has_unknown: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let Some(text) = arg.literal() else {
                found.has_unknown |= !arg.text.starts_with('-');
                continue;
            };
            let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
                found.patterns.push(text);
                continue;
            };
            let mut value =
                |attached: Option<&'a str>| attached.or_else(|| args.next().map(|arg| arg.text.as_str()));
            if let Some(long) = option.strip_prefix('-') {
                let (name, attached) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let is_valued = !name.is_empty() && words.iter().any(|word| word.starts_with(name));
                found.options.push((long, if is_valued { value(attached) } else { attached }));
                continue;
            }
            // A signal: `-9`, `-KILL`, `-sigterm`.
            let is_signal =
                option.len() > 1 && option.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
            if is_signal || option.parse::<u8>().is_ok() || option.to_lowercase().starts_with("sig") {
                continue;
            }
            match option.find(|letter| letters.contains(letter)) {
                Some(at) => {
                    let attached = Some(&option[at + 1..]).filter(|attached| !attached.is_empty());
                    found.options.push((&text[..at + 2], value(attached)));
                }
                None => found.options.push((text, None)),
            }
        }
        found
    }

    /// Whether an option is given by its letter, its name or the beginning of it.
    fn has(&self, letter: char, long: &str) -> bool {
        self.options.iter().any(|(option, _)| is_option(option, letter, long))
    }

    fn values(&self, letter: char, long: &str) -> impl Iterator<Item = &'a str> {
        self.options
            .iter()
            .filter(move |(option, _)| is_option(option, letter, long))
            .filter_map(|(_, value)| *value)
    }
}

fn is_option(option: &str, letter: char, long: &str) -> bool {
    match option.strip_prefix('-') {
        Some(letters) => letters.contains(letter),
        None => {
            let name = option.split('=').next().unwrap_or_default();
            !name.is_empty() && long.starts_with(name)
        }
    }
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
