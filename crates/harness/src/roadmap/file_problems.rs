//! Everything that is wrong with a file that is read line by line: a roadmap or a fleet file.

use std::fmt;

/// Problems that are shown; the rest is counted.
const SHOWN: usize = 50;

/// The problems of a file, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblems<P> {
    /// Each with its line, counted from 1.
    pub problems: Vec<(usize, P)>,
}

impl<P: fmt::Display> fmt::Display for FileProblems<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (line, problem)) in self.problems.iter().take(SHOWN).enumerate() {
            let separator = if place == 0 { "" } else { "\n" };
            write!(f, "{separator}line {line}: {problem}")?;
        }
        match self.problems.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more problems"),
        }
    }
}

impl<P: fmt::Debug + fmt::Display> std::error::Error for FileProblems<P> {}

impl<P> From<(usize, P)> for FileProblems<P> {
    fn from(problem: (usize, P)) -> Self {
        Self { problems: vec![problem] }
    }
}
