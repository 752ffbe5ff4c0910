//! Whether anything in a working tree has changed since it was saved, by the kernel's times of its files, which no agent can set. Opening a
//! room and asking git takes ten times as long, and most sessions end with everything committed.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_text};

use crate::workspace::Workspace;

/// The most files that are looked at. Git is faster where a build has left more.
const MAX_ENTRIES: usize = 20_000;

/// The file of a workspace that has the state in which it was saved, out of the agents' reach.
const SAVED: &str = "saved-state";

/// The state of a working tree, but for its repository; `None` if that cannot be said.
pub(crate) fn tree_state(workspace: &Workspace) -> Option<String> {
    let mut hasher = DefaultHasher::new();
    let mut entries = 0;
    add_directory(&workspace.tree(), &workspace.git_dir(), &mut entries, &mut hasher).ok()?;
    Some(format!("{:016x} {entries}", hasher.finish()))
}

fn add_directory(
    directory: &Path,
    left_out: &Path,
    entries: &mut usize,
    hasher: &mut DefaultHasher,
) -> io::Result<()> {
    let mut found = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    found.sort_by_key(fs::DirEntry::file_name);
    *entries += found.len();
    if *entries > MAX_ENTRIES {
        return Err(io::Error::other("too many files"));
    }
    for entry in found {
        let (path, metadata) = (entry.path(), entry.metadata()?);
        entry.file_name().hash(hasher);
        if path == left_out {
            continue;
        }
        (metadata.ino(), metadata.size(), metadata.mode()).hash(hasher);
        (metadata.ctime(), metadata.ctime_nsec()).hash(hasher);
        if metadata.is_dir() {
            add_directory(&path, left_out, entries, hasher)?;
        }
    }
    Ok(())
}

impl Workspace {
    /// Whether it is in the state in which it was saved last.
    pub(crate) fn is_saved(&self, state: Option<&String>) -> bool {
        let saved = read_text(&self.directory.join(SAVED), SETTINGS_LIMIT).ok().flatten();
        state.is_some() && saved.as_ref() == state
    }

    /// Without a state, the next look is git's.
    pub(crate) fn record_saved(&self, state: Option<String>) -> io::Result<()> {
        fs::write(self.directory.join(SAVED), state.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::tree_state;
    use crate::workspace::Workspace;

    #[test]
    fn every_change_of_a_file_is_noticed_and_none_of_the_repository() {
        let directory = tempfile::tempdir().expect("directory");
        let workspace = Workspace {
            directory: directory.path().to_owned(),
            branch: "autonoe/1".to_owned(),
            base: None,
            format: "sha1".to_owned(),
            part: String::new(),
        };
        let tree = workspace.tree();
        fs::create_dir_all(tree.join(".git")).expect("made");
        fs::create_dir_all(tree.join("a")).expect("made");
        fs::write(tree.join("a/file"), "one").expect("written");
        let save = || workspace.record_saved(tree_state(&workspace)).expect("recorded");
        let is_saved = || workspace.is_saved(tree_state(&workspace).as_ref());
        assert!(!is_saved(), "never saved");
        save();
        assert!(is_saved());
        fs::write(tree.join(".git/HEAD"), "x").expect("written");
        assert!(is_saved());
        let old = fs::metadata(tree.join("a/file")).expect("there").modified().expect("a time");
        fs::write(tree.join("a/file"), "two").expect("written");
        let file = fs::File::options().write(true).open(tree.join("a/file")).expect("opened");
        file.set_modified(old).expect("set back");
        assert!(!is_saved(), "same size and time of change");
        save();
        fs::rename(tree.join("a/file"), tree.join("a/other")).expect("renamed");
        assert!(!is_saved());
        save();
        fs::create_dir(tree.join("empty")).expect("made");
        assert!(!is_saved());
    }
}
