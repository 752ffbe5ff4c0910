//! The symbolic links of a tree, and where paths lead through them.

use std::collections::HashMap;

/// How many links may follow each other.
const MAX_STEPS: usize = 16;

/// The links of a tree, by path, with where each leads within the tree. One that leads out of it has no entry.
#[derive(Debug, Default)]
pub(crate) struct TreeLinks(HashMap<String, Option<String>>);

impl TreeLinks {
    pub(crate) fn new<'a>(links: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self(links.map(|(path, target)| (path.to_owned(), within(path, target))).collect())
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The links on the way of a path, and every path that it leads to; empty if there is no link.
    pub(crate) fn ways_of(&self, path: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut path = path.to_owned();
        for _ in 0..MAX_STEPS {
            let Some((link, rest)) = self.first_link(&path) else { break };
            found.push(link.to_owned());
            let Some(Some(target)) = self.0.get(link) else { break };
            path = format!("{target}{rest}");
            found.push(path.clone());
        }
        found
    }

    /// The first link on the way of a path, and what comes after it.
    fn first_link<'a>(&self, path: &'a str) -> Option<(&'a str, &'a str)> {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        ends.map(|end| path.split_at(end)).find(|(directory, _)| self.0.contains_key(*directory))
    }
}

/// Where in the tree a link leads; `None` if it leads out.
fn within(link: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    (!target.starts_with('/') && !parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{TreeLinks, within};

    #[test]
    fn links_lead_within_the_tree_or_out_of_it() {
        for (link, target, place) in [
            (".vscode", "cfg", Some("cfg")),
            ("a/.vscode", "../cfg/x", Some("cfg/x")),
            ("a/b/.envrc", "./../c", Some("a/c")),
            (".vscode", "../out", None),
            (".vscode", "/etc", None),
        ] {
            assert_eq!(within(link, target).as_deref(), place, "{link} {target}");
        }
    }

    #[test]
    fn links_are_followed_wherever_they_are_in_a_path() {
        let links = TreeLinks::new(
            [("lib", "real"), ("SPEC.md", "docs/spec.md"), ("docs", "x/y"), ("a", "a")].into_iter(),
        );
        assert_eq!(links.ways_of("lib/pre.sh"), ["lib", "real/pre.sh"]);
        assert_eq!(links.ways_of("SPEC.md"), ["SPEC.md", "docs/spec.md", "docs", "x/y/spec.md"]);
        assert!(links.ways_of("real/pre.sh").is_empty());
        assert_eq!(links.ways_of("a/b").len(), 32, "a circle ends");
    }
}
