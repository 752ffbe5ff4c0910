//! Options of commands whose value is a directory from which the program loads code or settings, such as `java -cp classes` and
//! `emacs --init-directory=own`: all that is there counts. Most directories in commands are only looked at, as by a linter.

use crate::computed_names::is_interpreter;
use crate::hook_text::commands;
use crate::interpreters::go_arguments;

/// Parts of the names of such options, in small letters and without dashes.
#[rustfmt::skip]
const NAMES: [&str; 14] = [
    "classpath", "configdir", "extensionsdir", "homedir", "initdirectory", "librarypath", "loadpath", "modulepath", "plugindir", "pluginpath",
    "pluginsdir", "pluginspath", "rulesdir", "userdatadir",
];

/// Programs, and their options of this kind whose names do not say so. Compilers find their own programs in such a directory.
const SHORT: [(&str, &str); 9] = [
    ("c++", "-B"),
    ("cc", "-B"),
    ("clang", "-B"),
    ("clang++", "-B"),
    ("g++", "-B"),
    ("gcc", "-B"),
    ("java", "-cp"),
    ("java", "-p"),
    ("jq", "-L"),
];

/// The directories that programs in a text load from, and those of the programs that `go run` builds.
pub(crate) fn loaded_directories(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for words in commands(text).map(Vec::from_iter) {
        for (at, word) in words.iter().enumerate().filter(|(_, word)| word.starts_with('-')) {
            let (name, joined) = split_value(word, &words[..at]);
            let value = if joined.is_empty() { words.get(at + 1).copied() } else { Some(joined) };
            let value = value.filter(|_| names_a_directory(name, &words[..at]));
            found.extend(value.into_iter().flat_map(|value| value.split(':')));
        }
        found.extend(go_arguments(&words, "run").map(|word| word.trim_end_matches("...")));
    }
    found.extend(text.lines().flat_map(run_archive));
    let found = found.into_iter().map(|directory| directory.trim_end_matches('*'));
    found.filter(|directory| !directory.is_empty()).collect()
}

/// What `git archive HEAD tools | tar xO | sh` takes out of commits, if an interpreter reads it on the same line.
fn run_archive(line: &str) -> Vec<&str> {
    if !line.contains("archive") {
        return Vec::new();
    }
    let commands: Vec<Vec<&str>> = commands(line).map(Vec::from_iter).collect();
    let is_archive = |words: &Vec<&str>| has_program(words, "git") && words.contains(&"archive");
    let Some(at) =
        commands.iter().position(is_archive).filter(|_| commands.iter().any(|it| is_interpreter(it)))
    else {
        return Vec::new();
    };
    let operands = commands[at].iter().skip_while(|word| **word != "archive").skip(1);
    let operands = operands.chain(commands[at + 1..].iter().flat_map(|words| words.iter().skip(1)));
    let operands = operands.filter(|word| !word.starts_with(['-', '$', '/']));
    // Of `HEAD:tools`, what comes behind the commit.
    operands.map(|word| word.split_once(':').map_or(*word, |(_, path)| path)).collect()
}

/// The name of an option, and what is joined to it.
fn split_value<'w>(word: &'w str, before: &[&str]) -> (&'w str, &'w str) {
    let short = SHORT.iter().filter(|(program, _)| has_program(before, program));
    let joined = short.filter_map(|(_, option)| word.strip_prefix(option)).find(|rest| !rest.is_empty());
    match (word.split_once('='), joined) {
        (Some(parts), _) => parts,
        (None, Some(joined)) if !word.starts_with("--") => word.split_at(word.len() - joined.len()),
        (None, _) => (word, ""),
    }
}

fn names_a_directory(option: &str, before: &[&str]) -> bool {
    let name: String = option.chars().filter(|c| !"-_.".contains(*c)).collect();
    let name = name.to_ascii_lowercase();
    let is_short = |(program, short): &(&str, &str)| *short == option && has_program(before, program);
    NAMES.iter().any(|part| name.contains(part)) || SHORT.iter().any(is_short)
}

fn has_program(words: &[&str], program: &str) -> bool {
    words.iter().any(|word| word.rsplit('/').next() == Some(program))
}

#[cfg(test)]
mod tests {
    use super::loaded_directories;
    use crate::interpreters::runs_go_files;

    #[test]
    fn directories_count_where_programs_load_from_them() {
        for (text, expected) in [
            ("emacs -nw --init-directory=own", "own"),
            ("emacs --init-directory own", "own"),
            ("gpg --homedir own", "own"),
            ("java -cp own M", "own"),
            ("/usr/bin/java -Xmx1g -classpath lib/*:own M", "lib/ own"),
            ("java --class-path=own M", "own"),
            ("java -p own -m app", "own"),
            ("java -Djava.library.path=own M", "own"),
            ("jq -L own . a.json | sort", "own"),
            ("jq -Lown .", "own"),
            ("micro -config-dir own", "own"),
            ("eslint --rulesdir own src", "own"),
            ("go run ./own --fast", "./own"),
            ("go run -race ./own/... x", "./own/"),
            ("cp -p own x; mkdir -p own; ls -L own", ""),
            ("pytest --cov=src --rootdir=tests tests", ""),
            ("eslint --ext .js --plugin react --resolve-plugins-relative-to web src", ""),
            ("gcc -Bown/ -c x.c", "own/"),
            ("/usr/bin/clang -B own -c x.c", "own"),
            ("git archive HEAD own | tar xO | sh", "HEAD own xO"),
            ("eval \"$(git archive HEAD:own | tar xO)\"", "own xO"),
            ("git archive HEAD own | gzip > x.tgz", ""),
            ("go test ./own", ""),
            ("tsc -p web", ""),
        ] {
            assert_eq!(loaded_directories(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn files_of_go_are_run_wherever_they_are() {
        for (command, expected) in [
            ("go generate ./...", true),
            ("go generate", true),
            ("go run . --fast", true),
            ("go run ./tools", false),
            ("go test ./...", false),
            ("echo generate", false),
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!(runs_go_files(&words), expected, "{command}");
        }
    }
}
