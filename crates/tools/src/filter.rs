//! Which files a pattern means, by their path below the directory that is searched.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::failure::Failure;

/// Which files are meant, by a pattern on their path below some directory.
#[derive(Debug)]
pub(crate) struct Filter {
    glob: GlobMatcher,
    negated: bool,
}

impl Filter {
    /// `*` stays within a directory, `**` crosses them, `{a,b}` chooses, a leading `!` negates. A
    /// pattern without a slash matches the file's name at any depth.
    pub(crate) fn new(pattern: &str) -> Result<Self, Failure> {
        let (pattern, negated) = match pattern.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (pattern, false),
        };
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if Path::new(pattern).is_absolute() || pattern.split('/').any(|part| part == "..") {
            return Err(Failure::invalid(format!(
                "The pattern `{pattern}` leaves the directory that is searched. Name the \
                 directory in `path` and keep the pattern relative to it."
            )));
        }
        let anchored = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        let glob = GlobBuilder::new(&anchored).literal_separator(true).build().map_err(|error| {
            Failure::invalid(format!("`{pattern}` is not a valid pattern: {}.", error.kind()))
        })?;
        Ok(Self { glob: glob.compile_matcher(), negated })
    }

    /// Whether a path relative to the directory is meant.
    pub(crate) fn matches(&self, relative: &Path) -> bool {
        self.glob.is_match(relative) != self.negated
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Filter;

    fn matches(pattern: &str, path: &str) -> bool {
        Filter::new(pattern).unwrap().matches(Path::new(path))
    }

    #[test]
    fn patterns_mean_what_they_mean_to_ripgrep() {
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
            assert!(Filter::new(pattern).unwrap_err().message.contains("`path`"), "{pattern}");
        }
        assert!(Filter::new("a{").unwrap_err().message.contains("not a valid pattern"));
    }
}
