//! The fault of something that cannot be written: why, where, and what to do.

use std::io;
use std::path::Path;

use autonoe_core::fault::{Fault, Layer};
use autonoe_files::WriteTrouble;

/// That `path` cannot be written.
pub fn cannot_write(layer: Layer, code: &str, path: &Path, error: &io::Error) -> Fault {
    let WriteTrouble { why, advice } = WriteTrouble::of(path, error);
    Fault::lasting(layer, code, format!("{} cannot be written: {why}.", path.display())).hint(advice)
}
