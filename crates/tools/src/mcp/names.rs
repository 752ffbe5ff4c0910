//! What a server's tools are called: `mcp__server__tool`, in the characters and the length that every provider takes.
//!
//! Names are the same in every session with the same configuration, whichever server is ready first: a server's part
//! depends on the names of all servers, which are known from the start, and a tool's part on the list it came in.

use std::collections::{BTreeMap, HashMap};

/// The longest name that every provider takes.
pub(super) const MAX_NAME_CHARS: usize = 64;
/// The longest part of a name that a server gets, so that enough is left for its tools.
const MAX_SERVER_CHARS: usize = 32;

const PREFIX: &str = "mcp__";
const SEPARATOR: &str = "__";

/// What the names of each server's tools begin with.
pub(super) fn prefixes<'a>(servers: impl IntoIterator<Item = &'a String>) -> BTreeMap<String, String> {
    let servers: Vec<&str> = servers.into_iter().map(String::as_str).collect();
    let parts = distinct(&servers, MAX_SERVER_CHARS, |part| {
        // Where the server's part ends must be seen.
        !part.contains(SEPARATOR) && !part.ends_with('_')
    });
    let named = servers.iter().zip(parts);
    named.map(|(server, part)| ((*server).to_owned(), format!("{PREFIX}{part}{SEPARATOR}"))).collect()
}

/// The name of each tool of one server, in the order of the list.
pub(super) fn tools(prefix: &str, tools: &[&str]) -> Vec<String> {
    let parts = distinct(tools, MAX_NAME_CHARS.saturating_sub(prefix.len()), |_| true);
    parts.into_iter().map(|part| format!("{prefix}{part}")).collect()
}

/// Each name in allowed characters and at most `limit` long. One that would be another's, or is not `good`, is told
/// apart by a hash of what it was; one that needed no change keeps its name.
fn distinct(names: &[&str], limit: usize, good: impl Fn(&str) -> bool) -> Vec<String> {
    let plain: Vec<String> = names.iter().map(|name| allowed(name)).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for part in &plain {
        *uses.entry(part).or_default() += 1;
    }
    let parts = names.iter().zip(&plain).map(|(name, part)| {
        let is_own = part == name || uses.get(part.as_str()) == Some(&1);
        if is_own && part.len() <= limit && !part.is_empty() && good(part) {
            return part.clone();
        }
        let hash = format!("{:08x}", fnv(name));
        let room = limit.saturating_sub(hash.len() + 1);
        let start = part.get(..room.min(part.len())).unwrap_or_default();
        let start = start.replace(SEPARATOR, "_");
        format!("{}_{hash}", start.trim_end_matches('_'))
    });
    parts.collect()
}

fn allowed(name: &str) -> String {
    name.chars()
        .map(|char| if char.is_ascii_alphanumeric() || "_-".contains(char) { char } else { '_' })
        .collect()
}

/// FNV-1a: the same on every machine and in every version.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::{MAX_NAME_CHARS, prefixes, tools};

    fn prefix(servers: &[&str], server: &str) -> String {
        let names: Vec<String> = servers.iter().map(|&name| name.to_owned()).collect();
        prefixes(&names)[server].clone()
    }

    #[test]
    fn plain_names_are_left_alone() {
        assert_eq!(prefix(&["playwright"], "playwright"), "mcp__playwright__");
        assert_eq!(tools("mcp__s__", &["read_file", "a-b"]), ["mcp__s__read_file", "mcp__s__a-b"]);
    }

    #[test]
    fn what_providers_refuse_is_replaced() {
        assert_eq!(tools("mcp__s__", &["files.read", "größe"]), ["mcp__s__files_read", "mcp__s__gr__e"]);
        assert_eq!(prefix(&["my server"], "my server"), "mcp__my_server__");
    }

    #[test]
    fn names_that_would_be_the_same_are_told_apart_whatever_their_order() {
        let names = tools("mcp__s__", &["a.b", "a_b", "a b"]);
        assert_eq!(names[1], "mcp__s__a_b", "the one that needed no change");
        assert_eq!(names, ["mcp__s__a_b_108bf50c", "mcp__s__a_b", "mcp__s__a_b_10a3f9f2"]);
        assert_eq!(super::fnv("a"), 0xe40c_292c, "the published value");
        let turned = tools("mcp__s__", &["a b", "a.b", "a_b"]);
        assert_eq!(turned, [names[2].clone(), names[0].clone(), names[1].clone()]);
    }

    #[test]
    fn a_server_cannot_take_the_names_of_another() {
        assert_ne!(
            tools(&prefix(&["a", "a__b"], "a"), &["b__c"]),
            tools(&prefix(&["a", "a__b"], "a__b"), &["c"])
        );
        assert_ne!(tools(&prefix(&["a", "a_"], "a"), &["_c"]), tools(&prefix(&["a", "a_"], "a_"), &["c"]));
    }

    proptest! {
        /// Whatever servers and tools are called, every name is accepted by providers and there is only one of it.
        #[test]
        fn names_are_good_and_there_is_one_of_each(
            servers in prop::collection::hash_set("[ab_.é]{0,4}|[a-z_]{30,40}", 1..4),
            names in prop::collection::hash_set("[ab_.é]{0,4}|[a-z.]{50,70}", 1..6),
        ) {
            let servers: Vec<String> = servers.into_iter().collect();
            let listed: Vec<&str> = names.iter().map(String::as_str).collect();
            let all: Vec<String> = prefixes(&servers).values().flat_map(|prefix| tools(prefix, &listed)).collect();
            for name in &all {
                prop_assert!(name.len() <= MAX_NAME_CHARS, "{name}");
                prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{name}");
            }
            prop_assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len(), "{:?}", all);
        }
    }
}
