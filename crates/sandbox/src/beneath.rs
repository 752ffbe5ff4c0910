//! Opening files of a directory in which somebody else may be at work: no link is followed, and nothing is waited for.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens an ordinary file below `root` to read it. Whatever is put into its way meanwhile, it leads nowhere else.
pub fn open_beneath(root: &Path, path: &Path) -> io::Result<File> {
    let file = open(root, path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no ordinary file")),
    }
}

#[cfg(target_os = "linux")]
fn open(root: &Path, path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    let root = File::open(root)?;
    // A pipe that nobody writes to would be waited for.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let ways = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(&root, path, flags, Mode::empty(), ways)?.into())
}

#[cfg(not(target_os = "linux"))]
fn open(root: &Path, path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    Ok(rustix::fs::open(root.join(path), flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::open_beneath;

    #[test]
    fn only_ordinary_files_that_are_really_there_are_opened() {
        let place = tempfile::tempdir().expect("directory");
        let root = place.path().join("root");
        fs::create_dir_all(root.join("inside")).expect("directory");
        fs::create_dir(place.path().join("outside")).expect("directory");
        fs::write(place.path().join("outside/secret"), "secret").expect("written");
        fs::write(root.join("inside/file"), "content").expect("written");
        symlink("../outside", root.join("way")).expect("linked");
        symlink("/dev/zero", root.join("endless")).expect("linked");
        symlink("inside/file", root.join("link")).expect("linked");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("made");
        let mut text = String::new();
        let mut file = open_beneath(&root, Path::new("inside/file")).expect("opened");
        file.read_to_string(&mut text).expect("read");
        assert_eq!(text, "content");
        for path in ["way/secret", "endless", "link", "pipe", "inside", "../outside/secret", "nothing"] {
            assert!(open_beneath(&root, Path::new(path)).is_err(), "{path}");
        }
    }
}
