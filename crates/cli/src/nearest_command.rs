//! Names the nearest command after a typo. clap does so only for words that share most of their letters in order, so not for `rnu`.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// A word this far from a command or nearer is a typo: letters left out, added, replaced, or swapped with the next one.
const MAX_TYPOS: usize = 2;

/// Adds the nearest command to the error of an unknown one; other errors stay as they are. `args` are without the program.
pub fn suggest_command(mut error: Error, cli: Command, args: &[String]) -> Error {
    if error.kind() != ErrorKind::InvalidSubcommand || error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    if let Some(nearest) = nearest(typed, &siblings(cli, args, typed)) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![nearest]));
    }
    error
}

/// The commands among which the word was typed.
fn siblings(cli: Command, args: &[String], typed: &str) -> Vec<String> {
    let mut command = &cli;
    for word in args.iter().take_while(|word| *word != typed) {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|one| one.get_name().to_owned())
        .collect()
}

fn nearest(typed: &str, names: &[String]) -> Option<String> {
    // Of a short word, two changes leave too little.
    let most = MAX_TYPOS.min(typed.chars().count() / 2);
    let near = names.iter().map(|name| (typos(typed, name), name)).filter(|(count, _)| *count <= most);
    near.min().map(|(_, name)| name.clone())
}

/// Changes of one letter between two words, and swaps of neighbours (the optimal string alignment distance).
fn typos(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(a != b);
            let mut least = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::{nearest, typos};

    #[test]
    fn typos_are_counted() {
        for (one, other, count) in [
            ("run", "run", 0),
            ("rnu", "run", 1),
            ("statsu", "status", 1),
            ("", "ab", 2),
            ("lsit", "list", 1),
            ("abc", "xyz", 3),
        ] {
            assert_eq!(typos(one, other), count, "{one} {other}");
        }
    }

    #[test]
    fn only_a_near_command_is_named() {
        let names = ["run", "resume", "report", "status", "sync"].map(str::to_owned);
        assert_eq!(nearest("rnu", &names).as_deref(), Some("run"));
        assert_eq!(nearest("snc", &names).as_deref(), Some("sync"));
        assert_eq!(nearest("reprot", &names).as_deref(), Some("report"));
        assert_eq!(nearest("x", &names), None);
        assert_eq!(nearest("deploy", &names), None);
    }
}
