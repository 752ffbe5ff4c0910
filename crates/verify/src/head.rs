//! The last commit of a project, read from the repository's files without starting a program.

use std::path::Path;

use autonoe_files::read_text;
use autonoe_git::is_hash;
use autonoe_sandbox::Repository;

/// Maximum number of symbolic references to follow, and maximum size of the files.
const MAX_STEPS: usize = 5;
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// `None` without a repository or commit, or for a storage format that is not supported here.
pub fn last_commit(root: &Path) -> Option<String> {
    let repository = Repository::around(root);
    // A linked working tree has its own HEAD and shares the rest.
    let own = repository.directories.last()?;
    let mut text = read(&own.join("HEAD"))?;
    for _ in 0..MAX_STEPS {
        let Some(name) = text.strip_prefix("ref:") else {
            return Some(text.trim().to_owned()).filter(|text| is_hash(text));
        };
        let name = name.trim().to_owned();
        let is_plain = name.starts_with("refs/") && !name.split('/').any(|part| part == "..");
        text = repository.directories.iter().filter(|_| is_plain).find_map(|directory| {
            read(&directory.join(&name)).or_else(|| packed(&read(&directory.join("packed-refs"))?, &name))
        })?;
    }
    None
}

fn packed(list: &str, name: &str) -> Option<String> {
    let mut lines = list.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, named)| *named == name).map(|(hash, _)| hash.to_owned())
}

fn read(file: &Path) -> Option<String> {
    read_text(file, MAX_BYTES).ok().flatten()
}

#[cfg(test)]
mod tests {
    use autonoe_test_kit::git;

    use super::last_commit;

    #[test]
    fn the_last_commit_matches_git() {
        let directory = tempfile::tempdir().expect("directory");
        let root = directory.path().canonicalize().expect("real").join("project");
        std::fs::create_dir(&root).expect("directory");
        assert_eq!(last_commit(&root), None, "there is no repository");
        git(&root, &["init", "-q", "-b", "main", "."]);
        assert_eq!(last_commit(&root), None, "nothing is committed");
        let from_git = || Some(git(&root, &["rev-parse", "HEAD"]));
        git(&root, &["commit", "-q", "--allow-empty", "-m", "one"]);
        assert_eq!(last_commit(&root), from_git());
        git(&root, &["pack-refs", "--all"]);
        assert_eq!(last_commit(&root), from_git(), "packed");
        let linked = root.parent().expect("parent").join("linked");
        git(&root, &["worktree", "add", "-q", "-b", "other", &linked.display().to_string()]);
        git(&linked, &["commit", "-q", "--allow-empty", "-m", "two"]);
        assert_eq!(last_commit(&linked), Some(git(&linked, &["rev-parse", "HEAD"])));
        assert_ne!(last_commit(&linked), from_git());
        git(&root, &["checkout", "-q", "--detach"]);
        assert_eq!(last_commit(&root), from_git(), "detached");
    }
}
