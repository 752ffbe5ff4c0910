//! The words of text that the parser does not understand, and of text with a syntax of its own.

use std::borrow::Cow;

/// Words after which a command may begin.
const KEYWORDS: [&str; 11] =
    ["do", "then", "else", "elif", "if", "while", "until", "!", "in", "coproc", "select"];

pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// The words of a command, without keywords and assignments before its name.
pub fn command_words(part: &str) -> Vec<&str> {
    let mut words = part.split_whitespace().peekable();
    while let Some(word) = words.next_if(|word| is_keyword(word) || is_assignment(word)) {
        let Some((_, value)) = word.split_once('=') else { continue };
        let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else { continue };
        if value.matches(quote).count() == 1 {
            // The value goes on up to the closing quote.
            for word in words.by_ref() {
                if word.contains(quote) {
                    break;
                }
            }
        }
    }
    words.collect()
}

pub fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// The text of `env -S` with its blanks written as blanks.
pub fn without_env_escapes(text: &str) -> Cow<'_, str> {
    const BLANKS: [&str; 6] = ["\\_", "\\t", "\\n", "\\f", "\\v", "\\r"];
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(BLANKS.iter().fold(text.to_owned(), |text, blank| text.replace(blank, " ")))
}

#[cfg(test)]
mod tests {
    use super::command_words;

    #[test]
    fn a_command_begins_after_keywords_and_assignments() {
        for (part, expected) in [
            ("do git push", &["git", "push"][..]),
            ("x=1 y='a b' git push", &["git", "push"]),
            ("x=\"a b\" then git", &["git"]),
            ("echo x=1 do", &["echo", "x=1", "do"]),
            ("x='a b", &[]),
        ] {
            assert_eq!(command_words(part), expected, "{part}");
        }
    }
}
