//! What patterns of `protect` match in a project, and what would be loaded in its place.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::protect_pattern::{ProtectPattern, is_document};

/// What patterns protect.
#[derive(Clone)]
pub(crate) struct ProtectMatcher {
    own: GlobSet,
    shadows: GlobSet,
}

impl ProtectMatcher {
    pub(crate) fn of(patterns: &[ProtectPattern]) -> Result<Self, globset::Error> {
        let set = |globs: Vec<String>| {
            let mut set = GlobSetBuilder::new();
            for glob in globs {
                set.add(GlobBuilder::new(&glob).literal_separator(true).build()?);
            }
            set.build()
        };
        // A directory includes everything in it.
        let own = patterns.iter().flat_map(|pattern| [pattern.glob.clone(), format!("{}/**", pattern.glob)]);
        let shadows = patterns.iter().flat_map(ProtectPattern::shadows);
        Ok(Self { own: set(own.collect())?, shadows: set(shadows.collect())? })
    }

    /// Whether a file is protected, or would be loaded in place of one that is.
    pub(crate) fn is_match(&self, path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        self.own.is_match(path) || self.is_shadow(path)
    }

    /// Whether a file is only what would be loaded in place of what the patterns match.
    pub(crate) fn is_shadow(&self, path: &Path) -> bool {
        !self.own.is_match(path) && !is_document(path) && self.shadows.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::ProtectMatcher;
    use crate::protect_pattern::ProtectPattern;

    #[test]
    fn what_has_the_name_of_tests_could_be_loaded_in_their_place() {
        for (pattern, shadows, others) in [
            (
                "tests/**",
                "tests.py tests.json tests.abi3.so",
                "tests/a.py testsuite.py other/tests.py tests.md",
            ),
            (
                "test_calc.py",
                "test_calc/__init__.py test_calc test_calc.abi3.so",
                "test_calc.py test_other.py",
            ),
            (
                "tests/run.js",
                "tests/run tests/run.json tests/run/index.js",
                "tests/run.js run.js tests/runner.js",
            ),
            ("spec/*_spec.rb", "spec.rb spec/a_spec spec/a_spec.so", "spec/a_spec.rb spec/helper.rb"),
            ("tests/test_*.c", "tests/test_a tests/test_a.o tests.py", "tests/a.h"),
            ("src/calc.h", "src/calc.h.gch", "src/calc.c src/calc src/calc.o src.py"),
            ("data/**", "", "data.py data.json"),
            ("data/cities.csv", "", "data/cities.py data/cities"),
            ("schema.sql", "", "schema.py schema/a.py"),
            ("Cargo.toml", "", "Cargo.lock"),
            ("go.mod", "", "go.sum"),
            ("calc.t", "", "calc.sh calc"),
            ("tests/t.js", "tests/t", "tests/u"),
            ("tests/run.sh", "tests/run", "tests/run.txt"),
            ("*.py", "", "a.js a/b.js a.py"),
            ("Makefile", "", "Makefile.inc make"),
        ] {
            let parsed = ProtectPattern::parse(pattern).expect("a pattern");
            let matcher = ProtectMatcher::of(&[parsed]).expect("a glob");
            for shadow in shadows.split_whitespace() {
                assert!(matcher.is_shadow(shadow.as_ref()), "{pattern}: {shadow}");
            }
            for other in others.split_whitespace() {
                assert!(!matcher.is_shadow(other.as_ref()), "{pattern}: {other}");
            }
        }
    }
}
