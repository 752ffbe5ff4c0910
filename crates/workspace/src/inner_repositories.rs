//! Repositories of the user's that lie within the checkout: clones, linked working trees, bare ones, and the repository's own files under
//! another name than `.git`. Git runs hooks and settings there, so what a commit writes into them acts by itself.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub(crate) struct InnerRepositories {
    top: PathBuf,
    /// The repository's own directories.
    own: Vec<PathBuf>,
    known: RefCell<HashMap<String, bool>>,
}

impl InnerRepositories {
    pub(crate) fn of(top: &Path, own: &[PathBuf]) -> Self {
        let own = own.iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect();
        Self { top: top.to_owned(), own, known: RefCell::default() }
    }

    /// Whether a path is in one of them.
    pub(crate) fn contain(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
        ends.into_iter().any(|directory| self.is_repository(directory))
    }

    fn is_repository(&self, directory: &str) -> bool {
        if let Some(is_known) = self.known.borrow().get(directory) {
            return *is_known;
        }
        let path = self.top.join(directory);
        let exists = |name: &str| path.join(name).symlink_metadata().is_ok();
        let is_own = || path.canonicalize().is_ok_and(|path| self.own.contains(&path));
        // Other parts may be added by the commit, or elsewhere.
        let is_repository = exists(".git") || exists("HEAD") || exists("commondir") || is_own();
        self.known.borrow_mut().insert(directory.to_owned(), is_repository);
        is_repository
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::InnerRepositories;

    #[test]
    fn repositories_within_the_checkout_are_found() {
        let top = tempfile::tempdir().expect("directory");
        for file in ["sub/.git/HEAD", "wt/.git", "repos/x.git/HEAD", "meta/config", "src/a.rs"] {
            let path = top.path().join(file);
            fs::create_dir_all(path.parent().expect("parent")).expect("made");
            fs::write(path, "").expect("written");
        }
        let repositories = InnerRepositories::of(top.path(), &[top.path().join("meta")]);
        for path in ["sub/t/f.sh", "wt/a", "repos/x.git/hooks/pre-receive", "meta/config.worktree"] {
            assert!(repositories.contain(path), "{path}");
        }
        for path in ["src/b.rs", "a", "sub", "repos/a", "new/a"] {
            assert!(!repositories.contain(path), "{path}");
        }
    }
}
