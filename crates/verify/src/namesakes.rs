//! Files with the names of accepted ones in other directories. A program that looks for a module or a header in several places takes the first
//! that it finds, and that may not be the protected one.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use autonoe_store::ProtectedPath;
use ignore::WalkBuilder;
use tokio_util::sync::CancellationToken;

/// The most files that are looked at.
const MAX_FILES: usize = 200_000;

/// Endings of files that are looked for by their names.
const SEARCHED: [&str; 5] = [".h", ".hh", ".hpp", ".py", ".rb"];

/// Names that files of many directories have, and that nobody looks for elsewhere.
const CUSTOMARY: [&str; 4] = ["__init__.py", "__main__.py", "conftest.py", "spec_helper.rb"];

/// The names of accepted files that are looked for in several places.
#[derive(Debug)]
pub(crate) struct Namesakes(HashSet<String>);

impl Namesakes {
    pub(crate) fn of<'a>(files: impl Iterator<Item = &'a ProtectedPath>) -> Self {
        let names = files.map(|file| name_of(&file.to_string()).to_owned());
        let is_searched = |name: &String| SEARCHED.iter().any(|ending| name.ends_with(ending));
        Self(names.filter(|name| is_searched(name) && !CUSTOMARY.contains(&name.as_str())).collect())
    }

    /// Whether a file, or the package of the file, has one of the names.
    pub(crate) fn has(&self, path: &str) -> bool {
        let package = || path.strip_suffix("/__init__.py").map(|package| format!("{}.py", name_of(package)));
        self.0.contains(name_of(path)) || package().is_some_and(|module| self.0.contains(&module))
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Those below `root`.
pub(crate) fn namesakes_in(root: &Path, names: &Namesakes, cancel: &CancellationToken) -> BTreeSet<String> {
    if names.0.is_empty() {
        return BTreeSet::new();
    }
    let walk = WalkBuilder::new(root).standard_filters(false).follow_links(false).build();
    let files = walk.filter_map(Result::ok).take(MAX_FILES).take_while(|_| !cancel.is_cancelled());
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    paths.filter(|path| names.has(path)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use autonoe_store::ProtectedPath;
    use tokio_util::sync::CancellationToken;

    use super::{Namesakes, namesakes_in};

    #[test]
    fn modules_and_headers_of_the_same_name_are_found() {
        let accepted = ["tests/judge.py", "tests/judge.h", "tests/__init__.py", "tests/run.sh"];
        let accepted: Vec<ProtectedPath> = accepted.iter().map(|path| ProtectedPath::new(*path)).collect();
        let names = Namesakes::of(accepted.iter());
        let directory = tempfile::tempdir().unwrap();
        for path in [
            "judge.py",
            "src/judge.py",
            "lib/judge/__init__.py",
            "include/judge.h",
            "run.sh",
            "src/__init__.py",
        ] {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = namesakes_in(directory.path(), &names, &CancellationToken::new());
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["include/judge.h", "judge.py", "lib/judge/__init__.py", "src/judge.py"]);
    }
}
