//! What a shell makes of a value with variables in it, such as `$PWD/env.sh` or `${NAME:-env.sh}`.

use crate::ansi_c_quotes::with_escapes_decoded;
use crate::brace_expansion::with_braces_expanded;

/// Texts in scripts that stand for the directory in which they run, mostly the top of the working tree.
pub(crate) const HERE: [&str; 5] = ["$PWD", "${PWD}", "$(pwd)", "`pwd`", "$(git rev-parse --show-toplevel)"];

/// The most variables of a value that are expanded, and the most results.
const MAX_VARIABLES: usize = 16;
const MAX_RESULTS: usize = 16;

/// The texts that a value may become: with the values of its variables, which `value_of` knows, and with the defaults that it names. The
/// directory in which the shell is becomes `.`, and so does what a command would print; its words are a text of their own.
pub(crate) fn expansions(value: &str, value_of: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    if !value.contains(['$', '`']) {
        return vec![value.to_owned()];
    }
    let value = HERE.iter().fold(value.to_owned(), |value, here| value.replace(here, "."));
    // One between backticks is like the others, except that the same sign ends it.
    let parts = value.split('`').enumerate();
    let value: String =
        parts.map(|(at, part)| if at % 2 == 1 { format!("$({part})") } else { part.to_owned() }).collect();
    expand(&value, value_of, MAX_VARIABLES)
}

/// The lines of a text in which a variable has a default, such as `"${T:-tools}/x"`, with the defaults in the places of the variables.
pub(crate) fn lines_with_defaults(text: &str) -> String {
    changed_lines(text, |line| with_defaults(line, MAX_VARIABLES))
}

/// A script with further lines: those that have other words for the shell than they show, as these words.
pub(crate) fn with_lines_of_shell(text: String) -> String {
    [with_escapes_decoded, with_braces_expanded]
        .into_iter()
        .fold(text, |text, change| format!("{text}\n{}", changed_lines(&text, change)))
}

/// The lines of a text that a change makes others, so changed.
fn changed_lines(text: &str, change: impl Fn(&str) -> String) -> String {
    let lines = text.lines().map(|line| (line, change(line)));
    lines.filter(|(line, changed)| line != changed).map(|(_, changed)| changed + "\n").collect()
}

/// The text with the words of `${T:-word}`, `${T=word}` and their like; other variables stay as they are.
fn with_defaults(text: &str, left: usize) -> String {
    let Some((before, after)) = text.split_once("${").filter(|_| left > 0) else {
        return text.to_owned();
    };
    let (inner, rest) = until_closed(after, '{', '}');
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let operator = inner.strip_prefix(['@', '*']).unwrap_or(inner.trim_start_matches(is_of_name));
    let default = operator.strip_prefix(':').unwrap_or(operator).strip_prefix(['-', '=', '+']);
    let rest = with_defaults(rest, left - 1);
    match default.filter(|_| operator.len() < inner.len()) {
        Some(default) => format!("{before}{}{rest}", with_defaults(default, left - 1)),
        None => format!("{before}${{{inner}}}{rest}"),
    }
}

fn expand(text: &str, value_of: &impl Fn(&str) -> Option<String>, left: usize) -> Vec<String> {
    let Some((before, after)) = text.split_once('$').filter(|_| left > 0) else {
        return vec![text.to_owned()];
    };
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut values, rest) = if let Some(command) = after.strip_prefix('(') {
        let (command, rest) = until_closed(command, '(', ')');
        (vec![".".to_owned(), format!(" {command} ")], rest)
    } else {
        let (inner, rest) = match after.strip_prefix('{') {
            Some(inner) => until_closed(inner, '{', '}'),
            None => after.split_at(after.find(|c| !is_of_name(c)).unwrap_or(after.len())),
        };
        let (name, default) = inner.split_at(inner.find(|c| !is_of_name(c)).unwrap_or(inner.len()));
        let value = if name == "PWD" { Some(".".to_owned()) } else { value_of(name) };
        let default = default.trim_start_matches(':').strip_prefix(['-', '=', '+', '?']);
        let defaults = default.map(|default| expand(default, value_of, left - 1)).unwrap_or_default();
        (value.into_iter().chain(defaults).collect(), rest)
    };
    if values.is_empty() {
        // A variable without a known value is mostly a directory of the project.
        values.push(if rest.starts_with('/') { "." } else { "" }.to_owned());
    }
    let rests = expand(rest, value_of, left - 1);
    let joined =
        values.iter().flat_map(|value| rests.iter().map(move |rest| format!("{before}{value}{rest}")));
    joined.take(MAX_RESULTS).collect()
}

/// What comes before the sign that closes what has been opened, and what comes after it.
fn until_closed(text: &str, open: char, close: char) -> (&str, &str) {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
        }
        if depth == 0 {
            return (&text[..at], &text[at + c.len_utf8()..]);
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::{MAX_RESULTS, expansions, lines_with_defaults};

    #[test]
    fn defaults_stand_for_their_variables() {
        for (line, expected) in [
            ("\"${T:-tools}/x\"", "\"tools/x\"\n"),
            ("sh ${T-tools/x} $1", "sh tools/x $1\n"),
            (": ${T:=a}${U=b}; ${V:+c}/${W+d}", ": ab; c/d\n"),
            ("sh ${T:-${U:-tools}/$n}/x", "sh tools/$n/x\n"),
            ("sh ${T:-$(pwd)}/${n}", "sh $(pwd)/${n}\n"),
            (
                "echo ${T} ${T#a} ${T%-b} ${T:?no} ${T:1} ${#T} ${@}${-}",
                "echo ${T} ${T#a} ${T%-b} ${T:?no} ${T:1} ${#T} ${@}${-}",
            ),
            ("sh ${@:-tools} ${1-x}", "sh tools x\n"),
            ("sh ${T:-open", "sh open\n"),
            ("sh $T/x", ""),
        ] {
            let found = lines_with_defaults(line);
            assert_eq!(found, if expected == line { "" } else { expected }, "{line}");
        }
        assert!(lines_with_defaults(&"${A:-${B:-b}}".repeat(1000)).len() < 20_000);
    }

    #[test]
    fn variables_and_defaults_are_put_in_their_places() {
        let value_of = |name: &str| (name == "HOME").then(|| "/home/u".to_owned());
        for (value, expected) in [
            ("plain", &["plain"][..]),
            ("$PWD/benv", &["./benv"]),
            ("${PWD}/benv", &["./benv"]),
            ("${PWD:-x}/benv", &["./benv", "x/benv"]),
            ("`pwd`/benv", &["./benv"]),
            ("$HOME/p/benv", &["/home/u/p/benv"]),
            ("${HOME}/benv", &["/home/u/benv"]),
            ("${X:-benv}", &["benv"]),
            ("${X-$PWD/benv}", &["./benv"]),
            ("${X:=${Y:-benv}}", &["benv"]),
            ("$X/benv", &["./benv"]),
            ("be${X}nv", &["benv"]),
            ("$(echo benv)", &[".", " echo benv "]),
            ("$(dirname $(x))/benv", &["./benv", " dirname $(x) /benv"]),
            ("${X", &[""]),
            ("a$", &["a"]),
        ] {
            assert_eq!(expansions(value, &value_of), expected, "{value}");
        }
        let results = expansions(&"${A:-${B:-b}}$(c)".repeat(1000), &|_| Some("v".to_owned()));
        assert_eq!(results.len(), MAX_RESULTS);
    }
}
