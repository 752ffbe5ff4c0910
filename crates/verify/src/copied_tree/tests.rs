use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use autonoe_sandbox::Repository;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio_util::sync::CancellationToken;

use super::{CopiedTree, CopyError, IgnoreFiles, copy_tree, ignore_files};

struct Fixture {
    _directory: tempfile::TempDir,
    root: PathBuf,
    copy: PathBuf,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("directory");
        let base = directory.path().canonicalize().expect("real");
        let (root, copy) = (base.join("outer/project"), base.join("copy"));
        fs::create_dir_all(&root).expect("directory");
        for (path, content) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("directory");
            fs::write(path, content).expect("written");
        }
        Self { _directory: directory, root, copy }
    }

    fn try_copy(&self) -> Result<CopiedTree, CopyError> {
        let _ = fs::remove_dir_all(&self.copy);
        fs::create_dir(&self.copy).expect("directory");
        let cancel = CancellationToken::new();
        let ignore = ignore_files(&self.root, &cancel);
        copy_tree(&self.root, &Repository::around(&self.root), &ignore, &self.copy, &cancel)
    }

    /// The copied paths, without directories.
    fn copied(&self) -> Vec<String> {
        self.try_copy().expect("copied");
        let mut found = Vec::new();
        files_below(&self.copy, &mut found);
        let below =
            found.iter().map(|path| path.strip_prefix(&self.copy).expect("below").display().to_string());
        let mut below: Vec<_> = below.collect();
        below.sort();
        below
    }
}

fn files_below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("listed").flatten() {
        match entry.file_type().expect("type").is_dir() {
            true => files_below(&entry.path(), found),
            false => found.push(entry.path()),
        }
    }
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("pipe");
}

#[test]
fn ignore_files_are_obeyed() {
    let fixture = Fixture::new(&[
        ("a.rs", ""),
        ("a.log", ""),
        ("kept.log", ""),
        (".gitignore", "*.log\ntarget/\n"),
        (".ignore", "!kept.log\nlarge\n"),
        ("target/x", ""),
        ("large", ""),
        ("sub/.gitignore", "!a.log\nb.rs\n"),
        ("sub/a.log", ""),
        ("sub/b.rs", ""),
        (".autonoe/status.json", ""),
        (".hidden", ""),
    ]);
    let expected = [".gitignore", ".hidden", ".ignore", "a.rs", "kept.log", "sub/.gitignore", "sub/a.log"];
    assert_eq!(fixture.copied(), expected);
}

