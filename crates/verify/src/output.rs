//! Compares output with the expected lines.

/// Matches anything in a line, or any lines.
const ANYTHING: &str = "...";

/// What does not matter around a line. Other spaces are characters as any.
const SPACES: [char; 3] = [' ', '\t', '\r'];

/// Describes the first mismatch: a missing line, or an unexpected one.
pub(crate) fn mismatch(text: &str, expected: &[String], exact: bool) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches(SPACES)).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let mut lines = lines.into_iter().peekable();
    let mut is_open = !exact;
    for wanted in expected {
        if wanted.trim() == ANYTHING {
            is_open = true;
            continue;
        }
        loop {
            match lines.next() {
                Some(line) if is_like(line, wanted) => break,
                Some(line) if !is_open && !line.is_empty() => {
                    return Some(format!("expected `{}`, got `{line}`", wanted.trim()));
                }
                Some(_) => {}
                None => return Some(format!("missing line `{}`", wanted.trim())),
            }
        }
        is_open = !exact;
    }
    let rest = lines.find(|line| !line.is_empty()).filter(|_| !is_open)?;
    Some(format!("unexpected line `{rest}`"))
}

/// Ignores surrounding spaces.
fn is_like(line: &str, wanted: &str) -> bool {
    let (line, wanted) = (line.trim_matches(SPACES), wanted.trim_matches(SPACES));
    match (wanted.strip_prefix(ANYTHING), wanted.strip_suffix(ANYTHING)) {
        (Some(_), Some(_)) => {
            let middle = wanted.trim_start_matches(ANYTHING).trim_end_matches(ANYTHING);
            line.contains(middle)
        }
        (Some(end), None) => line.ends_with(end),
        (None, Some(start)) => line.starts_with(start),
        (None, None) => line == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::mismatch;

    #[test]
    fn lines_are_whole_and_in_order() {
        for (text, expected, exact, is_right) in [
            ("5\n", &["5"][..], false, true),
            ("15\n", &["5"], false, false),
            ("a\n5\nb\n", &["5"], false, true),
            ("a\n5\nb\n", &["5"], true, false),
            ("5\n30\n", &["5"], true, false),
            ("5\n\n\n", &["5"], true, true),
            ("  5  \n", &["5"], true, true),
            ("\u{a0}5\u{2029}\n", &["5"], false, false),
            ("5\u{b}\n", &["5"], false, false),
            ("\n5\n", &["5"], true, true),
            ("b\na\n", &["a", "b"], false, false),
            ("a\nx\nb\n", &["a", "b"], false, true),
            ("a\nx\nb\n", &["a", "b"], true, false),
            ("a\nx\ny\nb\n", &["a", "...", "b"], true, true),
            ("a\nb\n", &["a", "...", "b"], true, true),
            ("a\nb\nc\n", &["a", "..."], true, true),
            ("x\na\n", &["...", "a"], true, true),
            ("test result: ok. 5 passed in 0.3 s\n", &["...ok. 5 passed..."], true, true),
            ("test result: ok. 15 passed\n", &["... ok. 5 passed"], true, false),
            ("took 3 s\n", &["took ..."], true, true),
            ("", &["a"], false, false),
            ("anything", &[], false, true),
            ("anything", &[], true, false),
            ("\n  \n", &[], true, true),
        ] {
            let expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
            let wrong = mismatch(text, &expected, exact);
            assert_eq!(wrong.is_none(), is_right, "{text:?} {expected:?} {exact}: {wrong:?}");
        }
    }
}
