//! Reading no more than a limit.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::ReadError;
use crate::open::{open_beneath, open_regular};

/// The text of the regular file at `path`; none if there is nothing.
pub fn read_text(path: &Path, limit: u64) -> Result<Option<String>, ReadError> {
    read_bytes(path, limit)?.map(to_text).transpose()
}

/// Bytes as text; an error names the first byte that is none.
pub fn to_text(bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        ReadError::not_utf8(error.as_bytes(), offset)
    })
}

/// The content of the regular file at `path`; none if there is nothing.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
    open_regular(path)?.map(|file| read_opened(&file, limit)).transpose()
}

/// The content of the regular file at `path` below `root`. No link is followed.
pub fn read_bytes_beneath(root: &Path, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    read_opened(&open_beneath(root, path)?, limit)
}

/// The content of an opened file.
pub fn read_opened(file: &File, limit: u64) -> Result<Vec<u8>, ReadError> {
    let told = file.metadata()?.len();
    if told > limit {
        return Err(ReadError::TooLarge { limit });
    }
    // What a file says of its size need not be so: those of /proc say nothing, and one may be growing.
    let mut bytes = Vec::with_capacity(usize::try_from(told).unwrap_or_default());
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(ReadError::TooLarge { limit }),
        false => Ok(bytes),
    }
}

/// The first `limit` bytes of the regular file at `path`, and how many it has in all; none if there is nothing.
pub fn read_start(path: &Path, limit: u64) -> Result<Option<(Vec<u8>, u64)>, ReadError> {
    let Some(file) = open_regular(path)? else {
        return Ok(None);
    };
    let told = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    let length = told.max(bytes.len() as u64);
    Ok(Some((bytes, length)))
}

#[cfg(test)]
mod tests;
