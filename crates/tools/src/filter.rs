//! Glob patterns for paths relative to the searched directory.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::failure::ToolFailure;

#[derive(Debug)]
pub(crate) struct PathFilter {
    glob: GlobMatcher,
    negated: bool,
}

impl PathFilter {
    /// `*` matches within a directory, `**` across directories, `{a,b}` is an alternative, a leading `!` negates. A pattern
    /// without a slash matches file names at any depth.
    pub(crate) fn new(pattern: &str) -> Result<Self, ToolFailure> {
        let (pattern, negated) = match pattern.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (pattern, false),
        };
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if Path::new(pattern).is_absolute() || pattern.split('/').any(|part| part == "..") {
            return Err(ToolFailure::invalid(format!(
                "The pattern `{pattern}` leads out of the searched directory. Put the directory \
                 in `path` and keep the pattern relative to it."
            )));
        }
        let anchored = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        let glob = GlobBuilder::new(&anchored).literal_separator(true).build().map_err(|error| {
            ToolFailure::invalid(format!("`{pattern}` is not a valid pattern: {}.", error.kind()))
        })?;
        Ok(Self { glob: glob.compile_matcher(), negated })
    }

    pub(crate) fn matches(&self, relative: &Path) -> bool {
        self.glob.is_match(relative) != self.negated
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::PathFilter;

    fn matches(pattern: &str, path: &str) -> bool {
        PathFilter::new(pattern).unwrap().matches(Path::new(path))
    }

    #[test]
    fn patterns_match_like_those_of_ripgrep() {
        assert!(matches("*.rs", "a/b/c.rs"));
        assert!(matches("**/*.rs", "c.rs"));
        assert!(matches("a/*.rs", "a/c.rs"));
        assert!(matches("./a/*.{rs,toml}", "a/c.toml"));
        assert!(!matches("a/*.rs", "a/b/c.rs"));
        assert!(!matches("!*.rs", "a/c.rs"));
        assert!(matches("!*.rs", "a/c.toml"));
    }

    #[test]
    fn a_pattern_cannot_leave_its_directory() {
        for pattern in ["/etc/*", "../*", "a/../../*"] {
            assert!(PathFilter::new(pattern).unwrap_err().message.contains("`path`"), "{pattern}");
        }
        assert!(PathFilter::new("a{").unwrap_err().message.contains("not a valid pattern"));
    }
}
