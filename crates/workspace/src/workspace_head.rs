//! The commit that a workspace is at, read without git: most sessions and claims bring nothing new, and a room for git takes longer than all else.

use std::ffi::OsStr;
use std::path::Path;

use autonoe_files::UntrustedDir;
use autonoe_git::is_hash;

/// Longer than any name of a branch that git accepts.
const MAX_LENGTH: u64 = 4096;

/// The commit that HEAD names in the repository of a working tree; `None` if only git can tell. No link is followed.
pub(crate) fn head_commit(tree: &Path) -> Option<String> {
    let git = UntrustedDir::open(tree).ok()?.existing(Path::new(".git")).ok()?;
    let head = line(&git, OsStr::new("HEAD"))?;
    let Some(branch) = head.strip_prefix("ref: ") else {
        return Some(head).filter(|commit| is_hash(commit));
    };
    let branch = Path::new(branch);
    let directory = git.existing(branch.parent()?).ok()?;
    line(&directory, branch.file_name()?).filter(|commit| is_hash(commit))
}

fn line(directory: &UntrustedDir, name: &OsStr) -> Option<String> {
    let text = directory.read(name, MAX_LENGTH).ok()??;
    Some(String::from_utf8(text).ok()?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::head_commit;

    #[test]
    fn a_commit_is_found_unless_only_git_can_tell() {
        let commit = "1234567890".repeat(4);
        let tree = tempfile::tempdir().unwrap();
        let git = tree.path().join(".git");
        assert_eq!(head_commit(tree.path()), None);
        fs::create_dir_all(git.join("refs/heads/autonoe")).unwrap();
        fs::write(git.join("HEAD"), format!("{commit}\n")).unwrap();
        assert_eq!(head_commit(tree.path()), Some(commit.clone()));
        fs::write(git.join("HEAD"), "ref: refs/heads/autonoe/1\n").unwrap();
        assert_eq!(head_commit(tree.path()), None, "it may be in packed-refs");
        fs::write(git.join("refs/heads/autonoe/1"), format!("{commit}\n")).unwrap();
        assert_eq!(head_commit(tree.path()), Some(commit.clone()));
        fs::write(git.join("refs/heads/autonoe/1"), "ref: refs/heads/other\n").unwrap();
        assert_eq!(head_commit(tree.path()), None);

        fs::write(tree.path().join("outside"), format!("{commit}\n")).unwrap();
        fs::remove_file(git.join("refs/heads/autonoe/1")).unwrap();
        symlink(tree.path().join("outside"), git.join("refs/heads/autonoe/1")).unwrap();
        assert_eq!(head_commit(tree.path()), None, "no link is followed");
        fs::write(git.join("HEAD"), "ref: ../../outside\n").unwrap();
        assert_eq!(head_commit(tree.path()), None, "nor a way out");
    }
}
