//! Looks up an object in a repository's files, without starting a program.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use autonoe_files::open_regular;
use autonoe_git::is_hash;
use autonoe_sandbox::Repository;

/// Maximum number of packs.
const MAX_PACKS: usize = 10_000;

/// Start of a pack index, version 2. Then come 256 numbers of objects by first byte, and the sorted hashes.
const INDEX_START: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const HASHES_AT: u64 = 8 + 256 * 4;

/// Whether the repository around `root` has an object. True also where that cannot be determined; false without a repository.
pub(crate) fn may_have_object(root: &Path, hash: &str) -> bool {
    let Some(bytes) = from_hex(hash) else {
        return true;
    };
    match Repository::around(root).object_directories() {
        Ok(directories) => directories.iter().any(|objects| is_in(objects, hash, &bytes).unwrap_or(true)),
        Err(_) => true,
    }
}

fn is_in(objects: &Path, hash: &str, bytes: &[u8]) -> io::Result<bool> {
    if objects.join(&hash[..2]).join(&hash[2..]).symlink_metadata().is_ok() {
        return Ok(true);
    }
    let packs = match fs::read_dir(objects.join("pack")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        packs => packs?,
    };
    let packs = packs.filter_map(|entry| Some(entry.ok()?.path()));
    let indexes: Vec<PathBuf> =
        packs.filter(|path| path.extension().is_some_and(|extension| extension == "idx")).collect();
    if indexes.len() > MAX_PACKS {
        return Ok(true);
    }
    for index in indexes {
        if let Some(file) = open_regular(&index).map_err(io::Error::other)?
            && is_in_index(&file, bytes)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_in_index(index: &File, hash: &[u8]) -> io::Result<bool> {
    let mut start = [0; INDEX_START.len()];
    index.read_exact_at(&mut start, 0)?;
    if start != INDEX_START {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    let count_up_to = |first: u8| {
        let mut number = [0; 4];
        index.read_exact_at(&mut number, 8 + u64::from(first) * 4)?;
        io::Result::Ok(u64::from(u32::from_be_bytes(number)))
    };
    let first = hash[0];
    let mut low = if first == 0 { 0 } else { count_up_to(first - 1)? };
    let mut high = count_up_to(first)?;
    let mut found = vec![0; hash.len()];
    while low < high {
        let middle = low + (high - low) / 2;
        index.read_exact_at(&mut found, HASHES_AT + middle * hash.len() as u64)?;
        match found.as_slice().cmp(hash) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Ok(true),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Ok(false)
}

/// `None` if it is not a hash.
fn from_hex(hash: &str) -> Option<Vec<u8>> {
    let pairs = (0..hash.len()).step_by(2);
    is_hash(hash).then(|| pairs.filter_map(|at| u8::from_str_radix(&hash[at..at + 2], 16).ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::may_have_object;

    fn git(directory: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.invalid"])
            .args(args)
            .current_dir(directory)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", directory)
            .output()
            .expect("git");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    #[test]
    fn objects_are_found_loose_packed_and_borrowed() {
        let directory = tempfile::tempdir().expect("directory");
        let base = directory.path().canonicalize().expect("real");
        for format in ["sha1", "sha256"] {
            let root = base.join(format);
            fs::create_dir(&root).expect("directory");
            let absent = "0123456789abcdef".repeat(if format == "sha1" { 3 } else { 4 });
            let absent = &absent[..if format == "sha1" { 40 } else { 64 }];
            assert!(!may_have_object(&root, absent), "there is no repository");
            git(&root, &["init", "-q", "-b", "main", "--object-format", format, "."]);
            for number in 0..300 {
                fs::write(root.join(number.to_string()), number.to_string()).expect("written");
            }
            git(&root, &["add", "."]);
            git(&root, &["commit", "-q", "-m", "one"]);
            let commit = git(&root, &["rev-parse", "HEAD"]);
            assert!(may_have_object(&root, &commit) && !may_have_object(&root, absent), "loose");
            git(&root, &["gc", "-q"]);
            let blobs = git(&root, &["ls-tree", "-r", "--object-only", "HEAD"]);
            assert!(
                blobs.lines().chain([commit.as_str()]).all(|hash| may_have_object(&root, hash)),
                "packed"
            );
            assert!(!may_have_object(&root, absent));
            let borrower = base.join(format!("{format}-borrower"));
            git(&base, &["clone", "-q", "--shared", format, &borrower.display().to_string()]);
            assert!(may_have_object(&borrower, &commit) && !may_have_object(&borrower, absent), "borrowed");
        }
    }

    #[test]
    fn an_index_that_cannot_be_read_decides_nothing() {
        let directory = tempfile::tempdir().expect("directory");
        let root = directory.path().canonicalize().expect("real");
        git(&root, &["init", "-q", "-b", "main", "."]);
        fs::write(root.join(".git/objects/pack/pack-1.idx"), "short").expect("written");
        assert!(may_have_object(&root, &"ab".repeat(20)));
    }
}
