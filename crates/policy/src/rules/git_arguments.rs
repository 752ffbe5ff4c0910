//! git's arguments: the global options before the subcommand, and the arguments of a subcommand.

use super::options::names_one_of;
use super::reads;
use super::scope::CommandScope;
use crate::verdict::{Denial, RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

pub struct GitSubcommand {
    pub name: &'static str,
    /// Whether `sync` may use it, because it has forms that change nothing.
    pub reads: bool,
    /// Options that run other programs, write elsewhere or destroy data.
    pub denied: &'static [&'static str],
    /// A further check of its arguments.
    pub extra_check: fn(&mut CommandScope<'_>, &[Arg]) -> RuleResult,
}

/// Settings that `-c` and `git config` may change.
const SETTINGS: [&str; 7] = [
    "user.name",
    "user.email",
    "color.ui",
    "core.quotepath",
    "init.defaultbranch",
    "pull.rebase",
    "core.autocrlf",
];

/// Options that take a value in every subcommand that has them.
const VALUED: [&str; 11] = [
    "--message",
    "--file",
    "--author",
    "--date",
    "--grep",
    "--since",
    "--until",
    "--after",
    "--before",
    "--max-count",
    "--trailer",
];

/// Subcommands, and their short options that take a value. In other subcommands these letters mean something else.
const VALUED_LETTERS: [(&[&str], &[&str]); 3] = [
    (&["commit", "tag", "stash", "merge"], &["-m", "-F", "-am", "-qm", "-sm", "-aqm", "-qam", "-asm"]),
    (&["log", "show", "diff", "shortlog", "whatchanged", "blame"], &["-n", "-S", "-G", "-L"]),
    (&["checkout", "switch", "branch", "init"], &["-b", "-B", "-c", "-C"]),
];

fn takes_value(subcommand: &str, option: &str) -> bool {
    let letters = VALUED_LETTERS
        .iter()
        .filter(|(names, _)| names.contains(&subcommand))
        .flat_map(|(_, letters)| *letters);
    VALUED.contains(&option) || letters.into_iter().any(|letter| *letter == option)
}

/// Judges the options before the subcommand and returns the arguments after them. `-C` moves the scope to its
/// directory.
pub fn global_options<'c>(scope: &mut CommandScope<'_>, args: &'c [Arg]) -> Result<&'c [Arg], Denial> {
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        match (arg.literal(), after) {
            (Some("--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" | "--version"), _) => {
                rest = after
            }
            (Some("-C"), [directory, after @ ..]) => {
                let text = directory.literal().unwrap_or("/");
                scope.count_path()?;
                scope.directories = scope.paths.enter_physical(&scope.directories, text)?;
                rest = after;
            }
            (Some("-c"), [setting, after @ ..]) => {
                let key = setting.text.split_once('=').map(|(key, _)| key);
                let has_plain_pager = setting.literal().is_some_and(|text| text == "core.pager=cat");
                let is_harmless = has_plain_pager || key.is_some_and(is_harmless_setting);
                if setting.kind == ArgKind::Several || !is_harmless {
                    return Err(denied_setting(&setting.text));
                }
                rest = after;
            }
            (Some(option), _) if option.starts_with('-') => {
                return Err(Denial::new("git.option", format!("The git option '{option}' is not allowed."))
                    .instead("Leave the option out."));
            }
            _ => break,
        }
    }
    Ok(rest)
}

/// Whether a setting cannot make git run a program.
pub fn is_harmless_setting(key: &str) -> bool {
    let key = key.to_lowercase();
    SETTINGS.contains(&key.as_str()) || key.starts_with("advice.")
}

pub fn denied_setting(key: &str) -> Denial {
    Denial::new("git.config", format!("Setting '{key}' is not allowed: git settings can run programs."))
        .instead("Only user.name, user.email and a few harmless settings may be set, in this repository.")
}

