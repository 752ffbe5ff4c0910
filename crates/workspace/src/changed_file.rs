//! The files in which two commits differ.

/// The mode of a file that is not there.
const NO_FILE: &str = "000000";

/// A changed file, as `git diff-tree` prints it.
pub(crate) struct ChangedFile {
    pub(crate) is_addition: bool,
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
            let is_addition = words.next()?.ends_with(NO_FILE);
            let (mode, hash) = (words.next()?, words.nth(1)?);
            Some(Self { is_addition, mode, hash, path: fields.next()? })
        };
        std::iter::from_fn(next).collect()
    }

    pub(crate) fn is_deletion(&self) -> bool {
        self.mode == NO_FILE
    }

    /// For `git update-index --index-info`.
    pub(crate) fn as_index_line(&self) -> String {
        let Self { mode, hash, path, .. } = self;
        format!("{} {hash}\t{path}\0", if self.is_deletion() { "0" } else { mode })
    }
}
