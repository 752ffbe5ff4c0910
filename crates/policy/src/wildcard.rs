//! Text patterns in which each `*` matches any number of characters.

/// A pattern, split at its stars. A single piece means there is no star and the pattern matches only itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wildcard {
    pieces: Vec<String>,
}

impl Wildcard {
    /// Treats every `*` in the text as a star.
    pub fn new(text: &str) -> Self {
        Self { pieces: text.split('*').map(str::to_owned).collect() }
    }

    /// Concatenates texts; only a `*` in an unquoted one is a star.
    pub fn joined<'a>(parts: impl IntoIterator<Item = (&'a str, Quoting)>) -> Self {
        let mut pieces = vec![String::new()];
        for (text, quoting) in parts {
            let more: Vec<&str> = match quoting {
                Quoting::Quoted => vec![text],
                Quoting::Bare => text.split('*').collect(),
            };
            for (at, piece) in more.into_iter().enumerate() {
                match pieces.last_mut() {
                    Some(last) if at == 0 => last.push_str(piece),
                    _ => pieces.push(piece.to_owned()),
                }
            }
        }
        Self { pieces }
    }

    /// Whether the pattern is a single star.
    pub fn is_star(&self) -> bool {
        matches!(self.pieces.as_slice(), [before, after] if before.is_empty() && after.is_empty())
    }

    /// Whether the pattern ends with a star.
    pub fn is_open(&self) -> bool {
        self.pieces.len() > 1 && self.pieces.last().is_some_and(String::is_empty)
    }

    /// Whether the pattern matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.pieces.split_first() else { return false };
        let Some((last, between)) = rest.split_last() else { return text == first };
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        for piece in between {
            match left.find(piece.as_str()) {
                Some(at) => left = &left[at + piece.len()..],
                None => return false,
            }
        }
        left.ends_with(last.as_str())
    }
}

/// Whether a `*` in a text is literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// A `*` is literal.
    Quoted,
    /// A `*` matches any characters.
    Bare,
}

#[cfg(test)]
mod tests {
    use super::{Quoting, Wildcard};

    #[test]
    fn stars_match_anything_and_other_text_matches_itself() {
        for (pattern, text, matches) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("a*", "a", true),
            ("a*", "b", false),
            ("*a", "ba", true),
            ("*a", "ab", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("test:*", "test:unit", true),
            ("test:*", "test", false),
            ("é*", "ete", false),
            ("é*é", "été", true),
        ] {
            assert_eq!(Wildcard::new(pattern).matches(text), matches, "{pattern:?} {text:?}");
        }
    }

    #[test]
    fn a_quoted_star_is_literal() {
        let pattern = Wildcard::joined([("a", Quoting::Bare), ("*", Quoting::Quoted), ("b*", Quoting::Bare)]);
        assert!(pattern.matches("a*bc") && !pattern.matches("axbc"));
        assert!(pattern.is_open() && !pattern.is_star());
        assert!(Wildcard::joined([("*", Quoting::Bare)]).is_star());
        assert!(!Wildcard::joined([("*", Quoting::Quoted)]).is_star());
        assert!(!Wildcard::joined([("*", Quoting::Quoted)]).is_open());
    }
}
