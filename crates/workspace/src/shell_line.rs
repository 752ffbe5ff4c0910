//! The commands of a line of a shell script, as far as they can be told apart for certain.

/// One command of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShellCommand<'t> {
    pub(crate) text: &'t str,
    /// Its words with their quotes, without redirections.
    pub(crate) words: Vec<&'t str>,
    /// Where what it prints is written; `&2` for another stream.
    pub(crate) outputs: Vec<&'t str>,
    /// What comes behind it, such as `&&`; empty at the end of the line.
    pub(crate) separator: &'t str,
}

impl ShellCommand<'_> {
    /// Whether the next command reads what it prints.
    pub(crate) fn is_piped(&self) -> bool {
        ["|", "|&"].contains(&self.separator)
    }
}

const SEPARATORS: [&str; 7] = [";", "&", "&&", "||", "|", "|&", ";;"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirection {
    Input,
    Output,
}

/// `None` for a line with commands within commands, here-documents, comments, or quotes that are not closed.
pub(crate) fn shell_commands(line: &str) -> Option<Vec<ShellCommand<'_>>> {
    let mut found = Vec::new();
    let mut rest = line.trim_end_matches('\n');
    loop {
        let (command, more) = first_command(rest)?;
        let is_last = command.separator.is_empty();
        found.push(command);
        if is_last {
            return Some(found);
        }
        rest = more;
    }
}

/// The first command of a text, and what comes behind it.
fn first_command(text: &str) -> Option<(ShellCommand<'_>, &str)> {
    let mut command = ShellCommand { text, words: Vec::new(), outputs: Vec::new(), separator: "" };
    let mut redirection = None;
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        // The target of `>&2`.
        let stream = usize::from(redirection == Some(Redirection::Output) && is_stream(rest));
        let end = stream + word_end(&rest[stream..])?;
        let (word, behind) = rest.split_at(end);
        let next = behind.chars().next().filter(|c| "<>".contains(*c));
        let is_number = next.is_some() && word.chars().all(|c| c.is_ascii_digit());
        if !word.is_empty() && !is_number {
            match redirection.take() {
                Some(Redirection::Input) => {}
                Some(Redirection::Output) => command.outputs.push(word),
                None => command.words.push(word),
            }
        }
        rest = behind;
        if rest.starts_with(['<', '>']) || rest.starts_with("&>") {
            let (kind, target) = redirected(rest)?;
            if redirection.replace(kind).is_some() {
                return None;
            }
            rest = target;
        } else if rest.is_empty() || rest.starts_with([';', '&', '|']) {
            // What would be written to is missing.
            if redirection.is_some() {
                return None;
            }
            let length = rest.len() - rest.trim_start_matches([';', '&', '|']).len();
            let (separator, more) = rest.split_at(length);
            command.text = &text[..text.len() - rest.len()];
            command.separator = separator;
            let is_known = separator.is_empty() || SEPARATORS.contains(&separator);
            return is_known.then_some((command, more));
        }
    }
}

/// The kind of the redirection with which a text begins, and what comes behind its sign: the target.
fn redirected(text: &str) -> Option<(Redirection, &str)> {
    if let Some(target) = text.strip_prefix('<') {
        return (!target.starts_with(['<', '>', '&'])).then_some((Redirection::Input, target));
    }
    let target = text.trim_start_matches('&').strip_prefix('>')?;
    let target = target.strip_prefix(['>', '|']).unwrap_or(target);
    Some((Redirection::Output, target))
}

fn is_stream(text: &str) -> bool {
    text.strip_prefix('&').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

/// Where the word ends with which a text begins; `None` if it contains a command, or is a comment.
fn word_end(text: &str) -> Option<usize> {
    if text.starts_with('#') {
        return None;
    }
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), _) => {}
            (_, '`') => return None,
            (_, '$') if text[at + 1..].starts_with('(') => return None,
            (_, '\\') => drop(chars.next()?),
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | ')') => return None,
            (None, ';' | '&' | '|' | '<' | '>') => return Some(at),
            (None, c) if c.is_whitespace() => return Some(at),
            (None, _) => {}
        }
    }
    quote.is_none().then_some(text.len())
}

/// The quote that is open behind a line, if `open` was before it.
pub(crate) fn open_quote(line: &str, open: Option<char>) -> Option<char> {
    let mut quote = open;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None | Some('"'), '\\') => drop(chars.next()),
            _ => {}
        }
    }
    quote
}

#[cfg(test)]
mod tests {
    use super::{open_quote, shell_commands};

    #[test]
    fn commands_are_told_apart_with_what_they_write_to() {
        for (line, expected) in [
            ("a b;c && d | e\n", "a b [] ; c [] && d [] | e []"),
            ("a 'x; y' \"p | (q) \\\" r\" s\\;t", "a 'x; y' \"p | (q) \\\" r\" s\\;t []"),
            ("a < in > out 2>&1 >>more x", "a x [out &1 more]"),
            ("a &>all; b2 >&2 || c |", "a [all] ; b2 [&2] || c [] |  []"),
            ("a>out 2>/dev/null", "a [out /dev/null]"),
        ] {
            let commands = shell_commands(line).expect(line);
            let shown = commands.iter().map(|command| {
                let (words, outputs) = (command.words.join(" "), command.outputs.join(" "));
                format!("{words} [{outputs}] {}", command.separator).trim_end().to_owned()
            });
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{line}");
        }
        for line in [
            "a $(b)",
            "a \"$(b)\"",
            "a `b`",
            "(a)",
            "a <(b)",
            "a <<E",
            "a 'b",
            "a \"b",
            "# a",
            "a >",
            "f() { x",
        ] {
            assert_eq!(shell_commands(line), None, "{line}");
        }
    }

    #[test]
    fn quotes_go_on_over_lines() {
        assert_eq!(open_quote("sh -c '", None), Some('\''));
        assert_eq!(open_quote("it\"s", Some('\'')), Some('\''));
        assert_eq!(open_quote("' \"a\\\"b\"", Some('\'')), None);
    }
}
