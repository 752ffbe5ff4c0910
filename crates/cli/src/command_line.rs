//! Parses the command after `acp:`: words split by shell quoting rules, with optional `NAME=VALUE` assignments in front. No shell is
//! started, so unquoted characters that a shell would interpret are rejected instead of being passed on literally.

use std::str::FromStr;

/// Characters that a shell would interpret outside quotes.
const SHELL_SPECIAL: &str = "|&;<>()$`*?[]#~!{}\n";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    pub env: Vec<(String, String)>,
    /// Program and arguments; never empty.
    pub words: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    #[error("write the agent's command after `acp:`, such as acp:'opencode acp'")]
    NoProgram,
    #[error("the command ends with a backslash")]
    TrailingBackslash,
    #[error("a quote ({0}) is not closed in the command")]
    UnclosedQuote(char),
    #[error("no shell is started for the command: put '{0}' in quotes")]
    ShellSyntax(char),
    #[error("no shell is started for the command: use single quotes around $ and `")]
    QuotedExpansion,
}

impl FromStr for CommandLine {
    type Err = CommandLineError;

    fn from_str(text: &str) -> Result<Self, CommandLineError> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                ' ' | '\t' => words.extend(word.take()),
                '\'' | '"' => read_quoted(char, &mut chars, word.get_or_insert_default())?,
                '\\' => {
                    let next = chars.next().ok_or(CommandLineError::TrailingBackslash)?;
                    word.get_or_insert_default().push(next);
                }
                char if SHELL_SPECIAL.contains(char) => {
                    return Err(CommandLineError::ShellSyntax(char));
                }
                char => word.get_or_insert_default().push(char),
            }
        }
        words.extend(word);
        let mut words = words.into_iter().peekable();
        let env = std::iter::from_fn(|| {
            let assigned = assignment(words.peek()?);
            assigned.inspect(|_| drop(words.next()))
        });
        let env = env.collect();
        let words: Vec<String> = words.collect();
        match words.first() {
            Some(program) if !program.is_empty() => Ok(Self { env, words }),
            Some(_) | None => Err(CommandLineError::NoProgram),
        }
    }
}

fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

/// Appends everything up to the closing quote to `word`.
fn read_quoted(
    quote: char,
    chars: &mut std::str::Chars<'_>,
    word: &mut String,
) -> Result<(), CommandLineError> {
    loop {
        match chars.next() {
            Some(char) if char == quote => return Ok(()),
            Some('\\') if quote == '"' => match chars.next() {
                Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next),
                Some(next) => word.extend(['\\', next]),
                None => break,
            },
            Some('$' | '`') if quote == '"' => return Err(CommandLineError::QuotedExpansion),
            Some(char) => word.push(char),
            None => break,
        }
    }
    Err(CommandLineError::UnclosedQuote(quote))
}

#[cfg(test)]
mod tests {
    use super::CommandLine;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (text, words) in [
            ("opencode acp", &["opencode", "acp"][..]),
            ("  a\tb  ", &["a", "b"]),
            (r#"a 'b c' "d e"f \g\ h ''"#, &["a", "b c", "d ef", "g h", ""]),
            (r#"a "\"\\\$x\y" '$HOME'"#, &["a", r#""\$x\y"#, "$HOME"]),
        ] {
            let CommandLine { env, words: parsed } = text.parse().expect(text);
            assert_eq!(parsed, words, "{text}");
            assert_eq!(env, []);
        }
    }

    #[test]
    fn assignments_come_before_the_program() {
        let CommandLine { env, words } = "A=1 _b2='x y=z' C= agent D=4 --e=5".parse().expect("a command");
        let pairs = [("A", "1"), ("_b2", "x y=z"), ("C", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(env, pairs);
        assert_eq!(words, ["agent", "D=4", "--e=5"]);
        let CommandLine { env, words } = "2A=1 x".parse().expect("a command");
        assert_eq!((env.len(), words.len()), (0, 2), "a name cannot start with a digit");
    }

    #[test]
    fn shell_syntax_is_rejected() {
        for text in [
            "",
            "  ",
            "''",
            "a | b",
            "a; b",
            "a $HOME",
            "a \"$HOME\"",
            "a 'b",
            "a \"b",
            "a \\",
            "~/a",
            "a > b",
            "A=1",
        ] {
            assert!(text.parse::<CommandLine>().is_err(), "{text}");
        }
    }
}
