//! Language profiles: which toolchains a project uses, and so which commands its agents may run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Base commands belong to every project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Base commands only.
    Base,
    Node,
    Bun,
    Python,
    Ruby,
    Go,
    Rust,
    Php,
}

impl Profile {
    pub const ALL: [Self; 8] =
        [Self::Base, Self::Node, Self::Bun, Self::Python, Self::Ruby, Self::Go, Self::Rust, Self::Php];

    /// As in configuration and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Node => "node",
            Self::Bun => "bun",
            Self::Python => "python",
            Self::Ruby => "ruby",
            Self::Go => "go",
            Self::Rust => "rust",
            Self::Php => "php",
        }
    }

    /// The active profiles: base always, and all of them when none is named (seed 002 §9.4).
    pub fn active(named: &[Self]) -> Vec<Self> {
        if named.is_empty() {
            return Self::ALL.to_vec();
        }
        Self::ALL.into_iter().filter(|profile| *profile == Self::Base || named.contains(profile)).collect()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Profile::{self, Base, Go, Node, Python, Ruby};

    #[test]
    fn seed_002_9_4_not_set_means_all() {
        let active = Profile::active(&[]);
        for profile in [Base, Node, Python, Ruby, Go] {
            assert!(active.contains(&profile), "{}", profile.name());
        }
        assert_eq!(active, Profile::ALL);
    }

    #[test]
    fn seed_002_9_4_a_named_profile_means_base_and_it() {
        for named in [Node, Python, Ruby, Go] {
            assert_eq!(Profile::active(&[named]), [Base, named]);
        }
    }

    #[test]
    fn seed_002_9_4_several_named_profiles_mean_base_and_them() {
        assert_eq!(Profile::active(&[Python, Node]), [Base, Node, Python]);
        assert_eq!(Profile::active(&[Base]), [Base], "base alone adds no language");
    }
}
