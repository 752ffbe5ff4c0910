//! Writes a file that the user named for the output of a command.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;

use crate::write_fault::cannot_write;

/// Fails for a named pipe that nobody reads, instead of waiting for a reader in silence. `code` is the code of the fault.
pub fn write_output(code: &str, path: &Path, text: &str) -> Result<(), Fault> {
    // `/dev/stdout` can be a pipe as well, which has a reader.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).custom_flags(flags);
    let written = options.open(path).and_then(|mut file| {
        fcntl_setfl(&file, OFlags::empty())?;
        file.write_all(text.as_bytes())
    });
    written.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO) => {
            let message = format!(
                "{} cannot be written: it is a named pipe that nobody reads, or a socket.",
                path.display()
            );
            Fault::permanent(FaultLayer::Config, code, message)
                .hint("Start the program that reads it first, or name a file.")
        }
        _ => cannot_write(FaultLayer::Config, code, path, &error),
    })
}
