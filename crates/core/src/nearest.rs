//! The name that somebody most likely meant.

/// Typing mistakes that a name may have, as a part of its length.
const MISTAKES: usize = 3;

/// The most similar of these names; `None` if none is similar. A difference in case does not count.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (given.chars().count() / MISTAKES).max(1);
    let given = given.to_lowercase();
    let rated = names.into_iter().map(|name| (distance(&given, &name.to_lowercase()), name));
    rated
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters must be inserted, removed, replaced or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let (mut before, mut above): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=other.len()).collect());
    let mut last = None;
    for (row, letter) in one.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, wanted) in other.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != *wanted);
            let mut best = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            if column > 0 && last == Some(*wanted) && other[column - 1] == letter {
                best = best.min(before[column - 1] + 1);
            }
            current.push(best);
        }
        (before, above, last) = (above, current, Some(letter));
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn mistakes_are_counted() {
        for (one, other, count) in [
            ("", "", 0),
            ("", "ab", 2),
            ("kind", "kind", 0),
            ("knid", "kind", 1),
            ("kin", "kind", 1),
            ("kiind", "kind", 1),
            ("mind", "kind", 1),
            ("kitten", "sitting", 3),
            ("ürl", "url", 1),
        ] {
            assert_eq!((distance(one, other), distance(other, one)), (count, count), "{one} {other}");
        }
    }

    #[test]
    fn only_a_similar_name_is_meant() {
        let names = ["events", "expire_after", "url", "url_variable"];
        assert_eq!(nearest("event", names), Some("events"));
        assert_eq!(nearest("expires_after", names), Some("expire_after"));
        assert_eq!(nearest("ulr", names), Some("url"));
        assert_eq!(nearest("URL", names), Some("url"));
        assert_eq!(nearest("password", names), None);
        assert_eq!(nearest("x", []), None);
        let commands = ["run", "resume", "report", "status", "sync"];
        for (typed, meant) in
            [("rnu", Some("run")), ("snc", Some("sync")), ("reprot", Some("report")), ("deploy", None)]
        {
            assert_eq!(nearest(typed, commands), meant, "{typed}");
        }
    }
}
