//! The literal directories before the first wildcard of a glob pattern, for each of its brace alternatives.

use std::collections::BTreeSet;

/// Patterns with more alternatives than this are refused.
const MAX_ALTERNATIVES: usize = 64;

/// The literal prefixes of a pattern, one for each brace alternative. `None` if they do not bound what the pattern
/// matches, because it has `..` after a wildcard, starts with `~` or has too many alternatives.
pub fn literal_prefixes(pattern: &str) -> Option<BTreeSet<String>> {
    // A backslash escapes a character, and a leading `!` negates the pattern.
    let plain = pattern.replace('\\', "");
    let alternatives = alternatives(plain.trim_start_matches('!'))?;
    alternatives.iter().map(|alternative| literal_prefix(alternative)).collect()
}

fn literal_prefix(pattern: &str) -> Option<String> {
    let wild = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    let slash = pattern[..wild].rfind('/').map_or(0, |slash| slash + 1);
    let (prefix, rest) = pattern.split_at(if wild == pattern.len() { wild } else { slash });
    let climbs = rest.split('/').any(|part| part == "..");
    // Some tools expand a leading `~` to the home directory.
    (!climbs && !prefix.starts_with('~')).then(|| prefix.to_owned())
}

/// Every expansion of the `{a,b}` groups in a pattern.
pub fn alternatives(pattern: &str) -> Option<Vec<String>> {
    let mut open = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        match innermost(&text) {
            None => done.push(text),
            Some((before, group, after)) => {
                let members = group.split(',').take(MAX_ALTERNATIVES + 1);
                open.extend(members.map(|member| format!("{before}{member}{after}")));
            }
        }
        if open.len() + done.len() > MAX_ALTERNATIVES {
            return None;
        }
    }
    Some(done)
}

/// The text before, inside and after the first pair of braces that contains no other pair.
fn innermost(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices('}').find_map(|(close, _)| {
        let (before, group) = text[..close].rsplit_once('{')?;
        Some((before, group, &text[close + 1..]))
    })
}

#[cfg(test)]
mod tests {
    use super::literal_prefixes;

    #[test]
    fn the_prefix_ends_at_the_first_wildcard() {
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
            let expected =
                expected.map(|prefixes| prefixes.iter().map(|prefix| prefix.to_string()).collect());
            assert_eq!(literal_prefixes(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn too_many_alternatives_are_refused_early() {
        assert_eq!(literal_prefixes(&"{a,b}".repeat(1_000)), None);
        assert_eq!(literal_prefixes(&format!("{{{}}}", "a,".repeat(1_000_000))), None);
        assert_eq!(literal_prefixes(&"{".repeat(1_000)), Some(["{".repeat(1_000)].into()));
    }
}
