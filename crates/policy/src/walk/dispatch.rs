//! Finds the rule for a command's name and applies it.

use crate::rules::environment::{self, VariableReader};
use crate::rules::rule::{Caller, CommandCall};
use crate::rules::scope::CommandScope;
use crate::rules::{self, devscript, profile_commands, profiles, scripts};
use crate::verdict::{Denial, RuleResult, deny, deny_with_hint};
use crate::words::Arg;

/// Directories in which an allowed command may be named by its path.
const SYSTEM: [&str; 3] = ["/bin/", "/usr/bin/", "/usr/local/bin/"];

/// Directories in which package managers install a project's own programs.
const INSTALLED: [&str; 4] = ["node_modules/.bin/", ".venv/bin/", "venv/bin/", "vendor/bin/"];

/// The most ways to fill in what the arguments of a command may be.
const MAX_POSSIBLE: usize = 64;

/// Judges a command that another program runs.
pub fn dispatch_wrapped(scope: &mut CommandScope<'_>, argv: &[Arg]) -> RuleResult {
    dispatch(scope, argv, Caller::Program)
}

/// Judges a command. The caller has checked that it is not a function.
pub fn dispatch(scope: &mut CommandScope<'_>, argv: &[Arg], caller: Caller) -> RuleResult {
    let Some((name, args)) = argv.split_first() else {
        return deny("command.missing", "A command is missing.");
    };
    let Some(name) = name.literal().filter(|name| !name.is_empty()) else {
        return deny_with_hint(
            "command.dynamic",
            "The command name is not known before the command runs.",
            "Write a literal command name.",
        );
    };
    if name.contains('/') {
        return dispatch_path(scope, name, args);
    }
    dispatch_name(scope, CommandCall { name, args, caller })
}

/// Judges a command of this name. One that is denied because an argument is not known is judged with each value that the script gives it.
fn dispatch_name(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let possible = possible_arguments(call.args);
    if possible.is_empty() {
        return judge_named(scope, call);
    }
    let before = scope.clone();
    if judge_named(scope, call).is_ok() {
        return Ok(());
    }
    possible.iter().try_for_each(|args| {
        *scope = before.clone();
        judge_named(scope, CommandCall { args, ..call })
    })
}

/// The arguments with each of the values that those that are not known may have; none if they are known, or if not all values are.
fn possible_arguments(args: &[Arg]) -> Vec<Vec<Arg>> {
    if args.iter().all(|arg| arg.known_values().is_none()) {
        return Vec::new();
    }
    let mut possible = vec![Vec::new()];
    for arg in args {
        let values = arg.known_values().unwrap_or(std::slice::from_ref(arg));
        if possible.len() * values.len() > MAX_POSSIBLE {
            return Vec::new();
        }
        let with = |before: &Vec<Arg>, value: &Arg| before.iter().chain([value]).cloned().collect();
        possible =
            possible.iter().flat_map(|before| values.iter().map(move |value| with(before, value))).collect();
    }
    possible
}

fn judge_named(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let added = is_user_command(scope, call);
    if let Some(rule) = rules::find(call.name) {
        if !added && scope.options.is_sync() && rule.run_only {
            return deny_with_hint(
                "sync.command",
                format!("'{}' is not available in sync, which only verifies.", call.name),
                "Use test, lint and build commands, or commands that only read.",
            );
        }
        scope.allowed_by(rule.name);
        scope.files_changed |= matches!(rule.name, "rm" | "mv" | "git");
        match VariableReader::of_rule(rule) {
            // It judges them where it runs.
            VariableReader::Make => {}
            reader => environment::judge_for(scope, reader)?,
        }
        return (rule.judge)(scope, call);
    }
    scope.files_changed = true;
    environment::judge_for(scope, VariableReader::Project)?;
    match profiles::judge(scope, call) {
        Some(Ok(rule)) => {
            scope.allowed_by(rule);
            Ok(())
        }
        _ if added => {
            scope.allowed_by("allowCommands");
            Ok(())
        }
        Some(Err(denial)) => Err(denial),
        None => Err(unknown(call.name)),
    }
}

/// Judges a command named by its path. The file name identifies the command only in the directories where the
/// system or the project's package managers install programs.
fn dispatch_path(scope: &mut CommandScope<'_>, path: &str, args: &[Arg]) -> RuleResult {
    environment::judge_for(scope, VariableReader::Project)?;
    if devscript::is_dev_script(scope, path) {
        scope.files_changed = true;
        scope.allowed_by("devscript");
        return devscript::judge(path, args);
    }
    if scope.options.allow_commands.iter().any(|allowed| allowed == path) {
        scope.files_changed = true;
        scope.allowed_by("allowCommands");
        return Ok(());
    }
    if !scope.options.is_sync() && !devscript::has_its_name(path) && scripts::is_own_script(scope, path) {
        scope.files_changed = true;
        scope.allowed_by("script");
        return Ok(());
    }
    let system = SYSTEM.iter().find_map(|directory| path.strip_prefix(directory));
    let name = system.or_else(|| installed_in_project(path));
    match name.filter(|name| !name.contains('/')) {
        Some(name) => dispatch_name(scope, CommandCall { name, args, caller: Caller::Program }),
        None => {
            let bare = path.rsplit('/').next().unwrap_or(path);
            deny_with_hint(
                "command.path",
                format!("'{path}' is a path, not an allowed command."),
                format!(
                    "Name an existing script of the project, use the command '{bare}', or add '{path}' to allowCommands."
                ),
            )
        }
    }
}

/// Whether the user's `allowCommands` contains this command.
fn is_user_command(scope: &CommandScope<'_>, call: CommandCall<'_>) -> bool {
    scope.options.allow_commands.iter().any(|allowed| {
        let mut words = allowed.split_whitespace();
        words.next() == Some(call.name)
            && words.enumerate().all(|(at, word)| call.args.get(at).and_then(Arg::literal) == Some(word))
    })
}

fn unknown(name: &str) -> Denial {
    let alternative = match name {
        "perl" => "Use the Edit tool to change files, or sed, grep, cut, head and tail",
        "wget" => "Use curl for a local server, or run a script with its interpreter",
        "killall" => "Use pkill with the name of a development process",
        _ => "Use an allowed command",
    };
    Denial::new("command.unknown", format!("'{name}' is not in the list of allowed commands."))
        .instead(format!("{alternative}, or add '{name}' to allowCommands in .autonoe/agent.json."))
}

/// The name of a language's program that is installed in the project. It is judged like the bare name: an agent that
/// may install packages or run an interpreter controls what it does anyway.
fn installed_in_project(path: &str) -> Option<&str> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let name = INSTALLED.iter().find_map(|directory| path.strip_prefix(directory))?;
    profile_commands::is_known(name).then_some(name)
}
