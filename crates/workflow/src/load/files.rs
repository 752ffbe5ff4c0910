//! The files of an agent's directory: which are read, and how large they may be.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_files::{ReadError, read_bytes_beneath, to_text};

use crate::definition::PROMPTS_DIR;
use crate::faults::{CONFIGURATION_PARSE, ErrorClass, PROMPT_PARSE};
use crate::problem::Problem;

/// The largest prompt, in bytes.
pub const PROMPT_BYTES_LIMIT: u64 = 256 * 1024;
/// The largest JSON file, in bytes.
pub const JSON_BYTES_LIMIT: u64 = 1024 * 1024;
/// The largest other file, in bytes; larger ones are skipped.
pub const OTHER_BYTES_LIMIT: u64 = 1024 * 1024;
/// The most files and directories of one agent.
pub const FILES_LIMIT: usize = 500;
/// The most bytes in all files together.
pub const TOTAL_BYTES_LIMIT: u64 = 8 * 1024 * 1024;

/// File contents by their relative paths.
pub(super) type Files = BTreeMap<String, String>;

/// The files of a directory, and those that cannot be read.
pub(super) struct FoundFiles {
    pub(super) files: Files,
    pub(super) problems: Vec<Problem>,
}

impl FoundFiles {
    pub(super) fn is_unreadable(&self, path: &str) -> bool {
        self.problems.iter().any(|problem| problem.file == path)
    }
}

/// Reads the text files of a directory, except hidden ones. A fault means that the directory cannot be read or is too large.
pub(super) fn read(directory: &Path) -> Result<FoundFiles, Fault> {
    if fs::symlink_metadata(directory).is_ok_and(|found| found.is_symlink()) {
        let what = format!("{} is {LINK}.", directory.display());
        return Err(CONFIGURATION_PARSE.fault(what).hint(INSTEAD_OF_A_LINK));
    }
    let mut reader =
        DirectoryReader { directory, files: Files::new(), problems: Vec::new(), entries: 0, bytes: 0 };
    reader.enter("")?;
    let DirectoryReader { files, mut problems, .. } = reader;
    problems.sort_by(|one, other| one.file.cmp(&other.file));
    Ok(FoundFiles { files, problems })
}

const LINK: &str = "a symbolic link, which is not allowed in an agent's directory";
const INSTEAD_OF_A_LINK: &str = "Replace it with a copy of its target.";

/// What a file is used for, which decides how large it may be and whether it must be text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileRole {
    Prompt,
    Json,
    Text,
    Other,
}

impl FileRole {
    fn of(path: &str) -> Self {
        if path.split_once('/').is_some_and(|(first, _)| first == PROMPTS_DIR) {
            return Self::Prompt;
        }
        match Path::new(path).extension().and_then(|extension| extension.to_str()) {
            Some("json") => Self::Json,
            Some("md") => Self::Text,
            Some(_) | None => Self::Other,
        }
    }

    fn limit(self) -> u64 {
        match self {
            Self::Prompt => PROMPT_BYTES_LIMIT,
            Self::Json => JSON_BYTES_LIMIT,
            Self::Text | Self::Other => OTHER_BYTES_LIMIT,
        }
    }

    /// The error for a file that is too large; `None` if it is skipped.
    fn too_large(self) -> Option<(ErrorClass, &'static str)> {
        match self {
            Self::Prompt => Some((PROMPT_PARSE, "a prompt")),
            Self::Json => Some((CONFIGURATION_PARSE, "a JSON file")),
            Self::Text | Self::Other => None,
        }
    }

    /// The error for a file that is not UTF-8; `None` if it is skipped.
    fn not_text(self) -> Option<ErrorClass> {
        match self {
            Self::Prompt => Some(PROMPT_PARSE),
            Self::Json | Self::Text => Some(CONFIGURATION_PARSE),
            Self::Other => None,
        }
    }
}

struct DirectoryReader<'a> {
    directory: &'a Path,
    files: Files,
    problems: Vec<Problem>,
    entries: usize,
    bytes: u64,
}

