//! Path patterns of permission rules, such as `./src/**`, `/data/*.csv` or `~/notes/**`. They are matched against
//! resolved paths.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use autonoe_files::PathMapping;
use globset::{GlobBuilder, GlobMatcher};

use super::rule_error::RuleError;
use crate::paths::real_path;

/// A literal directory, and a pattern for the files below it.
#[derive(Debug, Clone)]
pub struct PathPattern {
    base: Base,
    /// The part before the first `*`, `?` or `{`.
    literal: PathBuf,
    tail: PatternTail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Project,
    Home,
    Root,
}

#[derive(Debug, Clone)]
enum PatternTail {
    /// The literal path itself.
    Nothing,
    /// `**`
    Everything,
    /// A pattern; if it ends with `/**`, `tree` is the part before that.
    Pattern { whole: GlobMatcher, tree: Option<GlobMatcher> },
}

/// How much of a path a call touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathExtent {
    /// One file.
    File,
    /// The directory and everything below it.
    Tree,
}

/// The directories that patterns start from.
#[derive(Debug, Clone)]
pub struct BaseDirs {
    /// The project and the session's temporary directory, canonical. The agent may write there.
    pub agent: Vec<PathBuf>,
    /// Whatever else agents may write, now or in another run, canonical.
    pub written: Vec<PathBuf>,
    /// The user's home directory; if `None`, a `~` pattern matches nothing.
    pub home: Option<PathBuf>,
    /// Where the agent sees the project, if not at its own path.
    pub mapping: Option<PathMapping>,
}

impl PathPattern {
    /// Whether the pattern matches a resolved path.
    pub fn matches(&self, real: &Path, extent: PathExtent, dirs: &BaseDirs) -> bool {
        self.anchors(dirs).iter().filter_map(|anchor| real.strip_prefix(anchor).ok()).any(|inside| {
            match (&self.tail, extent) {
                (PatternTail::Everything, _) => true,
                (PatternTail::Nothing, PathExtent::File) => inside.as_os_str().is_empty(),
                (PatternTail::Nothing, PathExtent::Tree) => false,
                (PatternTail::Pattern { whole, .. }, PathExtent::File) => whole.is_match(inside),
                (PatternTail::Pattern { whole, tree }, PathExtent::Tree) => {
                    tree.as_ref().is_some_and(|tree| tree.is_match(inside) || whole.is_match(inside))
                }
            }
        })
    }

    /// The literal part of a pattern that is not relative to the project; `None` otherwise.
    pub fn outside(&self, dirs: &BaseDirs) -> Option<PathBuf> {
        if self.base == Base::Project {
            return None;
        }
        self.anchors(dirs).pop()
    }

    fn anchors(&self, dirs: &BaseDirs) -> Vec<PathBuf> {
        match self.base {
            Base::Project => dirs.agent.iter().map(|dir| dir.join(&self.literal)).collect(),
            Base::Home => {
                let home = dirs.home.iter().filter(|home| home.is_absolute());
                home.map(|home| dirs.resolve(&home.join(&self.literal))).collect()
            }
            Base::Root => {
                let path = Path::new("/").join(&self.literal);
                vec![
                    dirs.resolve(
                        &dirs.mapping.as_ref().map_or(path.clone(), |mapping| mapping.to_real(&path)),
                    ),
                ]
            }
        }
    }
}

impl BaseDirs {
    /// Resolves the links that only the user can have made. Links in the agent's directories are not followed, because
    /// the agent could point them anywhere.
    fn resolve(&self, path: &Path) -> PathBuf {
        let mut resolved = PathBuf::new();
        for component in path.components() {
            resolved.push(component);
            if !self
                .agent
                .iter()
                .chain(&self.written)
                .any(|dir| resolved.starts_with(dir) && resolved != *dir)
                && let Ok(real) = real_path(&resolved)
            {
                resolved = real;
            }
        }
        resolved
    }
}

impl FromStr for PathPattern {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let invalid = |reason: &str| RuleError::InvalidPath(reason.to_owned());
        let (base, path) = match text.split_at_checked(1) {
            Some(("/", path)) => (Base::Root, path),
            Some(("~", path)) if path.is_empty() || path.starts_with('/') => (Base::Home, path),
            Some(("~", _)) => return Err(invalid("'~' is your home directory and must be followed by '/'")),
            _ => (Base::Project, text),
        };
        if text.contains(|c: char| matches!(c, '[' | '\\') || c.is_control()) {
            return Err(invalid(
                "'[', '\\' and control characters are not supported; use '?' or '*' instead",
            ));
        }
        if text.ends_with('/') {
            return Err(invalid("it ends with '/'; append '**' to match everything below"));
        }
        let components: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if components.contains(&"..") {
            return Err(RuleError::ParentSegment);
        }
        let split = components.iter().position(|part| part.contains(['*', '?', '{']));
        let split = split.unwrap_or(components.len());
        let (literal, tail) = components.split_at(split);
        Ok(Self { base, literal: literal.iter().collect(), tail: PatternTail::parse(&tail.join("/"))? })
    }
}

impl PatternTail {
    fn parse(text: &str) -> Result<Self, RuleError> {
        Ok(match text {
            "" => Self::Nothing,
            "**" => Self::Everything,
            _ => {
                let tree = text.strip_suffix("/**").map(glob).transpose()?;
                Self::Pattern { whole: glob(text)?, tree }
            }
        })
    }
}

fn glob(text: &str) -> Result<GlobMatcher, RuleError> {
    let built = GlobBuilder::new(text).literal_separator(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| RuleError::InvalidPath(error.kind().to_string()))
}
