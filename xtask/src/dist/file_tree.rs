//! Files that are packed together: their paths, contents and whether they can be executed. Nothing else of a file is packed.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Default)]
pub struct FileTree(BTreeMap<String, PackedFile>);

#[derive(Debug, Clone)]
pub struct PackedFile {
    pub content: Vec<u8>,
    pub is_program: bool,
}

impl PackedFile {
    pub fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }
}

impl FileTree {
    pub fn add(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), PackedFile { content: content.into(), is_program: false });
    }

    pub fn add_program(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), PackedFile { content: content.into(), is_program: true });
    }

    /// Sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &PackedFile)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The directories of all files, with a slash at the end, each after the one that it is in.
    pub fn directories(&self) -> BTreeSet<&str> {
        let ends =
            |path: &'_ str| -> Vec<usize> { path.match_indices('/').map(|(place, _)| place).collect() };
        self.0.keys().flat_map(|path| ends(path).into_iter().map(|end| &path[..=end])).collect()
    }

    /// The size of all contents, in bytes.
    pub fn size(&self) -> usize {
        self.0.values().map(|file| file.content.len()).sum()
    }
}

/// A small installation, for the tests of archives.
#[cfg(test)]
pub fn example() -> FileTree {
    let mut tree = FileTree::default();
    tree.add("share/man/man1/autonoe.1", ".TH autonoe\n");
    tree.add_program("bin/autonoe", "#!/bin/sh\necho autonoe 1.2.3\n");
    tree.add("LICENSE-MIT", "as is\n");
    tree
}
