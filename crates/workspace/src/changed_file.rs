//! The files in which two commits differ.

/// A changed file, as `git diff-tree` prints it.
pub(crate) struct ChangedFile {
    /// All zeros for a new file.
    pub(crate) old_hash: String,
    /// The new mode and hash, all zeros for a deletion.
    pub(crate) mode: String,
    pub(crate) hash: String,
    pub(crate) path: String,
}

impl ChangedFile {
    /// Reads the output of `git diff-tree -z`.
    pub(crate) fn parse(text: &str) -> Vec<Self> {
        let mut fields = text.split_terminator('\0').map(str::to_owned);
        let next = || {
            let entry = fields.next()?;
            let mut words = entry.split(' ').map(str::to_owned);
            let (mode, old_hash, hash) = (words.nth(1)?, words.next()?, words.next()?);
            Some(Self { old_hash, mode, hash, path: fields.next()? })
        };
        std::iter::from_fn(next).collect()
    }

    pub(crate) fn is_deletion(&self) -> bool {
        self.mode == "000000"
    }

    /// For `git update-index --index-info`.
    pub(crate) fn as_index_line(&self) -> String {
        let Self { mode, hash, path, .. } = self;
        format!("{} {hash}\t{path}\0", if self.is_deletion() { "0" } else { mode })
    }
}
