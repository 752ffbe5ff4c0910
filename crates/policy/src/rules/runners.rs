//! Programs of the profiles that run another program, as `npx`, `uv run` and `bundle exec` do: what has a rule of its own is judged by that
//! rule. The others are programs of the profiles too, or of packages.

use super::rule::CommandCall;
use super::scope::CommandScope;
use crate::contained;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

/// Words between the runner and the program.
const RUN_WORDS: [&str; 8] = ["dlx", "exe", "exec", "explore", "run", "task", "tool", "x"];

/// Runners that take the text of a command for a shell, and the options before it; none if every argument is one.
const SHELL_TEXTS: [(&str, &[&str]); 6] = [
    ("npx", &["-c", "--call"]),
    ("npm", &["-c", "--call"]),
    ("concurrently", &[]),
    ("nodemon", &["-x", "--exec"]),
    ("cargo-watch", &["-s", "--shell"]),
    ("cargo", &["-s", "--shell"]),
];

/// How deep runners may run each other.
const MAX_DEPTH: usize = 8;

pub fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    judge_within(scope, call.name, call.args, MAX_DEPTH)
}

fn judge_within(scope: &mut CommandScope<'_>, name: &str, args: &[Arg], depth: usize) -> RuleResult {
    let Some(start) = contained::inner_command(name, args) else { return Ok(()) };
    if depth == 0 {
        return deny_with_hint(
            "command.wrapped",
            "Too many programs run each other.",
            "Run the program directly.",
        );
    }
    let starts = possible_starts(args, start);
    let own = starts.last().map_or(args, |last| &args[..=*last]);
    shell_texts(name, args, own).for_each(|text| scope.scripts.push(text.to_owned()));
    let behind = args.iter().position(|arg| arg.literal() == Some("--")).map(|at| at + 1);
    for at in starts.into_iter().chain(behind) {
        let argv = args.get(at..).unwrap_or_default();
        let Some((program, rest)) = argv.split_first() else { continue };
        let values = if program.may_be.is_empty() { std::slice::from_ref(program) } else { &program.may_be };
        for program in values.iter().filter_map(Arg::literal) {
            let program = program.rsplit('/').next().unwrap_or(program);
            // Only a shell has built-ins.
            match super::find(program).filter(|rule| !rule.name.starts_with("builtin")) {
                Some(_) => scope.judge_wrapped(argv)?,
                None => judge_within(scope, program, rest, depth - 1)?,
            }
        }
    }
    Ok(())
}

/// Where the program may begin: the first word that is no option, and each that may be the value of one.
fn possible_starts(args: &[Arg], start: usize) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut may_be_value = false;
    for (at, arg) in args.iter().enumerate().skip(start) {
        let text = arg.text.as_str();
        if text.starts_with('-') {
            may_be_value = !text.contains('=');
        } else if RUN_WORDS.contains(&text) {
            may_be_value = false;
        } else if !text.contains('=') {
            starts.push(at);
            if !may_be_value && arg.kind != ArgKind::Several {
                break;
            }
            may_be_value = false;
        }
    }
    starts
}

/// The arguments that a runner gives to a shell. `own` are those up to the program.
fn shell_texts<'a>(name: &str, args: &'a [Arg], own: &'a [Arg]) -> impl Iterator<Item = &'a str> {
    let options = SHELL_TEXTS.iter().find(|(runner, _)| *runner == name).map(|(_, options)| *options);
    let args = if options.is_some_and(<[_]>::is_empty) { args } else { own };
    let is_text = move |at: usize, text: &str| match options {
        None => false,
        Some([]) => text.contains(char::is_whitespace),
        Some(options) => {
            let before = at.checked_sub(1).and_then(|before| args[before].literal());
            before.is_some_and(|before| options.contains(&before))
        }
    };
    let attached = move |text: &'a str| {
        let (option, value) = text.split_once('=')?;
        options.is_some_and(|options| options.contains(&option)).then_some(value)
    };
    let texts = args.iter().enumerate().filter_map(|(at, arg)| arg.literal().map(|text| (at, text)));
    texts.filter_map(move |(at, text)| attached(text).or_else(|| is_text(at, text).then_some(text)))
}
