//! What the process of a harness prints: a file beside the log of the harness, in which an error is looked for.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use autonoe_files::{UntrustedDir, Visibility};
use autonoe_harness::control::HarnessDirectory;

const OUTPUT: &str = "output.log";

/// Bytes at the end of the output in which an error is looked for.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Where standard output and standard error of a harness go.
pub(super) fn open_output(working_dir: &Path, id: &str) -> Result<(File, File), String> {
    let wrong = |why: String| format!("The output of {id} cannot be written: {why}.");
    let directory = HarnessDirectory::create(working_dir, id).map_err(|error| wrong(error.to_string()))?;
    let directory = UntrustedDir::open(directory.path()).map_err(|error| wrong(error.to_string()))?;
    let output = directory.open_to_append(OUTPUT.as_ref(), Visibility::OwnerOnly);
    let output = output.map_err(|error| wrong(error.to_string()))?;
    let errors = output.try_clone().map_err(|error| wrong(error.to_string()))?;
    Ok((output, errors))
}

/// The last error that the process has printed.
pub(super) fn error_in_output(working_dir: &Path, id: &str) -> Option<String> {
    let directory = HarnessDirectory::open(working_dir, id).ok()?;
    let mut file = UntrustedDir::open(directory.path()).ok()?.open_file(OUTPUT.as_ref()).ok()??;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(MAX_OUTPUT))).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_OUTPUT).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let error = text.lines().rev().find_map(|line| line.strip_prefix("error: "));
    error.map(|error| error.trim().chars().take(500).collect())
}