#[test]
fn patterns_above_count_within_the_repository_only() {
    let fixture = Fixture::new(&[("a", ""), ("b", "")]);
    let outer = fixture.root.parent().expect("parent");
    fs::write(outer.join(".gitignore"), "a\n").expect("written");
    assert_eq!(fixture.copied(), ["a", "b"], "no repository");
    fs::create_dir_all(outer.join(".git/info")).expect("directory");
    fs::write(outer.join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
    assert_eq!(fixture.copied(), ["b"]);
    fs::write(outer.join(".git/info/exclude"), "b\n").expect("written");
    assert_eq!(fixture.copied(), Vec::<String>::new());
}

#[test]
fn special_ignore_files_neither_block_nor_count() {
    let fixture = Fixture::new(&[("a", ""), ("sub/b", "")]);
    for directory in ["", "sub"] {
        for name in [".gitignore", ".ignore"] {
            let path = fixture.root.join(directory).join(name);
            pipe(&path);
            assert_eq!(fixture.copied(), ["a", "sub/b"], "{name} is a pipe");
            fs::remove_file(&path).expect("removed");
            symlink("/dev/zero", &path).expect("link");
            let link = Path::new(directory).join(name).display().to_string();
            let mut expected = vec![link, "a".to_owned(), "sub/b".to_owned()];
            expected.sort();
            assert_eq!(fixture.copied(), expected, "{name} is endless");
            fs::remove_file(&path).expect("removed");
            fs::File::create(&path).expect("file").set_len(1 << 20).expect("grown");
            assert_eq!(fixture.copied().len(), 3, "{name} is large");
            fs::remove_file(&path).expect("removed");
        }
    }
}

#[test]
fn a_project_that_is_too_large_names_its_largest_files_at_once() {
    let fixture = Fixture::new(&[("small", "x")]);
    fs::create_dir(fixture.root.join("data")).expect("directory");
    fs::File::create(fixture.root.join("data/dump")).expect("file").set_len(3 << 30).expect("grown");
    let message = fixture.try_copy().expect_err("too large").to_string();
    assert!(message.contains("2 GiB") && message.contains("data/dump (3 GiB)"), "{message}");
    assert_eq!(fs::read_dir(&fixture.copy).expect("listed").count(), 0, "nothing was copied");
    fs::write(fixture.root.join(".gitignore"), "data\n").expect("written");
    assert_eq!(fixture.copied(), [".gitignore", "small"]);
}

#[test]
fn a_cancelled_copy_ends() {
    let fixture = Fixture::new(&[("a", "x")]);
    fs::create_dir(&fixture.copy).expect("directory");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result =
        copy_tree(&fixture.root, &Repository::default(), &IgnoreFiles::new(), &fixture.copy, &cancel);
    assert!(matches!(result, Err(CopyError::Cancelled)));
}

#[test]
fn the_hash_depends_on_content_and_mode() {
    let fixture = Fixture::new(&[("a", "x"), ("b", "y")]);
    let hash = fixture.try_copy().expect("copied");
    assert_eq!(fixture.try_copy().expect("copied"), hash);
    fs::write(fixture.root.join("a"), "z").expect("written");
    assert_ne!(fixture.try_copy().expect("copied"), hash);
}

#[test]
fn ignore_files_that_were_not_there_before_do_not_count() {
    let fixture = Fixture::new(&[(".gitignore", "built\n"), ("built/x", ""), ("tests/a", ""), ("sub/b", "")]);
    let cancel = CancellationToken::new();
    let ignore = ignore_files(&fixture.root, &cancel);
    fs::write(fixture.root.join("sub/.ignore"), "*\n").expect("written");
    let copied = |expected: &[&str]| {
        let _ = fs::remove_dir_all(&fixture.copy);
        fs::create_dir(&fixture.copy).expect("directory");
        copy_tree(&fixture.root, &Repository::default(), &ignore, &fixture.copy, &cancel).expect("copied");
        for (path, is_expected) in
            ["built/x", "tests/a", "sub/b"].iter().map(|path| (path, expected.contains(path)))
        {
            assert_eq!(fixture.copy.join(path).exists(), is_expected, "{path}");
        }
    };
    copied(&["tests/a", "sub/b"]);
    fs::write(fixture.root.join(".gitignore"), "built\ntests\n").expect("written");
    copied(&["built/x", "tests/a", "sub/b"]);
}

/// The rights of a user, even if root runs the test.
#[cfg(target_os = "linux")]
fn drop_capabilities() {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).expect("a thread may give them up");
}

#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_read_is_left_out_and_named() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new(&[("a", ""), ("closed/b", ""), ("secret", "x")]);
    let everything = fixture.try_copy().expect("copied");
    assert_eq!(everything.left_out, Vec::<PathBuf>::new());
    let set_mode = |path: &str, mode: u32| {
        fs::set_permissions(fixture.root.join(path), fs::Permissions::from_mode(mode)).expect("changed");
    };
    set_mode("closed", 0o000);
    set_mode("secret", 0o000);
    // Another thread would keep its rights, and this one those that it has lost.
    drop_capabilities();
    let copied = fixture.copied();
    let tree = fixture.try_copy().expect("copied");
    set_mode("closed", 0o700);
    assert_eq!(copied, ["a"]);
    assert_eq!(tree.left_out, [PathBuf::from("closed"), PathBuf::from("secret")]);
    assert_ne!(tree.hash, everything.hash);
}
