//! Outputs that are too long for a model: their start and end are shown, and the complete text is saved to a file that the
//! model can open with Read. The files are limited in number and size, and readable only by their owner.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tokio::io::AsyncWriteExt;

use crate::cap::{CappedText, HeadTail, count_lines};
use crate::output::ToolOutput;

/// The number of characters of output that one call shows, half from the start and half from the end.
pub const MAX_OUTPUT_CHARS: usize = 30_000;

/// The maximum number of bytes saved of one output.
pub const MAX_SAVED_BYTES: u64 = 50 * 1024 * 1024;
/// The maximum number of saved outputs; the oldest is deleted first.
pub const MAX_SAVED_FILES: usize = 200;

const EXTENSION: &str = "txt";
const PRIVATE_DIRECTORY: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// The directory for saved outputs. It need not exist.
#[derive(Debug, Clone)]
pub struct Outputs {
    directory: PathBuf,
}

impl Outputs {
    /// `directory` should contain nothing else.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates the private directory if it does not exist. File rules that allow reading it may need it to exist.
    pub fn prepare(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(&self.directory)
    }

    /// Creates a file whose name starts with `prefix`.
    pub(crate) async fn create(&self, prefix: &'static str) -> io::Result<SavedOutput> {
        let outputs = self.clone();
        let creating = tokio::task::spawn_blocking(move || outputs.open(prefix));
        let (file, path) = creating.await.map_err(io::Error::other)??;
        Ok(SavedOutput { file: tokio::fs::File::from_std(file), path, left: MAX_SAVED_BYTES })
    }

    fn open(&self, prefix: &str) -> io::Result<(fs::File, PathBuf)> {
        self.prepare()?;
        make_room(&self.directory);
        let path = self.directory.join(format!("{prefix}-{:016x}.{EXTENSION}", fastrand::u64(..)));
        let file = fs::File::options().write(true).create_new(true).mode(PRIVATE_FILE).open(&path)?;
        Ok((file, path))
    }

    /// Truncates the text of a result to `limit` characters and saves the complete text.
    pub(crate) async fn capped(&self, mut result: ToolOutput, limit: usize) -> ToolOutput {
        // A text has at most as many characters as bytes, so most results need not be counted.
        if result.output.len() > limit {
            let mut capture = OutputCapture::new(self, "result", limit);
            capture.push(result.output.as_bytes()).await;
            let captured = capture.finish().await;
            result = captured.add_metadata(result);
            result.output = captured.text;
        }
        result
    }
}

/// Deletes the oldest outputs until there is room for one more. Files that cannot be deleted stay.
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

/// A file to which an output is being saved.
#[derive(Debug)]
pub(crate) struct SavedOutput {
    file: tokio::fs::File,
    pub(crate) path: PathBuf,
    left: u64,
}

impl SavedOutput {
    /// Appends bytes, up to [`MAX_SAVED_BYTES`] in total.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fitting = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= fitting as u64;
        self.file.write_all(&bytes[..fitting]).await
    }

    /// Waits until everything can be read from the file.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        self.file.flush().await
    }

    pub(crate) fn is_full(&self) -> bool {
        self.left == 0
    }
}

/// Captures an output of unknown length in bounded memory.
#[derive(Debug)]
pub(crate) struct OutputCapture {
    outputs: Outputs,
    prefix: &'static str,
    kept: HeadTail,
    saving: SaveState,
}

/// Whether an output is being saved.
#[derive(Debug)]
enum SaveState {
    NotNeeded,
    To(SavedOutput),
    Failed(io::Error),
}

/// A complete output.
#[derive(Debug)]
pub(crate) struct CapturedText {
    /// The text for the model.
    pub(crate) text: String,
    /// The file with the complete output, if the text was truncated.
    pub(crate) saved: Option<PathBuf>,
    truncated: bool,
}

impl OutputCapture {
    /// Keeps up to `limit` characters for the model. The file for a longer output has a name that starts with `prefix`.
    pub(crate) fn new(outputs: &Outputs, prefix: &'static str, limit: usize) -> Self {
        Self { outputs: outputs.clone(), prefix, kept: HeadTail::new(limit), saving: SaveState::NotNeeded }
    }

    /// Adds the next bytes, which may end within a character.
    pub(crate) async fn push(&mut self, bytes: &[u8]) {
        if self.kept.would_drop(bytes.len()) {
            self.save().await;
        }
        if let SaveState::To(saved) = &mut self.saving
            && let Err(error) = saved.write(bytes).await
        {
            self.saving = SaveState::Failed(error);
        }
        self.kept.push(bytes);
    }

    /// Starts to save, with everything so far.
    async fn save(&mut self) {
        let created = async {
            let mut saved = self.outputs.create(self.prefix).await?;
            for part in self.kept.all() {
                saved.write(part).await?;
            }
            Ok(saved)
        };
        self.saving = created.await.map_or_else(SaveState::Failed, SaveState::To);
    }

    pub(crate) async fn finish(mut self) -> CapturedText {
        if matches!(self.saving, SaveState::NotNeeded) && self.kept.is_too_long() {
            self.save().await;
        }
        if let SaveState::To(saved) = &mut self.saving
            && let Err(error) = saved.flush().await
        {
            self.saving = SaveState::Failed(error);
        }
        match self.kept.finish() {
            CappedText::Whole(text) => CapturedText { text, saved: None, truncated: false },
            CappedText::Cut { head, tail, chars, lines } => {
                let missing = match lines {
                    0 => format!("{chars} more characters"),
                    1 => "1 more line".to_owned(),
                    lines => format!("{lines} more lines"),
                };
                let next = count_lines(head.as_bytes()) + 1;
                let note = self.saving.note(next);
                let saved = match self.saving {
                    SaveState::To(saved) => Some(saved.path),
                    SaveState::NotNeeded | SaveState::Failed(_) => None,
                };
                CapturedText {
                    text: format!("{head}\n… {missing}{note} …\n{tail}"), saved, truncated: true
                }
            }
        }
    }
}

impl SaveState {
    fn note(&self, next: usize) -> String {
        match self {
            Self::NotNeeded => String::new(),
            Self::To(saved) => {
                let limit = if saved.is_full() { " (up to the size limit)" } else { "" };
                format!(", saved at {}{limit}: continue with Read and offset={next}", saved.path.display())
            }
            Self::Failed(error) => format!(", which could not be saved: {error}"),
        }
    }
}

impl CapturedText {
    /// Adds to the metadata whether the text was truncated and where it was saved.
    pub(crate) fn add_metadata(&self, output: ToolOutput) -> ToolOutput {
        let output = if self.truncated { output.with("truncated", true) } else { output };
        match &self.saved {
            Some(path) => output.with("saved_at", path.display().to_string()),
            None => output,
        }
    }
}

#[cfg(test)]
mod tests;
