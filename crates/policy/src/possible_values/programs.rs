//! What programs print of the text that a script gives them, by a pipe or as arguments.

use std::collections::BTreeSet;

use super::transformed::{leads_nowhere, replaced};
use super::{UNKNOWN, anything, computed, is_open};
use crate::paths::is_on_this_machine;

/// Programs that print whole lines of what they read, with the letters and the beginning of options that change that.
const KEEPING_LINES: [(&[&str], &str, &str); 5] = [
    (&["sort", "tee"], "", "--key-"),
    (&["cat"], "bnAeEtTv", "--"),
    (&["head", "tail"], "c", "--b"),
    (&["tac", "uniq"], "cs", "--"),
    (&["grep", "egrep", "fgrep", "rg"], "bcnorHZ", "--"),
];

/// Programs that make only names of names, if their arguments are plain.
const KEEPING_NAMES: [&str; 8] = ["tr", "rev", "cut", "fold", "wc", "head", "tail", "grep"];

/// More programs that print files.
const PRINTING: [&str; 12] =
    ["awk", "base64", "column", "comm", "expand", "join", "jq", "nl", "paste", "sed", "strings", "xxd"];

/// Programs that do not print what their arguments are made of.
const SILENT: [&str; 28] = [
    "cat",
    "cmp",
    "comm",
    "cut",
    "df",
    "diff",
    "du",
    "egrep",
    "fgrep",
    "file",
    "grep",
    "head",
    "id",
    "ls",
    "md5sum",
    "nproc",
    "rev",
    "rg",
    "sha256sum",
    "sort",
    "tac",
    "tail",
    "tree",
    "uname",
    "uniq",
    "wc",
    "which",
    "whoami",
];

/// Whether a program prints the files that its arguments name.
pub fn prints_files(program: &str) -> bool {
    let keeps_lines = KEEPING_LINES.iter().any(|(names, ..)| names.contains(&program));
    keeps_lines || KEEPING_NAMES.contains(&program) || PRINTING.contains(&program)
}

/// What a program with these arguments prints of text of the script that it reads.
pub fn passes_on(program: &str, arguments: &[&str], input: &[&str]) -> BTreeSet<String> {
    let keeping = KEEPING_LINES.iter().find(|(names, ..)| names.contains(&program));
    let keeps_lines = keeping.is_some_and(|(_, letters, long)| {
        let is_short = |text: &str| text.starts_with('-') && !text.starts_with("--");
        let changes = |text: &str| {
            is_open(text)
                || text.starts_with(long)
                || (is_short(text) && text.contains(|c| letters.contains(c)))
        };
        !arguments.iter().any(|text| changes(text))
    });
    let keeps_names = KEEPING_NAMES.contains(&program) && arguments.iter().all(|text| is_plain(text));
    match program {
        _ if keeps_lines => input.iter().map(|text| (*text).to_owned()).collect(),
        _ if keeps_names && leads_nowhere(&input.concat()) => computed(),
        "sed" => edited(arguments, input).unwrap_or_else(anything),
        _ => anything(),
    }
}

/// What a program may print of its arguments in another form.
pub fn prints_of(program: &str, arguments: &[&str], reads_known: bool) -> BTreeSet<String> {
    let any = |test: &dyn Fn(&str) -> bool| arguments.iter().any(|text| test(text));
    let is_described = match program {
        _ if SILENT.contains(&program) => return BTreeSet::new(),
        "awk" => any(&|text| text.contains(['{', '"']) && !prints_fields(text)),
        "date" => any(&|text| text.contains('\\') || text.contains("..") || !slashes_follow_numbers(text)),
        "expr" => any(&|text| text.contains(['/', '.'])),
        "find" | "git" => {
            let is_format =
                |text: &str| text.contains(['%', '\\']) || text.contains("format") || text.contains("printf");
            let names = ["-printf", "%p\\n", "%f\\n", "%P\\n", "%p\\0", "%P\\0", "\\;"];
            if !any(&is_format) {
                let joins = program == "git" && any(&|text| text.starts_with("--pref"));
                return if joins { anything() } else { BTreeSet::new() };
            }
            any(&|text| text.contains("pretty") || (is_format(text) && !names.contains(&text)))
        }
        "sed" => {
            let scripts: Vec<&str> =
                arguments.iter().copied().filter(|text| !text.starts_with('-')).collect();
            let has_more = any(&|text| text.starts_with("-e") || text.starts_with("--e"));
            let prints_lines =
                |script: &&str| selects(script) || edited(&[script], &[&UNKNOWN.to_string()]).is_some();
            !scripts.iter().take(if has_more { scripts.len() } else { 1 }).all(prints_lines)
        }
        "tr" => any(&|text| !is_plain(&text.replace("\\n", " ").replace("\\t", " "))),
        _ => any(&|text| {
            text.contains(['\\', '%', '"', '\'', '$', '(', '<']) || (text.contains('{') && text != "{}")
        }),
    };
    match is_described {
        true => anything(),
        false if arguments.is_empty() || ["awk", "find"].contains(&program) => BTreeSet::new(),
        // Of text of the script it is known.
        false if program == "sed" && reads_known => BTreeSet::new(),
        false => computed(),
    }
}

