//! Outputs that are too long for a model: their beginning and end are shown, and all of them is in a file that Read can
//! read on in. The files are bounded in number and size, and only their owner may read them.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tokio::io::AsyncWriteExt;

use crate::ToolOutput;
use crate::cap::{HeadTail, Kept, count_lines};

/// How many bytes of one output are saved.
pub const MAX_SAVED_BYTES: u64 = 50 * 1024 * 1024;
/// How many outputs are kept; the oldest goes first.
pub const MAX_SAVED_FILES: usize = 200;

const EXTENSION: &str = "txt";
const PRIVATE_DIRECTORY: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// The directory where long outputs are saved. It need not exist.
#[derive(Debug, Clone)]
pub struct Outputs {
    directory: PathBuf,
}

impl Outputs {
    /// Saves in `directory`, which should hold nothing else.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Where they are saved.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the directory, private, if it is not there yet. Rules that are to let it be read may need it to exist.
    pub fn prepare(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(&self.directory)
    }

    /// A new file for an output of `what`.
    pub(crate) async fn create(&self, what: &'static str) -> io::Result<Saved> {
        let outputs = self.clone();
        let creating = tokio::task::spawn_blocking(move || outputs.open(what));
        let (file, path) = creating.await.map_err(io::Error::other)??;
        Ok(Saved { file: tokio::fs::File::from_std(file), path, left: MAX_SAVED_BYTES })
    }

    fn open(&self, what: &str) -> io::Result<(fs::File, PathBuf)> {
        self.prepare()?;
        make_room(&self.directory);
        let path = self.directory.join(format!("{what}-{:016x}.{EXTENSION}", fastrand::u64(..)));
        let file = fs::File::options().write(true).create_new(true).mode(PRIVATE_FILE).open(&path)?;
        Ok((file, path))
    }

    /// A result of which the model gets at most `limit` characters.
    pub(crate) async fn capped(&self, mut result: ToolOutput, limit: usize) -> ToolOutput {
        // Characters are at most as many as bytes, so that most results need not be counted.
        if result.output.len() > limit {
            let mut capture = Capture::new(self, "result", limit);
            capture.push(result.output.as_bytes()).await;
            let captured = capture.finish().await;
            result = captured.told_in(result);
            result.output = captured.text;
        }
        result
    }
}

/// Deletes the oldest outputs until there is room for one more. One that cannot be deleted is left.
fn make_room(directory: &Path) {
    let changed = |metadata: Metadata| metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let entries = directory.read_dir().into_iter().flatten().flatten();
    let ours =
        entries.filter(|entry| Path::new(&entry.file_name()).extension().is_some_and(|e| e == EXTENSION));
    let mut files: Vec<_> =
        ours.filter_map(|entry| Some((entry.metadata().map(changed).ok()?, entry.path()))).collect();
    files.sort_unstable();
    let excess = (files.len() + 1).saturating_sub(MAX_SAVED_FILES);
    for (_, path) in files.into_iter().take(excess) {
        let _ = fs::remove_file(path);
    }
}

/// A file that an output is being saved in.
#[derive(Debug)]
pub(crate) struct Saved {
    file: tokio::fs::File,
    pub(crate) path: PathBuf,
    left: u64,
}

impl Saved {
    /// Adds to it, as far as there is room.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fitting = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= fitting as u64;
        self.file.write_all(&bytes[..fitting]).await
    }

    /// Waits until all of it can be read.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        self.file.flush().await
    }

    pub(crate) fn is_full(&self) -> bool {
        self.left == 0
    }
}

/// An output that is coming in, of unknown length, in bounded memory.
#[derive(Debug)]
pub(crate) struct Capture {
    outputs: Outputs,
    what: &'static str,
    kept: HeadTail,
    saving: Saving,
}

/// Whether an output is being saved.
#[derive(Debug)]
enum Saving {
    NotNeeded,
    To(Saved),
    Failed(io::Error),
}

/// An output that has come to its end.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The text for the model.
    pub(crate) text: String,
    /// Where all of it is, if that is not all.
    pub(crate) saved: Option<PathBuf>,
    truncated: bool,
}

impl Capture {
    /// Shows at most `limit` characters of an output of `what`.
    pub(crate) fn new(outputs: &Outputs, what: &'static str, limit: usize) -> Self {
        Self { outputs: outputs.clone(), what, kept: HeadTail::new(limit), saving: Saving::NotNeeded }
    }

    /// Takes the next bytes, which may end within a character.
    pub(crate) async fn push(&mut self, bytes: &[u8]) {
        if self.kept.would_forget(bytes.len()) {
            self.save().await;
        }
        if let Saving::To(saved) = &mut self.saving
            && let Err(error) = saved.write(bytes).await
        {
            self.saving = Saving::Failed(error);
        }
        self.kept.push(bytes);
    }

    /// Begins to save, with all there is so far.
    async fn save(&mut self) {
        let begun = async {
            let mut saved = self.outputs.create(self.what).await?;
            for part in self.kept.all() {
                saved.write(part).await?;
            }
            Ok(saved)
        };
        self.saving = begun.await.map_or_else(Saving::Failed, Saving::To);
    }

    pub(crate) async fn finish(mut self) -> Captured {
        if matches!(self.saving, Saving::NotNeeded) && self.kept.is_too_long() {
            self.save().await;
        }
        if let Saving::To(saved) = &mut self.saving
            && let Err(error) = saved.flush().await
        {
            self.saving = Saving::Failed(error);
        }
        match self.kept.finish() {
            Kept::Whole(text) => Captured { text, saved: None, truncated: false },
            Kept::Cut { head, tail, chars, lines } => {
                let missing = match lines {
                    0 => format!("{chars} more characters"),
                    1 => "1 more line".to_owned(),
                    lines => format!("{lines} more lines"),
                };
                let next = count_lines(head.as_bytes()) + 1;
                let note = self.saving.note(next);
                let saved = match self.saving {
                    Saving::To(saved) => Some(saved.path),
                    Saving::NotNeeded | Saving::Failed(_) => None,
                };
                Captured { text: format!("{head}\n… {missing}{note} …\n{tail}"), saved, truncated: true }
            }
        }
    }
}

impl Saving {
    fn note(&self, next: usize) -> String {
        match self {
            Self::NotNeeded => String::new(),
            Self::To(saved) => {
                let rest = if saved.is_full() { " (as far as it fits)" } else { "" };
                format!(", saved at {}{rest}: Read on with offset={next}", saved.path.display())
            }
            Self::Failed(error) => format!(", which could not be saved: {error}"),
        }
    }
}

impl Captured {
    /// Says in the metadata that something is missing, and where it is.
    pub(crate) fn told_in(&self, output: ToolOutput) -> ToolOutput {
        let output = if self.truncated { output.with("truncated", true) } else { output };
        match &self.saved {
            Some(path) => output.with("saved_at", path.display().to_string()),
            None => output,
        }
    }
}

#[cfg(test)]
mod tests;
