//! Paths as a permission rule names them: `./src/**`, `/data/*.csv`, `~/notes/**`. Compared with where a path really
//! leads.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};

use super::RuleError;
use crate::paths::real_path;

/// The files that fit: below a directory that is written out, by a pattern.
#[derive(Debug, Clone)]
pub struct PathPattern {
    base: Base,
    /// The part before the first `*`, `?` or `{`.
    literal: PathBuf,
    rest: Rest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Project,
    Home,
    Root,
}

#[derive(Debug, Clone)]
enum Rest {
    /// The literal path itself.
    Nothing,
    /// `**`
    Everything,
    /// A pattern, and for one that ends with `/**` what stands before that.
    Pattern { whole: GlobMatcher, tree: Option<GlobMatcher> },
}

/// What a call wants of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// That file.
    File,
    /// Everything below it.
    Tree,
}

/// The places that patterns start from.
#[derive(Debug, Clone)]
pub struct Places {
    /// The project and the session's temporary directory, canonical. An agent may write there.
    pub own: Vec<PathBuf>,
    /// The user's home directory; without it a `~` pattern fits nothing.
    pub home: Option<PathBuf>,
}

impl PathPattern {
    /// Whether a path, given as where it really leads, fits.
    pub fn matches(&self, real: &Path, reach: Reach, places: &Places) -> bool {
        self.anchors(places).iter().filter_map(|anchor| real.strip_prefix(anchor).ok()).any(|inside| {
            match (&self.rest, reach) {
                (Rest::Everything, _) => true,
                (Rest::Nothing, Reach::File) => inside.as_os_str().is_empty(),
                (Rest::Nothing, Reach::Tree) => false,
                (Rest::Pattern { whole, .. }, Reach::File) => whole.is_match(inside),
                (Rest::Pattern { whole, tree }, Reach::Tree) => {
                    tree.as_ref().is_some_and(|tree| tree.is_match(inside) || whole.is_match(inside))
                }
            }
        })
    }

    /// The literal part of a pattern that is not the project's.
    pub fn outside(&self, places: &Places) -> Option<PathBuf> {
        if self.base == Base::Project {
            return None;
        }
        self.anchors(places).pop()
    }

    fn anchors(&self, places: &Places) -> Vec<PathBuf> {
        match self.base {
            Base::Project => places.own.iter().map(|own| own.join(&self.literal)).collect(),
            Base::Home => {
                let home = places.home.iter().filter(|home| home.is_absolute());
                home.map(|home| places.settled(&home.join(&self.literal))).collect()
            }
            Base::Root => vec![places.settled(&Path::new("/").join(&self.literal))],
        }
    }
}

impl Places {
    /// Where a path really leads, with the links that only the user can have made. Links in the agent's own places are
    /// not followed: it could turn them anywhere.
    fn settled(&self, path: &Path) -> PathBuf {
        let mut settled = PathBuf::new();
        for component in path.components() {
            settled.push(component);
            if !self.own.iter().any(|own| settled.starts_with(own) && settled != *own)
                && let Ok(real) = real_path(&settled)
            {
                settled = real;
            }
        }
        settled
    }
}

impl FromStr for PathPattern {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let wrong = |what: &str| RuleError::NoPath(what.to_owned());
        let (base, path) = match text.split_at_checked(1) {
            Some(("/", path)) => (Base::Root, path),
            Some(("~", path)) if path.is_empty() || path.starts_with('/') => (Base::Home, path),
            Some(("~", _)) => return Err(wrong("'~' is your own home directory and needs a '/' after it")),
            _ => (Base::Project, text),
        };
        if text.contains(|c: char| matches!(c, '[' | '\\') || c.is_control()) {
            return Err(wrong(
                "'[', '\\' and control characters are not understood; use '?' or '*' for them",
            ));
        }
        if text.ends_with('/') {
            return Err(wrong("it ends with '/'; add '**' for everything below"));
        }
        let components: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if components.contains(&"..") {
            return Err(RuleError::Climbs);
        }
        let split = components.iter().position(|part| part.contains(['*', '?', '{']));
        let split = split.unwrap_or(components.len());
        let (literal, rest) = components.split_at(split);
        Ok(Self { base, literal: literal.iter().collect(), rest: Rest::parse(&rest.join("/"))? })
    }
}

impl Rest {
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
    built.map(|glob| glob.compile_matcher()).map_err(|error| RuleError::NoPath(error.kind().to_string()))
}
