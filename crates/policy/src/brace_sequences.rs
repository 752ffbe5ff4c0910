//! Sequences in braces, such as `{a..c}` and `{1..20..2}`.

/// The most members that are listed.
const MAX_MEMBERS: i64 = 64;

/// Whether what stands between braces is a sequence.
pub fn is_sequence(group: &str) -> bool {
    ends(group).is_some()
}

/// The members of a sequence; `None` if it is none, or has too many.
pub fn members(group: &str) -> Option<Vec<String>> {
    let Ends { first, last, step, shows } = ends(group)?;
    let count = first.abs_diff(last) / step.unsigned_abs() + 1;
    if count > MAX_MEMBERS.unsigned_abs() {
        return None;
    }
    let step = if first <= last { step } else { -step };
    let count = i64::try_from(count).ok()?;
    (0..count).map(|number| shows.show(first + number * step)).collect()
}

struct Ends {
    first: i64,
    last: i64,
    /// Positive.
    step: i64,
    shows: Shown,
}

enum Shown {
    Character,
    /// A number with at least so many characters.
    Number(usize),
}

impl Shown {
    fn show(&self, value: i64) -> Option<String> {
        match self {
            Self::Character => Some(char::from_u32(u32::try_from(value).ok()?)?.to_string()),
            Self::Number(width) => Some(format!("{value:0width$}")),
        }
    }
}

fn ends(group: &str) -> Option<Ends> {
    let mut parts = group.split("..");
    let (first, last, step) = (parts.next()?, parts.next()?, parts.next());
    let step = match step {
        Some(step) => step.parse::<i32>().ok()?.abs().max(1),
        None => 1,
    };
    if parts.next().is_some() {
        return None;
    }
    let number = |text: &str| text.parse::<i32>().ok().map(i64::from);
    let character = |text: &str| {
        let mut characters = text.chars();
        let only = characters.next().filter(char::is_ascii_alphabetic)?;
        characters.next().is_none().then_some(i64::from(u32::from(only)))
    };
    let is_padded = |text: &str| {
        let digits = text.trim_start_matches('-');
        digits.len() > 1 && digits.starts_with('0')
    };
    let step = i64::from(step);
    if let (Some(from), Some(to)) = (number(first), number(last)) {
        let width = if is_padded(first) || is_padded(last) { first.len().max(last.len()) } else { 0 };
        return Some(Ends { first: from, last: to, step, shows: Shown::Number(width) });
    }
    let (from, to) = (character(first)?, character(last)?);
    Some(Ends { first: from, last: to, step, shows: Shown::Character })
}

#[cfg(test)]
mod tests {
    use super::{is_sequence, members};

    #[test]
    fn sequences_have_the_members_that_bash_lists() {
        for (group, expected) in [
            ("1..3", Some("1 2 3")),
            ("3..1", Some("3 2 1")),
            ("-1..1", Some("-1 0 1")),
            ("08..10", Some("08 09 10")),
            ("1..9..4", Some("1 5 9")),
            ("a..c", Some("a b c")),
            ("c..a", Some("c b a")),
            ("h..h", Some("h")),
            ("a..e..2", Some("a c e")),
            ("1..100", None),
            ("a..1", None),
            ("ab..c", None),
            ("1...3", None),
            ("a,b", None),
        ] {
            let found = members(group).map(|members| members.join(" "));
            assert_eq!(found.as_deref(), expected, "{group}");
        }
        assert!(is_sequence("1..100") && !is_sequence("a..1"));
    }
}