/// Whether a script of sed only chooses some of the lines.
fn selects(script: &str) -> bool {
    script.chars().all(|c| c.is_ascii_digit() || "$,;pdqn ".contains(c))
}

/// What `sed s/a/b/` makes of texts; `None` for other scripts, and if it may be any path.
fn edited(arguments: &[&str], input: &[&str]) -> Option<BTreeSet<String>> {
    let [script] = arguments else { return None };
    let mut texts: BTreeSet<String> = input.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
    for command in script.split(';').map(str::trim) {
        let replacement = replacement(command)?;
        let changed = texts.iter().map(|text| replaced(&replacement, text));
        texts = changed.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
    }
    Some(texts)
}

/// A command such as `s/a$/b/` as the text of `${x/%a/b}`; `None` if its pattern is more than text.
fn replacement(command: &str) -> Option<Vec<(char, bool)>> {
    let rest = command.strip_prefix('s')?;
    let delimiter = rest.chars().next().filter(char::is_ascii_punctuation)?;
    let parts: Vec<&str> = rest[1..].split(delimiter).collect();
    let &[pattern, inserted, flags] = parts.as_slice() else { return None };
    let (mode, pattern) =
        match (pattern.strip_prefix('^'), pattern.strip_suffix('$'), flags.trim_end_matches('p')) {
            (Some(pattern), _, "" | "g") => (Some('#'), pattern),
            (_, Some(pattern), "" | "g") => (Some('%'), pattern),
            (_, _, "g") => (Some('/'), pattern),
            (_, _, "") => (None, pattern),
            _ => return None,
        };
    let is_text = pattern.chars().all(|c| is_name(c) || c == '/') && !pattern.is_empty();
    if !is_text || inserted.contains(['\\', '&', '\n']) {
        return None;
    }
    let quoted = |text: &str| text.chars().map(|character| (character, true)).collect::<Vec<_>>();
    let start = mode.map(|mode| (mode, false)).into_iter();
    Some(start.chain(quoted(pattern)).chain([('/', false)]).chain(quoted(inserted)).collect())
}

/// Whether a text describes no characters of which paths outside consist.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || ":[]_- ".contains(c))
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_-".contains(character)
}

/// Whether a program of awk prints only fields, as `{print $1, $NF}` does.
fn prints_fields(program: &str) -> bool {
    let inner = program.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).map(str::trim);
    let fields = inner.and_then(|inner| inner.strip_prefix("print"));
    fields.is_some_and(|fields| fields.chars().all(|c| c.is_ascii_digit() || "$, NF".contains(c)))
}

/// Whether each slash in the format of a date comes after a number, as in `%Y/%m`.
fn slashes_follow_numbers(format: &str) -> bool {
    let is_number = |text: &str| {
        let mut last = text.chars().rev();
        last.next().is_some_and(|c| "YmdHMSyjV".contains(c)) && last.next() == Some('%')
    };
    format.match_indices('/').all(|(at, _)| is_number(&format[..at]))
}

/// The absolute paths and those that lead upwards that arguments name.
pub fn printed_paths(arguments: &[&str]) -> Vec<String> {
    arguments.iter().flat_map(|text| paths_in(text)).collect()
}

/// Each from where it begins up to a blank, quote or bracket.
fn paths_in(text: &str) -> Vec<String> {
    let is_end = |c: char| c.is_whitespace() || "'\"`,;()[]{}<>".contains(c);
    let begins = |at: usize| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|character| is_end(character) || "=+:@".contains(character))
    };
    let starts = ["/", "../"].into_iter().flat_map(|start| text.match_indices(start)).map(|(at, _)| at);
    let paths = starts.filter(|at| begins(*at)).map(|at| text[at..].split(is_end).next().unwrap_or_default());
    paths.filter(|path| path.starts_with('.') || is_on_this_machine(path)).map(str::to_owned).collect()
}
