//! Where a file pattern begins to look: the directories before its first wildcard, for each of its choices.

use std::collections::BTreeSet;

/// Patterns with more choices than this are refused.
const MAX_CHOICES: usize = 64;

/// The parts of a pattern without wildcards, one for each choice in braces. None if that says nothing, since
/// the pattern climbs up behind a wildcard or has too many choices.
pub fn starts(pattern: &str) -> Option<BTreeSet<String>> {
    // A backslash takes a character as it is, and a `!` in front turns the pattern around.
    let plain = pattern.replace('\\', "");
    let choices = choices(plain.trim_start_matches('!'))?;
    choices.iter().map(|choice| start(choice)).collect()
}

fn start(pattern: &str) -> Option<String> {
    let wild = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    let slash = pattern[..wild].rfind('/').map_or(0, |slash| slash + 1);
    let (start, rest) = pattern.split_at(if wild == pattern.len() { wild } else { slash });
    let climbs = rest.split('/').any(|part| part == "..");
    // Some tools put the home directory for a `~`.
    (!climbs && !start.starts_with('~')).then(|| start.to_owned())
}

/// The pattern with each `{a,b}` in it replaced by one of its choices, in every way.
fn choices(pattern: &str) -> Option<Vec<String>> {
    let mut open = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        match innermost(&text) {
            None => done.push(text),
            Some((before, choices, after)) => {
                let choices = choices.split(',').take(MAX_CHOICES + 1);
                open.extend(choices.map(|choice| format!("{before}{choice}{after}")));
            }
        }
        if open.len() + done.len() > MAX_CHOICES {
            return None;
        }
    }
    Some(done)
}

/// The first pair of braces without another one in it, and what is around it.
fn innermost(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices('}').find_map(|(close, _)| {
        let (before, choices) = text[..close].rsplit_once('{')?;
        Some((before, choices, &text[close + 1..]))
    })
}

#[cfg(test)]
mod tests {
    use super::starts;

    #[test]
    fn a_pattern_starts_before_its_first_wildcard() {
        for (pattern, expected) in [
            ("**/*.rs", Some(&[""][..])),
            ("src/*.rs", Some(&["src/"][..])),
            ("src/main.rs", Some(&["src/main.rs"][..])),
            ("!../x/*", Some(&["../x/"][..])),
            ("/etc/pass?d", Some(&["/etc/"][..])),
            ("{/etc,src}/*", Some(&["src/", "/etc/"][..])),
            ("{a,{b,c}}/[d]", Some(&["c/", "b/", "a/"][..])),
            ("*.{rs,toml}", Some(&[""][..])),
            (".{/x,./y}", Some(&["../y", "./x"][..])),
            ("}{..,a}/b", Some(&["}a/b", "}../b"][..])),
            (r"\.\./etc/*", Some(&["../etc/"][..])),
            ("*/../../etc", None),
            ("*/{.,a}./x", None),
            ("{a,~}/b", None),
        ] {
            let expected = expected.map(|starts| starts.iter().map(|start| start.to_string()).collect());
            assert_eq!(starts(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn many_choices_are_refused_at_once() {
        assert_eq!(starts(&"{a,b}".repeat(1_000)), None);
        assert_eq!(starts(&format!("{{{}}}", "a,".repeat(1_000_000))), None);
        assert_eq!(starts(&"{".repeat(1_000)), Some(["{".repeat(1_000)].into()));
    }
}