pub fn arguments(scope: &mut CommandScope<'_>, subcommand: &GitSubcommand, args: &[Arg]) -> RuleResult {
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if arg.literal() == Some("--") {
            return rest.iter().try_for_each(|path| reads::judge(scope, path));
        }
        let is_denied = names_one_of(arg, subcommand.denied) || names_one_of(arg, &WRITING);
        if is_denied && !is_attached_message(subcommand.name, arg) {
            return deny_with_hint(
                "git.option",
                format!("The option '{}' of git {} is not allowed.", arg.text, subcommand.name),
                "Leave the option out.",
            );
        }
        if arg.literal().is_some_and(|text| takes_value(subcommand.name, text))
            && let Some((value, after)) = rest.split_first()
            && value.kind != ArgKind::Several
            && !value.text.starts_with('-')
        {
            rest = after;
        }
        if arg.is_operand() && (subcommand.name == "diff" || leads_out(&arg.text)) {
            reads::judge(scope, arg)?;
        }
        match order_file(&arg.text).filter(|_| subcommand.name != "grep") {
            Some("") => rest.first().map_or(Ok(()), |file| reads::judge(scope, file))?,
            Some(file) => reads::judge(scope, &Arg::new(file, arg.kind))?,
            None => {}
        }
        judge_file_option(scope, subcommand.name, arg, after)?;
        let named = arg.kind == ArgKind::Unknown && arg.text.starts_with("--") && arg.text.contains('=');
        if arg.kind != ArgKind::Plain && arg.may_be_option() && !named {
            return deny_with_hint(
                "git.unknown",
                "An argument of git that is not known before the command runs could be an option.",
                "Write it literally, or put it in double quotes after '--' or as the value of -m.",
            );
        }
    }
    Ok(())
}

/// Whether the text of an operand may be a path outside. Git itself follows no links, except in `git diff` of two files.
fn leads_out(text: &str) -> bool {
    text.starts_with(['/', '~']) || text.split('/').any(|component| component == "..")
}

/// Options of all subcommands that show commits, also of those where git does not document them.
const WRITING: [&str; 2] = ["--output", "--output-directory"];

/// Long options of any subcommand whose value is a file that git reads.
const FILES: [&str; 9] = [
    "--contents",
    "--pathspec-from-file",
    "--exclude-from",
    "--file",
    "--ignore-revs-file",
    "--skip-list",
    "--from-file",
    "--signature-file",
    "--description-file",
];

/// Short options whose value is a file that git reads, and their subcommands.
const FILE_LETTERS: [(&[&str], char); 4] = [
    (&["commit", "tag", "merge", "stash"], 'F'),
    (&["grep", "config"], 'f'),
    (&["ls-files"], 'X'),
    (&["blame", "annotate"], 'S'),
];

/// The file with an order that is attached to `-O` of a diff, also behind options without values; nothing if it is the next argument.
fn order_file(text: &str) -> Option<&str> {
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    let (before, file) = letters.split_once('O')?;
    (before.chars().all(|letter| "abpqrsuwzRW".contains(letter))).then_some(file)
}

/// Judges a file that an option names, attached or in the next argument.
fn judge_file_option(scope: &mut CommandScope<'_>, subcommand: &str, arg: &Arg, after: &[Arg]) -> RuleResult {
    let Some(text) = arg.text.strip_prefix('-') else { return Ok(()) };
    if let Some(long) = text.strip_prefix('-') {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        // git accepts abbreviations.
        if name.is_empty() || !FILES.iter().any(|option| option[2..].starts_with(name)) {
            return value.filter(|_| subcommand != "log").map_or(Ok(()), |_| judge_outside(scope, arg));
        }
        return match (value, after.first()) {
            (Some(value), _) => reads::judge(scope, &Arg::new(value, arg.kind)),
            (None, Some(value)) => reads::judge(scope, value),
            (None, None) => Ok(()),
        };
    }
    let letter =
        FILE_LETTERS.iter().find(|(names, _)| names.contains(&subcommand)).map(|(_, letter)| *letter);
    match letter.and_then(|letter| text.split_once(letter)) {
        Some(_) if is_attached_message(subcommand, arg) => Ok(()),
        // What follows these letters is their value.
        Some((before, _))
            if before.contains(if letter == Some('F') { &['m'][..] } else { &['m', 'e', 'L'] }) =>
        {
            Ok(())
        }
        Some((_, "")) => after.first().map_or(Ok(()), |value| reads::judge(scope, value)),
        Some((_, value)) => reads::judge(scope, &Arg::new(value, arg.kind)),
        None => Ok(()),
    }
}

/// Judges the value of another long option if it is the absolute path of a file or leads upwards.
fn judge_outside(scope: &mut CommandScope<'_>, arg: &Arg) -> RuleResult {
    match arg.text.split_once('=') {
        Some((_, value)) if value.starts_with("../") || value.contains("/../") => {
            reads::judge_value(scope, arg)
        }
        Some((_, value)) if value.starts_with('/') && std::path::Path::new(value).exists() => {
            reads::judge_value(scope, arg)
        }
        _ => Ok(()),
    }
}

/// Whether the argument is `-mMessage`, whose letters are not options.
fn is_attached_message(subcommand: &str, arg: &Arg) -> bool {
    matches!(subcommand, "commit" | "tag" | "merge")
        && ["-m", "-am", "-qm"].iter().any(|option| arg.text.starts_with(option))
}
