//! What git runs because of its arguments: settings that are commands, and options whose value is a command.

use super::command_values::command_of_setting;
use crate::words::Arg;

/// Options whose value git runs. Git accepts their beginnings too.
const LONG_OPTIONS: [&str; 5] =
    ["--extcmd", "--open-files-in-pager", "--upload-pack", "--receive-pack", "--exec"];
/// The shortest beginning that is taken for one of them.
const SHORTEST_BEGINNING: usize = "--exe".len();
/// Subcommands, and their short options whose value git runs.
const SHORT_OPTIONS: [(&str, &str); 4] =
    [("difftool", "-x"), ("rebase", "-x"), ("grep", "-O"), ("clone", "-u")];

/// The commands that a call of git runs. `values` are those that a variable may have, for `--config-env`.
pub fn git_commands(args: &[Arg], values: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let literals: Vec<&str> = args.iter().map(|arg| arg.script().unwrap_or_default()).collect();
    let attached = literals.iter().enumerate().filter_map(|(at, text)| {
        let is_value = at > 0 && matches!(literals[at - 1], "-c" | "--config");
        let given = text.strip_prefix("--config=").or_else(|| text.strip_prefix("-c"));
        if is_value { Some(*text) } else { given }?.split_once('=')
    });
    let is_config = literals.contains(&"config");
    let following = literals.windows(2).map(|pair| (pair[0], pair[1]));
    let following = following.filter(|(key, _)| is_config && !key.contains('='));
    let settings = attached.chain(following).filter_map(|(key, value)| command_of_setting(key, value));
    let from_variables = literals.iter().flat_map(|text| {
        let setting = text.strip_prefix("--config-env=").unwrap_or(text).split_once('=');
        let commands = setting.map(|(key, variable)| {
            values(variable).iter().filter_map(|value| command_of_setting(key, value)).collect::<Vec<_>>()
        });
        commands.unwrap_or_default()
    });
    settings.chain(from_variables).chain(option_values(&literals)).collect()
}

fn option_values(literals: &[&str]) -> Vec<String> {
    let short: Vec<&str> =
        SHORT_OPTIONS.iter().filter(|(sub, _)| literals.contains(sub)).map(|(_, option)| *option).collect();
    let value = |(at, text): (usize, &&str)| {
        let next = || literals.get(at + 1).map(|value| (*value).to_owned());
        if let Some(option) = short.iter().find(|option| text.starts_with(**option)) {
            let attached = &text[option.len()..];
            return if attached.is_empty() { next() } else { Some(attached.to_owned()) };
        }
        let (name, attached) =
            text.split_once('=').map_or((*text, None), |(name, value)| (name, Some(value)));
        let is_listed =
            name.len() >= SHORTEST_BEGINNING && LONG_OPTIONS.iter().any(|option| option.starts_with(name));
        is_listed.then(|| attached.map(str::to_owned).or_else(next)).flatten()
    };
    literals.iter().enumerate().filter_map(value).collect()
}
