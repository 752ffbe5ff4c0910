//! List items that look like checks and are none: `` - Check `x` prints `5` `` without a colon, or `` - Checks: `x` ``. A reader would take
//! them for checks, and they would be lost.

/// What a check says about its command. Prose goes on in other words, such as "for" or "before".
const RESULTS: [&str; 2] = ["prints", "exits"];

/// Whether the text of a list item is nearly a check.
pub(super) fn is_nearly_check(item: &str) -> bool {
    let task = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| item.strip_prefix(mark));
    let text = task.unwrap_or(item).trim_start();
    let Some(start) = text.find('`') else { return false };
    let (word, quoted) = text.split_at(start);
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '*' | '_');
    let word = word.trim_matches(is_mark);
    let (word, has_colon) = match word.strip_suffix(':') {
        Some(word) => (word.trim_matches(is_mark), true),
        None => (word, false),
    };
    let is_word = |name: &str| word.eq_ignore_ascii_case(name);
    let command = quoted.trim_start_matches('`');
    let quote = &quoted[..quoted.len() - command.len()];
    let result = command.split_once(quote).and_then(|(_, behind)| behind.split_whitespace().next());
    let has_result = result.is_some_and(|word| RESULTS.contains(&word));
    match has_colon {
        true => is_word("checks"),
        false => (is_word("check") || is_word("checks")) && has_result,
    }
}

#[cfg(test)]
mod tests {
    use super::is_nearly_check;

    #[test]
    fn prose_is_not_taken_for_a_check() {
        for item in [
            "Check `./calc` prints `5`",
            "check `./calc` exits 2",
            "**Check** ``a ` b`` prints `5`",
            "[ ] Checks: `make test`",
            "**Checks:** `make test`",
        ] {
            assert!(is_nearly_check(item), "{item}");
        }
        for item in [
            "Check `README.md` for details",
            "Check `./calc`",
            "Check that `./calc` prints `5`",
            "Checks run `make`",
            "Checks: see below",
            "The check `x` prints `5`",
            "Check: `x` prints `5`",
            "Check",
        ] {
            assert!(!is_nearly_check(item), "{item}");
        }
    }
}
