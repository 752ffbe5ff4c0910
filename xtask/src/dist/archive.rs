//! Archives that have the same bytes whenever and wherever they are made: sorted, with one time, one owner and two modes.

use std::io::{Read, Write};
use std::path::Path;

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use tar::{Archive, Builder, EntryType, Header};

use super::file_tree::FileTree;
use crate::result::Result;

/// Higher levels take minutes and save less than a percent.
const ZSTD_LEVEL: i32 = 19;

/// `prefix` comes before every path and is empty or ends with a slash; `seconds` is the time of every entry, since 1970.
pub fn tar(tree: &FileTree, prefix: &str, seconds: u64) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let header = |kind: EntryType, mode: u32, size: usize| -> Result<Header> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(seconds);
        header.set_uid(0);
        header.set_gid(0);
        header.set_username("root")?;
        header.set_groupname("root")?;
        header.set_size(u64::try_from(size)?);
        Ok(header)
    };
    let top = Some(prefix).filter(|prefix| !prefix.is_empty()).map(str::to_owned);
    for directory in
        top.into_iter().chain(tree.directories().into_iter().map(|path| format!("{prefix}{path}")))
    {
        archive.append_data(&mut header(EntryType::Directory, 0o755, 0)?, directory, &[][..])?;
    }
    for (path, file) in tree.files() {
        let mut header = header(EntryType::Regular, file.mode(), file.content.len())?;
        archive.append_data(&mut header, format!("{prefix}{path}"), file.content.as_slice())?;
    }
    Ok(archive.into_inner()?)
}

/// Without a name and a time in its header.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

pub fn zstd(bytes: &[u8]) -> Result<Vec<u8>> {
    Ok(zstd::encode_all(bytes, ZSTD_LEVEL)?)
}

pub fn unpack_gzip(archive: &[u8], directory: &Path) -> Result {
    Ok(Archive::new(GzDecoder::new(archive)).unpack(directory)?)
}

pub fn unpack_zstd(archive: &[u8], directory: &Path) -> Result {
    Ok(Archive::new(zstd::stream::read::Decoder::new(archive)?).unpack(directory)?)
}

/// The content of one file.
pub fn read_gzip_member(archive: &[u8], path: &str) -> Result<Vec<u8>> {
    for entry in Archive::new(GzDecoder::new(archive)).entries()? {
        let mut entry = entry?;
        if entry.path()? == Path::new(path) {
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            return Ok(content);
        }
    }
    Err(format!("The archive has no {path}.").into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::super::file_tree::{FileTree, example};
    use super::{gzip, tar, zstd};

    const TIME: u64 = 1_790_000_000;

    /// The same files, added in the other order.
    fn example_reversed() -> FileTree {
        let (mut tree, first) = (FileTree::default(), example());
        for (path, file) in first.files().collect::<Vec<_>>().into_iter().rev() {
            match file.is_program {
                true => tree.add_program(path, file.content.clone()),
                false => tree.add(path, file.content.clone()),
            }
        }
        tree
    }

    #[test]
    fn the_same_files_make_the_same_bytes() {
        let make = |tree: &FileTree| {
            let archive = tar(tree, "autonoe/", TIME).unwrap();
            (gzip(&archive).unwrap(), zstd(&archive).unwrap())
        };
        assert_eq!(make(&example()), make(&example_reversed()));
        let mut changed = example();
        changed.add("LICENSE-MIT", "as it is\n");
        assert_ne!(make(&example()), make(&changed));
    }

    #[test]
    fn the_systems_tar_unpacks_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.tar.gz");
        fs::write(&file, gzip(&tar(&example(), "autonoe-1/", TIME).unwrap()).unwrap()).unwrap();
        let unpacked = Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(directory.path()).status();
        assert!(unpacked.unwrap().success());
        let program = directory.path().join("autonoe-1/bin/autonoe");
        assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o755);
        let output = Command::new(&program).output().unwrap();
        assert_eq!(output.stdout, b"autonoe 1.2.3\n");
        let licence = fs::metadata(directory.path().join("autonoe-1/LICENSE-MIT")).unwrap();
        assert_eq!(licence.permissions().mode() & 0o777, 0o644);
        assert_eq!(
            licence.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(),
            TIME
        );
    }
}