impl DirectoryReader<'_> {
    /// Reads a directory. `prefix` is its relative path with a trailing `/`, or empty.
    fn enter(&mut self, prefix: &str) -> Result<(), Fault> {
        let directory = self.directory.join(prefix);
        let entries = fs::read_dir(&directory).map_err(|error| unreadable(&directory, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&directory, error))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                let shown = format!("{prefix}{}", name.to_string_lossy());
                self.report(CONFIGURATION_PARSE, &shown, "its name is not UTF-8", "Rename it, or remove it.");
                continue;
            };
            if !name.starts_with('.') {
                self.count()?;
                let kind = entry.file_type().map_err(|error| unreadable(&entry.path(), error))?;
                self.take(format!("{prefix}{name}"), kind)?;
            }
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), Fault> {
        self.entries += 1;
        if self.entries <= FILES_LIMIT {
            return Ok(());
        }
        let what =
            format!("{} contains more than {FILES_LIMIT} files and directories.", self.directory.display());
        Err(CONFIGURATION_PARSE.fault(what).hint("Keep only what belongs to the agent in its directory."))
    }

    fn take(&mut self, path: String, kind: fs::FileType) -> Result<(), Fault> {
        if kind.is_dir() {
            return self.enter(&format!("{path}/"));
        } else if kind.is_file() {
            return self.file(path);
        } else if kind.is_symlink() {
            self.report(CONFIGURATION_PARSE, &path, &format!("it is {LINK}"), INSTEAD_OF_A_LINK);
        } else {
            let remedy = "Remove it from the agent's directory.";
            self.report(CONFIGURATION_PARSE, &path, "it is neither a file nor a directory", remedy);
        }
        Ok(())
    }

    fn report(&mut self, class: ErrorClass, path: &str, what: &str, remedy: &str) {
        self.problems.push(Problem::of_file(class, path, what, remedy));
    }

    fn file(&mut self, path: String) -> Result<(), Fault> {
        let role = FileRole::of(&path);
        // This follows no link, even if one was put in place since the directory was listed.
        let read = read_bytes_beneath(self.directory, Path::new(&path), role.limit()).and_then(to_text);
        let text = match read {
            Ok(text) => text,
            Err(error) => {
                self.refuse(&path, role, &error);
                return Ok(());
            }
        };
        self.bytes += text.len() as u64;
        if self.bytes > TOTAL_BYTES_LIMIT {
            let what = format!(
                "The files of {} have more than {TOTAL_BYTES_LIMIT} bytes in total; {path} with {} bytes exceeds the limit.",
                self.directory.display(),
                text.len()
            );
            return Err(CONFIGURATION_PARSE
                .fault(what)
                .hint("Keep only what belongs to the agent in its directory."));
        }
        self.files.insert(path, text);
        Ok(())
    }

    /// Reports a file that cannot be read, unless it is skipped.
    fn refuse(&mut self, path: &str, role: FileRole, error: &ReadError) {
        let class = match error {
            ReadError::TooLarge { limit } => {
                if let Some((class, what)) = role.too_large() {
                    self.too_large(path, class, what, *limit);
                }
                return;
            }
            ReadError::NotUtf8 { .. } => role.not_text(),
            ReadError::NotRegular(_) | ReadError::Io(_) => Some(CONFIGURATION_PARSE),
        };
        if let Some(class) = class {
            self.report(class, path, &format!("it cannot be read: {error}"), error.advice());
        }
    }

    fn too_large(&mut self, path: &str, class: ErrorClass, what: &str, limit: u64) {
        let size = fs::symlink_metadata(self.directory.join(path)).map_or(limit + 1, |found| found.len());
        let message = format!("it has {size} bytes; {what} can have at most {limit}");
        self.report(class, path, &message, "Split it, or move large parts to a file of the project.");
    }
}

fn unreadable(path: &Path, error: io::Error) -> Fault {
    let error = ReadError::Io(error);
    let what = format!("{} cannot be read: {error}.", path.display());
    CONFIGURATION_PARSE.fault(what).hint(error.advice())
}
