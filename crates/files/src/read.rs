//! Bounded reads.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::ReadError;
use crate::open::{open_beneath, open_regular};

/// `None` if nothing exists at `path`.
pub fn read_text(path: &Path, limit: u64) -> Result<Option<String>, ReadError> {
    read_bytes(path, limit)?.map(to_text).transpose()
}

/// The error names the first byte that is not UTF-8.
pub fn to_text(bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        ReadError::not_utf8(error.as_bytes(), offset)
    })
}

/// `None` if nothing exists at `path`.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
    open_regular(path)?.map(|file| read_opened(&file, limit)).transpose()
}

/// Follows no link.
pub fn read_bytes_beneath(root: &Path, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    read_opened(&open_beneath(root, path)?, limit)
}

pub fn read_opened(file: &File, limit: u64) -> Result<Vec<u8>, ReadError> {
    let reported = file.metadata()?.len();
    if reported > limit {
        return Err(ReadError::TooLarge { limit });
    }
    // The reported size may be wrong: files in /proc report zero, and a file may be growing.
    let mut bytes = Vec::with_capacity(usize::try_from(reported).unwrap_or_default());
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(ReadError::TooLarge { limit }),
        false => Ok(bytes),
    }
}

/// The first `limit` bytes of the regular file at `path`, and its total length; `None` if nothing exists.
pub fn read_start(path: &Path, limit: u64) -> Result<Option<(Vec<u8>, u64)>, ReadError> {
    let Some(file) = open_regular(path)? else {
        return Ok(None);
    };
    let reported = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    let length = reported.max(bytes.len() as u64);
    Ok(Some((bytes, length)))
}

#[cfg(test)]
mod tests;
