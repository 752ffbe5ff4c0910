use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{read_bytes, read_bytes_beneath, read_start, read_text};
use crate::{FileKind, ReadError, find_regular, show_bytes};

/// A directory with one of everything that is not a regular file.
fn fixture() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("directory");
    let root = directory.path().join("root");
    fs::create_dir_all(root.join("directory")).expect("directory");
    mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("pipe");
    drop(UnixListener::bind(root.join("socket")).expect("socket"));
    symlink("/dev/zero", root.join("endless")).expect("link");
    symlink("pipe", root.join("link-to-pipe")).expect("link");
    symlink("loop", root.join("loop")).expect("link");
    symlink("nowhere", root.join("dangling")).expect("link");
    (directory, root)
}

#[test]
fn only_regular_files_are_read_and_nothing_blocks() {
    let (_directory, root) = fixture();
    for (name, kind) in [
        ("directory", FileKind::Directory),
        ("pipe", FileKind::NamedPipe),
        ("socket", FileKind::Socket),
        ("endless", FileKind::Device),
        ("link-to-pipe", FileKind::NamedPipe),
    ] {
        let path = root.join(name);
        let refused = |result: Result<(), ReadError>| match result {
            Err(ReadError::NotRegular(found)) => assert_eq!(found, kind, "{name}"),
            other => panic!("{name}: {other:?}"),
        };
        refused(read_text(&path, 10).map(drop));
        refused(read_bytes(&path, 10).map(drop));
        refused(read_start(&path, 10).map(drop));
        refused(find_regular(&path).map(drop));
    }
    assert!(matches!(read_text(&root.join("loop"), 10), Err(ReadError::Io(_))));
    for nothing in ["nothing", "dangling", "directory/nothing"] {
        assert!(matches!(read_text(&root.join(nothing), 10), Ok(None)), "{nothing}");
    }
    let message = read_text(&root.join("pipe"), 10).expect_err("a pipe").to_string();
    assert_eq!(message, "it is a named pipe, not a regular file");
}

#[test]
fn a_file_is_read_up_to_the_limit() {
    let (_directory, root) = fixture();
    let file = root.join("file");
    fs::write(&file, "12345").expect("written");
    assert_eq!(read_text(&file, 5).expect("read").as_deref(), Some("12345"));
    assert!(matches!(read_text(&file, 4), Err(ReadError::TooLarge { limit: 4 })));
    assert_eq!(read_start(&file, 2).expect("read"), Some((b"12".to_vec(), 5)));
    // Five gibibytes, sparse.
    fs::File::create(&file).expect("made").set_len(5 << 30).expect("grown");
    let message = read_bytes(&file, 1 << 20).expect_err("too large").to_string();
    assert_eq!(message, "it is larger than 1 MiB, the limit for such a file");
    // A file that reports no size.
    let all = fs::read("/proc/self/status").expect("read").len() as u64;
    assert!(matches!(read_bytes(Path::new("/proc/self/status"), all / 2), Err(ReadError::TooLarge { .. })));
}

#[test]
fn invalid_utf8_is_reported_with_line_and_byte() {
    let (_directory, root) = fixture();
    let file = root.join("file");
    fs::write(&file, b"one\ntw\xc3\xb6 \xff").expect("written");
    let message = read_text(&file, 100).expect_err("not text").to_string();
    assert!(message.ends_with("offset 9 (line 2, column 5)"), "{message}");
    fs::write(&file, b"cut \xc3").expect("written");
    assert!(matches!(read_text(&file, 100), Err(ReadError::NotUtf8 { offset: 4, line: 1, column: 5 })));
}

#[test]
fn below_a_directory_no_link_is_followed() {
    let (directory, root) = fixture();
    fs::create_dir(directory.path().join("outside")).expect("directory");
    fs::write(directory.path().join("outside/secret"), "secret").expect("written");
    fs::write(root.join("directory/file"), "content").expect("written");
    symlink("../outside", root.join("link-out")).expect("link");
    symlink("directory/file", root.join("link")).expect("link");
    let read = |path: &str| read_bytes_beneath(&root, Path::new(path), 100);
    assert_eq!(read("directory/file").expect("read"), b"content");
    let others = ["link-out/secret", "endless", "link", "pipe", "directory", "../outside/secret", "nothing"];
    for path in others {
        assert!(read(path).is_err(), "{path}");
    }
}

#[test]
fn sizes_are_shown_in_whole_units() {
    for (bytes, shown) in
        [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (64 << 20, "64 MiB"), (5 << 30, "5 GiB")]
    {
        assert_eq!(show_bytes(bytes), shown);
    }
}
