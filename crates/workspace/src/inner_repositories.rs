//! Repositories of the user's that lie within the checkout: clones, linked working trees, bare ones, and the repository's own files under
//! another name than `.git`. Git runs hooks and settings there, so what a commit writes into them acts by itself.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use autonoe_files::read_start;

/// Bytes of a HEAD that are looked at, as by git.
const HEAD_BYTES: u64 = 256;

/// The digits of a commit's hash at least.
const HASH_DIGITS: usize = 40;

pub(crate) struct InnerRepositories {
    top: PathBuf,
    /// The repository's own directories.
    own: Vec<FileNumber>,
    known: RefCell<HashMap<String, bool>>,
}

impl InnerRepositories {
    pub(crate) fn of(top: &Path, own: &[PathBuf]) -> Self {
        let own = own.iter().filter_map(|path| number_of(path)).collect();
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
        let is_own = || number_of(&path).is_some_and(|number| self.own.contains(&number));
        // Other parts may be added by the commit, or elsewhere.
        let is_repository = exists(".git") || has_valid_head(&path) || is_own();
        self.known.borrow_mut().insert(directory.to_owned(), is_repository);
        is_repository
    }
}

/// The numbers of a device and of a file on it.
type FileNumber = (u64, u64);

/// Of what a path leads to. That takes one look, also for a path of thousands of parts.
fn number_of(path: &Path) -> Option<FileNumber> {
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Whether a directory has a HEAD that git accepts. One that cannot be read counts as well.
fn has_valid_head(directory: &Path) -> bool {
    let path = directory.join("HEAD");
    let Ok(metadata) = path.symlink_metadata() else { return false };
    metadata.is_symlink()
        || metadata.is_file()
            && match read_start(&path, HEAD_BYTES) {
                Ok(Some((start, _))) => is_valid_head(&start),
                Ok(None) => false,
                Err(_) => true,
            }
}

/// Whether a file named HEAD can be that of a repository: it names a ref or a commit.
fn is_valid_head(start: &[u8]) -> bool {
    let names_a_ref =
        start.strip_prefix(b"ref:").is_some_and(|name| name.trim_ascii_start().starts_with(b"refs/"));
    let digits = start.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    names_a_ref || digits >= HASH_DIGITS
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::InnerRepositories;

    #[test]
    fn repositories_within_the_checkout_are_found() {
        let top = tempfile::tempdir().expect("directory");
        let hash = "0123456789abcdefABCD".repeat(2);
        for (file, content) in [
            ("sub/.git/HEAD", ""),
            ("wt/.git", ""),
            ("repos/x.git/HEAD", "ref: refs/heads/main\n"),
            ("repos/y.git/HEAD", "ref:\n\trefs/x"),
            ("repos/z.git/HEAD", &format!("{hash}\n")),
            ("meta/config", ""),
            ("src/a.rs", ""),
            ("api/HEAD", "HEAD /users\n"),
            ("api/short/HEAD", &hash[1..]),
            ("api/other/HEAD", "ref: main"),
            ("api/common/commondir", "../.."),
            ("api/routes/HEAD/users", ""),
        ] {
            let path = top.path().join(file);
            fs::create_dir_all(path.parent().expect("parent")).expect("made");
            fs::write(path, content).expect("written");
        }
        fs::create_dir(top.path().join("link")).expect("made");
        symlink("refs/heads/main", top.path().join("link/HEAD")).expect("linked");
        let repositories = InnerRepositories::of(top.path(), &[top.path().join("meta")]);
        for path in [
            "sub/t/f.sh",
            "wt/a",
            "repos/x.git/hooks/pre-receive",
            "repos/y.git/config",
            "repos/z.git/config",
            "meta/config.worktree",
            "link/config",
        ] {
            assert!(repositories.contain(path), "{path}");
        }
        for path in [
            "src/b.rs",
            "a",
            "sub",
            "repos/a",
            "new/a",
            "api/a",
            "api/short/a",
            "api/other/a",
            "api/common/a",
            "api/routes/a",
        ] {
            assert!(!repositories.contain(path), "{path}");
        }
    }
}
