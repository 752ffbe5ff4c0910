//! The directory that a release is written to: flat, as the pages of releases are, and nothing in it from an earlier release.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::sums::sha256;
use crate::result::Result;

/// Written into the directory, so that only a directory of ours is ever emptied.
const MARK: &str = ".autonoe-release";

pub struct OutputDirectory {
    directory: PathBuf,
    files: Vec<ReleaseFile>,
}

#[derive(Debug, Clone)]
pub struct ReleaseFile {
    pub name: String,
    /// In hexadecimal.
    pub sha256: String,
}

impl OutputDirectory {
    pub fn create(directory: &Path) -> Result<Self> {
        let is_empty = fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none());
        if !is_empty && !directory.join(MARK).exists() {
            let shown = directory.display();
            return Err(
                format!("{shown} has other files than those of a release; name an empty directory.").into()
            );
        }
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        fs::create_dir_all(directory)?;
        fs::write(directory.join(MARK), "")?;
        Ok(Self { directory: directory.to_owned(), files: Vec::new() })
    }

    pub fn write(&mut self, name: &str, content: &[u8]) -> Result {
        fs::write(self.path(name), content)?;
        println!("{:>8.1} MB  {name}", content.len() as f64 / 1e6);
        self.files.push(ReleaseFile { name: name.to_owned(), sha256: sha256(content) });
        Ok(())
    }

    /// What was written so far, sorted by name.
    pub fn files(&self) -> Vec<ReleaseFile> {
        let mut files = self.files.clone();
        files.sort_by(|left, right| left.name.cmp(&right.name));
        files
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Files that are not the same in two directories, or only in one of them.
pub fn differences(one: &Path, other: &Path) -> Result<Vec<String>> {
    let names = |directory: &Path| -> Result<BTreeSet<String>> {
        let entries: std::io::Result<Vec<_>> = fs::read_dir(directory)?.collect();
        Ok(entries?.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
    };
    let all: BTreeSet<String> = names(one)?.union(&names(other)?).cloned().collect();
    let is_same = |name: &String| match (fs::read(one.join(name)), fs::read(other.join(name))) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    Ok(all.into_iter().filter(|name| !is_same(name)).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{OutputDirectory, differences};

    #[test]
    fn two_directories_are_compared_by_names_and_bytes() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (name, here, there) in [("same", "a", "a"), ("changed", "a", "b")] {
            fs::write(one.path().join(name), here).unwrap();
            fs::write(other.path().join(name), there).unwrap();
        }
        fs::write(other.path().join("new"), "a").unwrap();
        assert_eq!(differences(one.path(), other.path()).unwrap(), ["changed", "new"]);
    }

    #[test]
    fn only_a_release_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = OutputDirectory::create(directory.path()).unwrap();
        output.write("b", b"").unwrap();
        output.write("a", b"").unwrap();
        let names: Vec<_> = output.files().into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["a", "b"]);
        OutputDirectory::create(directory.path()).unwrap();
        assert!(!directory.path().join("a").exists());
        let other = directory.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("thesis.txt"), "years of work").unwrap();
        let error = OutputDirectory::create(&other).err().unwrap().to_string();
        assert!(error.contains("has other files"), "{error}");
        assert!(other.join("thesis.txt").exists());
    }
}
