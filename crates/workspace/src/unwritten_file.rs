//! What git could not write in the user's checkout, and why.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_core::file_names::shown_name;
use autonoe_files::WriteFailure;
use autonoe_git::Finished;

use crate::changed_file::ChangedFile;
use crate::git_refusal::describe;
use crate::landing::LandingAttempt;

/// What git says before a path, and whether it gives the system's reason behind it.
const FAILURES: [(&str, bool); 7] = [
    ("unable to write file ", false),
    ("unable to create file ", true),
    ("unable to create symlink ", true),
    ("unable to unlink old ", true),
    ("unable to unlink ", true),
    ("cannot unlink ", true),
    ("cannot create directory at ", true),
];

/// How the system names reasons that are explained further.
const REASONS: [(&str, ErrorKind); 4] = [
    ("No space left on device", ErrorKind::StorageFull),
    ("Permission denied", ErrorKind::PermissionDenied),
    ("Read-only file system", ErrorKind::ReadOnlyFilesystem),
    ("Disk quota exceeded", ErrorKind::QuotaExceeded),
];

/// Prints the sizes of the objects from `$6` on, a line each.
const SIZES: &str = r#"shift 5
printf '%s\n' "$@" | git cat-file --batch-check='%(objectsize)'"#;

/// The most files that could not be written whose sizes are added up.
const MAX_SIZES: usize = 1000;

/// Files that git itself needs in addition: locks of the index and the branch.
const LOCK_FILES: u64 = 2;

/// A file or directory that git could not write.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnwrittenFile {
    /// Relative to the working tree.
    path: String,
    /// In the system's words; `None` if git does not give it.
    reason: Option<String>,
}

/// What there would have to be room for.
#[derive(Debug, Clone, Copy, Default)]
struct NeededSpace {
    bytes: u64,
    files: u64,
}

impl UnwrittenFile {
    /// Those that git names on standard error.
    fn named_in(stderr: &str) -> Vec<Self> {
        stderr.lines().filter_map(Self::parse).collect()
    }

    fn parse(line: &str) -> Option<Self> {
        let line =
            ["error: ", "fatal: ", "warning: "].iter().find_map(|kind| line.trim().strip_prefix(kind))?;
        let (rest, has_reason) = FAILURES
            .iter()
            .find_map(|(failure, has_reason)| Some((line.strip_prefix(failure)?, *has_reason)))?;
        let (path, reason) = match rest.rsplit_once(": ").filter(|_| has_reason) {
            Some((path, reason)) => (path, Some(reason.to_owned())),
            None => (rest, None),
        };
        let quoted = path.strip_prefix('\'').and_then(|path| path.strip_suffix('\''));
        Some(Self { path: quoted.unwrap_or(path).to_owned(), reason })
    }

    /// A clause such as "a.txt cannot be written: permission denied". `top` is the working tree.
    fn describe(&self, top: &Path, needed: NeededSpace) -> String {
        let why = self.why(top, needed).map(|why| format!(": {why}")).unwrap_or_default();
        format!("{} cannot be written{why}", shown_name(&self.path))
    }

    fn why(&self, top: &Path, needed: NeededSpace) -> Option<String> {
        let path = top.join(&self.path);
        // Git replaces files, so the directory decides.
        let directory = path.parent().unwrap_or(top);
        let of_space = || WriteFailure::of_space(directory, needed.bytes, needed.files + LOCK_FILES);
        let Some(reason) = &self.reason else {
            let failure = of_space().or_else(|| WriteFailure::predict(directory));
            return failure.map(|failure| failure.why);
        };
        let known = REASONS.iter().find(|(words, _)| words == reason).map(|(_, kind)| *kind);
        Some(match known {
            Some(ErrorKind::StorageFull) => of_space().unwrap_or_else(|| WriteFailure::full(directory)).why,
            Some(kind) => WriteFailure::of(directory, &io::Error::from(kind)).why,
            None => reason.clone(),
        })
    }
}

impl LandingAttempt<'_> {
    /// Why files are not as the new commit has them; `None` if they are. Git may succeed although it could not write a file.
    pub(crate) async fn why_not_updated(
        &self,
        changed: &[ChangedFile],
        updated: &Finished,
    ) -> Result<Option<String>, Fault> {
        let named = UnwrittenFile::named_in(&updated.stderr);
        let unwritten = self.unwritten(changed, &updated.stdout);
        let first = match (updated.code, unwritten.first()) {
            (0, None) => return Ok(None),
            (0, Some(first)) => {
                let known = named.into_iter().find(|file| file.path == first.path);
                known.unwrap_or_else(|| UnwrittenFile { path: first.path.clone(), reason: None })
            }
            (_, _) => match named.into_iter().next() {
                Some(first) => first,
                None => return Ok(Some(describe(updated))),
            },
        };
        let hashes: Vec<&str> = unwritten
            .iter()
            .filter(|file| !file.is_deletion())
            .take(MAX_SIZES)
            .map(|file| &*file.hash)
            .collect();
        let sizes = self.run_in_tree(SIZES, &hashes).await?.stdout;
        let bytes = sizes.lines().filter_map(|size| size.trim().parse::<u64>().ok()).sum();
        let needed = NeededSpace { bytes, files: hashes.len() as u64 };
        Ok(Some(first.describe(&self.from.top, needed)))
    }

    /// The files that are not as the new commit has them. `differing` is what git says.
    fn unwritten<'f>(&self, changed: &'f [ChangedFile], differing: &str) -> Vec<&'f ChangedFile> {
        let differing: HashSet<&str> = differing.split_terminator('\0').collect();
        let is_unwritten = |file: &&ChangedFile| {
            differing.contains(file.path.as_str()) || (self.is_missing(file) != file.is_deletion())
        };
        changed.iter().filter(is_unwritten).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{NeededSpace, UnwrittenFile};

    #[test]
    fn files_are_found_in_what_git_says() {
        for (line, path, reason) in [
            ("error: unable to write file 'big2'", "big2", None),
            ("error: unable to write file a: b", "a: b", None),
            ("error: unable to create file d/f: Permission denied", "d/f", Some("Permission denied")),
            ("error: unable to unlink old 'a: b': Permission denied", "a: b", Some("Permission denied")),
            (
                "fatal: cannot create directory at 'e': Read-only file system",
                "e",
                Some("Read-only file system"),
            ),
        ] {
            let found = UnwrittenFile { path: path.to_owned(), reason: reason.map(str::to_owned) };
            assert_eq!(UnwrittenFile::named_in(line), [found], "{line}");
        }
        assert_eq!(UnwrittenFile::named_in("error: something else\nunable to write file x"), []);
    }

    #[test]
    fn the_first_file_is_named_with_its_reason() {
        let directory = tempfile::tempdir().expect("directory");
        let describe = |reason: Option<&str>, needed: NeededSpace| {
            let file = UnwrittenFile { path: "d/f".to_owned(), reason: reason.map(str::to_owned) };
            file.describe(directory.path(), needed)
        };
        let nothing = NeededSpace::default();
        let too_much = NeededSpace { bytes: u64::MAX, files: 1 };
        assert_eq!(describe(None, nothing), "d/f cannot be written");
        assert_eq!(describe(Some("Permission denied"), nothing), "d/f cannot be written: permission denied");
        assert_eq!(
            describe(Some("File name too long"), nothing),
            "d/f cannot be written: File name too long"
        );
        for reason in [None, Some("No space left on device")] {
            let said = describe(reason, too_much);
            assert!(
                said.contains("are free on the file system at") && said.ends_with("are needed"),
                "{said}"
            );
        }
    }
}
