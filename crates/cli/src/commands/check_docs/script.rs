//! The commands in a file that a shell, a crontab or a CI service reads. Variables get a value, so that the parser can judge what is around them.

use crate::command_line::CommandLine;

/// For a variable without a default: most of ours are amounts and names.
const ANY_VALUE: &str = "1";

/// What ends a command, longest first.
const SEPARATORS: [&str; 6] = ["&&", "||", ";", "|", "{", "}"];

/// What may stand before a command: the list items of YAML, keys of workflows and words of a shell.
const BEFORE: [&str; 8] = ["- ", "run: ", "if ", "then ", "else ", "! ", "exec ", "sudo "];

/// As they are written, and as words. What `set --` has set stands for `"$@"`.
pub fn commands(text: &str) -> Vec<(String, CommandLine)> {
    let mut positional = String::new();
    let mut found = Vec::new();
    for line in joined_lines(text) {
        for part in split_at_separators(&line) {
            let part = without_prefixes(part);
            if let Some(words) = part.strip_prefix("set -- ") {
                positional = words.to_owned();
            }
            let (assigned, command) = without_assignments(part);
            if !command.starts_with("autonoe ") {
                continue;
            }
            let code = format!("{assigned}{command}").trim_end().to_owned();
            let expanded = with_values(&command.replace("\"$@\"", &positional));
            found.extend(before_redirection(&expanded).parse().ok().map(|command| (code, command)));
        }
    }
    found
}

/// Lines without comments; one that ends with a backslash goes on in the next.
fn joined_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let last = lines.len() - 1;
        match line.strip_suffix('\\') {
            Some(start) => lines[last].push_str(start),
            None => {
                lines[last].push_str(line);
                lines.push(String::new());
            }
        }
    }
    lines
}

/// Outside of quotes and `${…}`.
fn split_at_separators(line: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quote, mut place) = (Vec::new(), 0, None, 0);
    while let Some(char) = line[place..].chars().next() {
        let rest = &line[place..];
        let separator = SEPARATORS.iter().find(|separator| quote.is_none() && rest.starts_with(**separator));
        if quote.is_none() && rest.starts_with("${") {
            place += rest.find('}').map_or(rest.len(), |end| end + 1);
        } else if let Some(separator) = separator {
            parts.push(&line[start..place]);
            place += separator.len();
            start = place;
        } else {
            match quote {
                Some(open) if open == char => quote = None,
                None if matches!(char, '\'' | '"') => quote = Some(char),
                _ => {}
            }
            place += char.len_utf8();
        }
    }
    parts.push(&line[start..]);
    parts
}

fn without_prefixes(part: &str) -> &str {
    let mut part = without_schedule(part.trim());
    while let Some(rest) = BEFORE.iter().find_map(|before| part.strip_prefix(before)) {
        part = rest.trim_start();
    }
    part
}

/// A crontab has five fields of numbers, ranges and stars before each command.
fn without_schedule(line: &str) -> &str {
    let is_field = |word: &str| word.chars().all(|char| char.is_ascii_digit() || "*/,-".contains(char));
    let mut rest = line;
    for _ in 0..5 {
        match rest.split_once(' ') {
            Some((word, after)) if is_field(word) => rest = after,
            _ => return line,
        }
    }
    rest.trim_start()
}

/// The assignments before a command, as in `NAME=VALUE autonoe run`, and the command.
fn without_assignments(part: &str) -> (&str, &str) {
    let mut place = 0;
    for word in part.split_inclusive(' ') {
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
        });
        if !is_assignment {
            break;
        }
        place += word.len();
    }
    part.split_at(place)
}

/// `${NAME:-DEFAULT}` becomes its default; `${{ expression }}`, `${NAME}` and `$NAME` become any value.
fn with_values(command: &str) -> String {
    let mut expanded = String::new();
    let mut rest = command;
    while let Some(place) = rest.find('$') {
        expanded.push_str(&rest[..place]);
        rest = &rest[place + 1..];
        let (name, after) = match rest.strip_prefix("{{") {
            Some(expression) => ("", expression.split_once("}}").map_or("", |(_, after)| after)),
            None => match rest.strip_prefix('{') {
                Some(braced) => braced.split_once('}').unwrap_or((braced, "")),
                None => {
                    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
                    rest.split_at(rest.find(|char| !is_name(char)).unwrap_or(rest.len()))
                }
            },
        };
        expanded.push_str(name.split_once(":-").map_or(ANY_VALUE, |(_, default)| default));
        rest = after;
    }
    expanded + rest
}

fn before_redirection(command: &str) -> &str {
    command.split(['>', '<']).next().unwrap_or(command).trim_end()
}

#[cfg(test)]
mod tests {
    use super::commands;

    fn words(script: &str) -> Vec<String> {
        commands(script).into_iter().map(|(_, command)| command.words.join(" ")).collect()
    }

    #[test]
    fn commands_of_shells_crontabs_and_workflows_are_found() {
        for (script, expected) in [
            (
                "set -- --land never --max-duration \"${D:-5h}\"\nautonoe run \"$@\" || code=$?",
                "autonoe run --land never --max-duration 5h",
            ),
            ("0 23 * * 1-5  cd /home/me && autonoe run --quiet", "autonoe run --quiet"),
            ("0 1 * * * autonoe status", "autonoe status"),
            ("    - ANTHROPIC_API_KEY=$KEY autonoe run --max-cost \"$COST\"", "autonoe run --max-cost 1"),
            (
                "autonoe report --format markdown >>\"${SUMMARY:-/dev/stdout}\" || echo \"autonoe: none\"",
                "autonoe report --format markdown",
            ),
            ("      run: autonoe pr \\\n  --yes", "autonoe pr --yes"),
            ("sh -c { autonoe status; }", "autonoe status"),
            ("autonoe run --max-cost ${{ inputs.max-cost }}", "autonoe run --max-cost 1"),
        ] {
            assert_eq!(words(script), [expected], "{script}");
        }
        assert!(
            words("# autonoe run\necho \"x; autonoe run\"\nimage: autonoe\nexec autonoe-entrypoint")
                .is_empty()
        );
    }
}
