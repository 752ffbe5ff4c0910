//! What make runs because of its arguments.

use crate::words::Arg;

/// The most calls of functions in one argument whose commands are judged.
const MAX_FUNCTIONS: usize = 64;

/// The functions of make that run a command, as an expansion begins with them.
const SHELL_FUNCTIONS: [&str; 3] = ["$(shell", "${shell", "${:!"];

/// Whether an argument calls more functions than are judged.
pub fn has_too_many_functions(args: &[Arg]) -> bool {
    args.iter().any(|arg| arg.text.matches("$(").count() + arg.text.matches("${").count() > MAX_FUNCTIONS)
}

/// The text that make runs: the values of `SHELL` and `NAME!=`, what `--eval` adds, and calls of `$(shell …)`.
pub fn make_scripts(args: &[Arg]) -> Vec<String> {
    let literals: Vec<&str> = args.iter().map(|arg| arg.script().unwrap_or_default()).collect();
    let values = literals.iter().filter_map(|text| text.split_once('='));
    let following = literals.windows(2).map(|pair| (pair[0], pair[1]));
    let settings =
        values.chain(following).filter_map(|(name, value)| match name.trim_end_matches([':', '?', '+']) {
            "SHELL" => Some(value.to_owned()),
            "--eval" | "-E" => Some(value.replace([':', '\t'], ";")),
            name => name.ends_with('!').then(|| value.to_owned()),
        });
    settings.chain(literals.iter().flat_map(|text| shell_calls(text))).collect()
}

/// The commands in calls of make's functions, such as `$(shell git push)`.
fn shell_calls(text: &str) -> Vec<String> {
    let after =
        |function: &&'static str| text.match_indices(*function).map(|(at, found)| &text[at + found.len()..]);
    SHELL_FUNCTIONS.iter().flat_map(after).take(MAX_FUNCTIONS).map(command_of_call).collect()
}

/// The command at the start of `rest`, up to the end of the call. In make, `$$` stands for `$`.
fn command_of_call(rest: &str) -> String {
    let mut depth = 1;
    let end = rest.find(|character| {
        match character {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    rest[..end.unwrap_or(rest.len())].trim_end_matches('!').replace("$$", "$")
}
