//! Paths that the commands of checks name.

use autonoe_store::CheckRegistry;

/// Whether Python may look for modules in a directory: a command names it or a file in it, or protected files are in it.
pub(crate) fn is_searched(directory: &str, registry: &CheckRegistry, commands: &[String]) -> bool {
    let is_in = |path: &str| path.rsplit_once('/').is_some_and(|(parent, _)| parent == directory);
    let names = |statement: &str| {
        let mut before = "";
        let mut is_import = false;
        statement.split(ends_word).filter(|word| !word.is_empty()).any(|word| {
            // A module that is named is found from a directory that is searched already: with `python3 -m calc`, the current one.
            let is_module = is_import || before == "-m";
            is_import |= ["from", "import"].contains(&word);
            before = word;
            let path = below_a_variable(word).trim_end_matches('/');
            is_in(path) || (path == directory && !is_module)
        })
    };
    registry.files.keys().any(|file| is_in(&file.to_string()))
        || commands.iter().flat_map(|command| command.split(['\n', ';', '&', '|'])).any(names)
}

/// A path without what it begins with, if that is computed: `src` of `./src`, `$PWD/src`, and of the rest of `$(pwd)/src` and of Python's
/// `f"{top}/src"`.
fn below_a_variable(word: &str) -> &str {
    let word = match word.split_once('/') {
        Some((first, rest)) if first.starts_with('$') || first.ends_with('}') => rest,
        _ => word,
    };
    word.trim_start_matches("./").trim_start_matches('/')
}

/// Whether a word of the commands is the path of a file.
pub(crate) fn is_named_in(commands: &[String], path: &str) -> bool {
    let mut words = commands.iter().flat_map(|command| command.split(|c| ends_word(c) || ";&|".contains(c)));
    words.any(|word| word.trim_start_matches("./") == path)
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || "\"'`()=:,".contains(c)
}
