//! The names of MCP tools: `mcp__server__tool`, with the characters and the length that every provider accepts.
//!
//! Names are the same in every session with the same configuration, whichever server is ready first: the server part
//! depends only on the configured servers, and the tool part only on the server's list.

use std::collections::{BTreeMap, HashMap};

/// The maximum length that every provider accepts.
pub(crate) const MAX_NAME_CHARS: usize = 64;
/// The maximum length of the server part, so that enough is left for the tool.
const MAX_SERVER_CHARS: usize = 32;

const PREFIX: &str = "mcp__";
const SEPARATOR: &str = "__";

/// The prefix of each server's tool names.
pub(crate) fn prefixes<'a>(servers: impl IntoIterator<Item = &'a String>) -> BTreeMap<String, String> {
    let servers: Vec<&str> = servers.into_iter().map(String::as_str).collect();
    let parts = distinct(&servers, MAX_SERVER_CHARS, |part| {
        // The end of the server part must be unambiguous.
        !part.contains(SEPARATOR) && !part.ends_with('_')
    });
    let named = servers.iter().zip(parts);
    named.map(|(server, part)| ((*server).to_owned(), format!("{PREFIX}{part}{SEPARATOR}"))).collect()
}

/// The names of one server's tools, in the order of the list.
pub(crate) fn tools(prefix: &str, tools: &[&str]) -> Vec<String> {
    let parts = distinct(tools, MAX_NAME_CHARS.saturating_sub(prefix.len()), |_| true);
    parts.into_iter().map(|part| format!("{prefix}{part}")).collect()
}

/// Each name in allowed characters and at most `limit` long. A name that would equal another one, or is not `valid`, gets a
/// hash of the original as a suffix; a name that needs no change stays the same.
fn distinct(names: &[&str], limit: usize, valid: impl Fn(&str) -> bool) -> Vec<String> {
    let plain: Vec<String> = names.iter().map(|name| allowed(name)).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for part in &plain {
        *uses.entry(part).or_default() += 1;
    }
    let parts = names.iter().zip(&plain).map(|(name, part)| {
        let is_unique = part == name || uses.get(part.as_str()) == Some(&1);
        if is_unique && part.len() <= limit && !part.is_empty() && valid(part) {
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
    fn valid_names_are_unchanged() {
        assert_eq!(prefix(&["playwright"], "playwright"), "mcp__playwright__");
        assert_eq!(tools("mcp__s__", &["read_file", "a-b"]), ["mcp__s__read_file", "mcp__s__a-b"]);
    }

    #[test]
    fn invalid_characters_are_replaced() {
        assert_eq!(tools("mcp__s__", &["files.read", "größe"]), ["mcp__s__files_read", "mcp__s__gr__e"]);
        assert_eq!(prefix(&["my server"], "my server"), "mcp__my_server__");
    }

    #[test]
    fn equal_names_get_hashes_independent_of_their_order() {
        let names = tools("mcp__s__", &["a.b", "a_b", "a b"]);
        assert_eq!(names[1], "mcp__s__a_b", "the name that needs no change");
        assert_eq!(names, ["mcp__s__a_b_108bf50c", "mcp__s__a_b", "mcp__s__a_b_10a3f9f2"]);
        assert_eq!(super::fnv("a"), 0xe40c_292c, "the published value");
        let reordered = tools("mcp__s__", &["a b", "a.b", "a_b"]);
        assert_eq!(reordered, [names[2].clone(), names[0].clone(), names[1].clone()]);
    }

    #[test]
    fn tool_names_of_different_servers_never_collide() {
        assert_ne!(
            tools(&prefix(&["a", "a__b"], "a"), &["b__c"]),
            tools(&prefix(&["a", "a__b"], "a__b"), &["c"])
        );
        assert_ne!(tools(&prefix(&["a", "a_"], "a"), &["_c"]), tools(&prefix(&["a", "a_"], "a_"), &["c"]));
    }

    proptest! {
        /// For any server and tool names, every resulting name is valid and unique.
        #[test]
        fn names_are_valid_and_unique(
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
