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
            "--eval" | "-E" => Some(recipes(value)),
            name => name.ends_with('!').then(|| value.to_owned()),
        });
    settings.chain(literals.iter().flat_map(|text| shell_calls(text))).collect()
}

/// Whether make reads its makefile from the input.
pub fn reads_makefile(args: &[Arg]) -> bool {
    let literals: Vec<&str> = args.iter().filter_map(Arg::literal).collect();
    let is_input = |file: &str| matches!(file, "-" | "/dev/stdin" | "/dev/fd/0");
    let is_attached = |text: &&str| {
        ["-f", "--file=", "--makefile="].iter().any(|option| text.strip_prefix(option).is_some_and(is_input))
    };
    literals.iter().any(is_attached)
        || literals.windows(2).any(|pair| pair[0].starts_with('-') && is_input(pair[1]))
}

/// The recipes of a makefile as a script: what stands after colons, tabs and the marks before a command.
pub fn recipes(makefile: &str) -> String {
    let lines = makefile.replace([':', '\t'], ";\n");
    let lines = lines.split('\n').map(|line| line.trim_start_matches([';', ' ', '@', '-', '+']));
    lines.chain(shell_calls(makefile).iter().map(String::as_str)).collect::<Vec<_>>().join("\n")
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
