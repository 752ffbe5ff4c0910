//! The files of an agent's directory: which are read, and how large they may be.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_files::{ReadError, read_bytes_beneath, to_text};

use crate::definition::PROMPTS_DIR;
use crate::faults::{CONFIGURATION_PARSE, Class, PROMPT_PARSE};

/// How many bytes a prompt may have.
pub const PROMPT_BYTES_LIMIT: u64 = 256 * 1024;
/// How many bytes a JSON file may have.
pub const JSON_BYTES_LIMIT: u64 = 1024 * 1024;
/// How many bytes any other file may have that is read; a larger one is left alone.
pub const OTHER_BYTES_LIMIT: u64 = 1024 * 1024;
/// How many files and directories there may be.
pub const FILES_LIMIT: usize = 500;
/// How many bytes all files may have that are read.
pub const TOTAL_BYTES_LIMIT: u64 = 8 * 1024 * 1024;

/// What was read, by the path in the directory.
pub(super) type Files = BTreeMap<String, String>;

/// Reads every file that matters. Hidden files do not.
pub(super) fn read(directory: &Path) -> Result<Files, Fault> {
    if fs::symlink_metadata(directory).is_ok_and(|found| found.is_symlink()) {
        return Err(link(&directory.display().to_string()));
    }
    let mut walk = Walk { directory, files: Files::new(), entries: 0, bytes: 0 };
    walk.enter("")?;
    Ok(walk.files)
}

/// What a file is for, which says how large it may be and what it must hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Prompt,
    Json,
    Text,
    Other,
}

impl Role {
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

    /// What is wrong if it is too large; none if it is left alone then.
    fn too_large(self) -> Option<(Class, &'static str)> {
        match self {
            Self::Prompt => Some((PROMPT_PARSE, "a prompt")),
            Self::Json => Some((CONFIGURATION_PARSE, "a JSON file")),
            Self::Text | Self::Other => None,
        }
    }

    /// What is wrong if it is not UTF-8; none if it is left alone then.
    fn not_text(self) -> Option<Class> {
        match self {
            Self::Prompt => Some(PROMPT_PARSE),
            Self::Json | Self::Text => Some(CONFIGURATION_PARSE),
            Self::Other => None,
        }
    }
}

struct Walk<'a> {
    directory: &'a Path,
    files: Files,
    entries: usize,
    bytes: u64,
}

impl Walk<'_> {
    /// Reads a directory, which is named by its path in the agent's and a `/`.
    fn enter(&mut self, prefix: &str) -> Result<(), Fault> {
        let place = self.directory.join(prefix);
        let entries = fs::read_dir(&place).map_err(|error| unreadable(&place, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&place, error))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                let what = format!("{} has a name that is not UTF-8.", entry.path().display());
                return Err(CONFIGURATION_PARSE.fault(what).hint("Rename it, or take it away."));
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
            format!("{} holds more than {FILES_LIMIT} files and directories.", self.directory.display());
        Err(CONFIGURATION_PARSE.fault(what).hint("Keep only what belongs to the agent in its directory."))
    }

    fn take(&mut self, path: String, kind: fs::FileType) -> Result<(), Fault> {
        if kind.is_symlink() {
            Err(link(&self.shown(&path)))
        } else if kind.is_dir() {
            self.enter(&format!("{path}/"))
        } else if kind.is_file() {
            self.file(path)
        } else {
            let what = format!("{} is neither a file nor a directory.", self.shown(&path));
            Err(CONFIGURATION_PARSE.fault(what).hint("Take it out of the agent's directory."))
        }
    }

    fn file(&mut self, path: String) -> Result<(), Fault> {
        let role = Role::of(&path);
        // A link that is put into the way meanwhile leads nowhere.
        let read = read_bytes_beneath(self.directory, Path::new(&path), role.limit()).and_then(to_text);
        let text = match read {
            Ok(text) => text,
            Err(error) => return self.refuse(&path, role, &error),
        };
        self.bytes += text.len() as u64;
        if self.bytes > TOTAL_BYTES_LIMIT {
            let what = format!(
                "The files of {} may have {TOTAL_BYTES_LIMIT} bytes in all, and with the {} bytes of {path} they have more.",
                self.directory.display(),
                text.len()
            );
            return Err(CONFIGURATION_PARSE.fault(what).hint("Keep only what belongs to the agent there."));
        }
        self.files.insert(path, text);
        Ok(())
    }

    /// What a file that cannot be read comes to: a fault, or nothing if it is one that need not be read.
    fn refuse(&self, path: &str, role: Role, error: &ReadError) -> Result<(), Fault> {
        let unreadable = |class: Class| {
            let what = format!("{} cannot be read: {error}.", self.shown(path));
            Err(class.fault(what).hint(error.advice()))
        };
        match error {
            ReadError::TooLarge { limit } => match role.too_large() {
                Some((class, what)) => Err(self.too_large(path, class, what, *limit)),
                None => Ok(()),
            },
            ReadError::NotUtf8 { .. } => role.not_text().map_or(Ok(()), unreadable),
            ReadError::NotRegular(_) | ReadError::Io(_) => unreadable(CONFIGURATION_PARSE),
        }
    }

    fn too_large(&self, path: &str, class: Class, what: &str, limit: u64) -> Fault {
        let size = fs::symlink_metadata(self.directory.join(path)).map_or(limit + 1, |found| found.len());
        let message = format!("{} has {size} bytes, and {what} may have at most {limit}.", self.shown(path));
        class.fault(message).hint("Split it, or keep what is large in a file of the project.")
    }

    fn shown(&self, path: &str) -> String {
        self.directory.join(path).display().to_string()
    }
}

fn link(shown: &str) -> Fault {
    let what = format!("{shown} is a symbolic link, and an agent's directory may have none.");
    CONFIGURATION_PARSE.fault(what).hint("Put a copy of what it points to in its place.")
}

fn unreadable(path: &Path, error: io::Error) -> Fault {
    let error = ReadError::Io(error);
    let what = format!("{} cannot be read: {error}.", path.display());
    CONFIGURATION_PARSE.fault(what).hint(error.advice())
}
