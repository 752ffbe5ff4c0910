//! Numbers that a script writes in other ways than by their digits.

use crate::shell::ast::Word;
use crate::words::Arg;

/// The most numbers of a sequence that are listed.
const MAX_NUMBERS: i64 = 64;

/// The numbers of `{1..5}`; `None` if the word is something else. Only the smallest ones are listed.
pub fn sequence(word: &Word) -> Option<Vec<Arg>> {
    let inner = word.bare()?.strip_prefix('{')?.strip_suffix('}')?;
    let (start, end) = inner.split_once("..")?;
    let (start, end): (i64, i64) = (start.parse().ok()?, end.parse().ok()?);
    let (low, high) = (start.min(end), start.max(end));
    let last = high.min(low.saturating_add(MAX_NUMBERS));
    Some((low..=last).map(|number| Arg::plain(number.to_string())).collect())
}

/// The value of a sum or difference of numbers such as `2-1`.
pub fn sum(text: &str) -> Option<i64> {
    let compact: String = text.chars().filter(|character| !character.is_whitespace()).collect();
    let mut sum: i64 = 0;
    let mut rest = compact.as_str();
    while !rest.is_empty() {
        let digits = rest.trim_start_matches(['+', '-']);
        let signs = &rest[..rest.len() - digits.len()];
        let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
        let number: i64 = digits[..end].parse().ok()?;
        let is_negative = signs.matches('-').count() % 2 == 1;
        sum = sum.checked_add(if is_negative { -number } else { number })?;
        rest = &digits[end..];
        if !rest.is_empty() && !rest.starts_with(['+', '-']) {
            return None;
        }
    }
    (!compact.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn sums_are_known() {
        for (text, expected) in [
            ("1", Some(1)),
            (" 2 - 1 ", Some(1)),
            ("0+1", Some(1)),
            ("-1", Some(-1)),
            ("--1", Some(1)),
            ("2*3", None),
            ("x", None),
            ("", None),
            ("1+", None),
        ] {
            assert_eq!(sum(text), expected, "{text}");
        }
    }
}
