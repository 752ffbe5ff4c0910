//! Builds the fault for a file that cannot be written: path, reason and remedy.

use std::io;
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::WriteFailure;

pub fn cannot_write(layer: FaultLayer, code: &str, path: &Path, error: &io::Error) -> Fault {
    let WriteFailure { why, advice } = WriteFailure::of(path, error);
    Fault::permanent(layer, code, format!("{} cannot be written: {why}.", path.display())).hint(advice)
}
