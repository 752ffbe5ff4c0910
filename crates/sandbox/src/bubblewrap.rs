//! Bubblewrap: translates the bounds to its arguments. A later mount covers an earlier one, so their order matters.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::bounds::Bounds;
use crate::credentials;
use crate::system_paths;

/// The path of our own binary inside the room.
pub(crate) const OWN_BINARY: &str = "/run/autonoe";

/// The size of directories in memory that contain nothing but mount points, in bytes.
const MOUNT_POINTS_SIZE: u64 = 64 * 1024;

/// The part of the size of `/tmp` that other writable directories in memory get.
const OTHER_SHARE: u64 = 4;

/// The arguments that set up a room and run our own binary as its first process.
pub(crate) fn arguments(bounds: &Bounds, own_binary: &Path, room_arg: &str) -> Vec<OsString> {
    let mut list = Arguments::default();
    list.add(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"]);
    // As process 1 of its namespace, the room cannot be killed from inside, and all other processes die with it.
    list.add(["--unshare-cgroup-try", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"]);
    // Every directory in memory has a limit, or it could fill the machine's.
    list.tmpfs(Path::new("/run"), MOUNT_POINTS_SIZE);
    list.system(bounds.tracing || bounds.nested);
    list.tmpfs(Path::new("/tmp"), bounds.limits.temp_size);
    list.tmpfs(Path::new("/var/tmp"), bounds.limits.temp_size / OTHER_SHARE);
    list.tmpfs(Path::new("/dev/shm"), bounds.limits.temp_size / OTHER_SHARE);
    // A path comes after those that contain it: the project may contain the user's home with our state in it, which is hidden but for
    // what agents may read there.
    // What is readable within a writable path is writable, unless something hidden is in between.
    let is_writable = |path: &Path| {
        let is_hidden = bounds.hidden.iter().any(|hidden| path.starts_with(hidden));
        !is_hidden && bounds.writable().any(|writable| path.starts_with(writable))
    };
    let read = bounds.read.iter().filter(|path| path.exists() && !is_writable(path));
    let read = read.map(|path| (path.as_path(), Visibility::Readable));
    let written = bounds.writable().map(|path| (path, Visibility::Writable));
    let hidden = bounds.hidden.iter().map(|path| (path.as_path(), Visibility::Hidden));
    let mut paths: Vec<_> = read.chain(written).chain(hidden).collect();
    paths.sort_by_key(|(path, visibility)| (bounds.shown(path).components().count(), *visibility));
    for (path, visibility) in &paths {
        match visibility {
            Visibility::Readable => list.mount("--ro-bind", path, &bounds.shown(path)),
            Visibility::Writable => list.mount("--bind", path, &bounds.shown(path)),
            Visibility::Hidden => list.hide(path, &bounds.shown(path)),
        }
    }
    for path in credentials::masked(bounds) {
        list.hide(&path, &bounds.shown(&path));
    }
    list.protected(bounds);
    // Once more: the parents of protected paths are mounted again.
    let contains_visible = |hidden: &Path| {
        paths.iter().any(|(path, visibility)| *visibility != Visibility::Hidden && path.starts_with(hidden))
    };
    bounds
        .hidden
        .iter()
        .filter(|path| !contains_visible(path))
        .for_each(|path| list.hide(path, &bounds.shown(path)));
    // Our own directories may be below a hidden path, so they come after it.
    list.mount("--bind", &bounds.home, &bounds.home);
    list.mount("--ro-bind", own_binary, Path::new(OWN_BINARY));
    // Only now, since mount points were created in them.
    let hidden = bounds.hidden.iter().filter(|path| path.is_dir()).map(|path| bounds.shown(path));
    for path in hidden.chain(["/run", "/dev", "/"].map(PathBuf::from)) {
        list.add(["--remount-ro"]);
        list.0.push(path.into());
    }
    list.add(["--chdir", "/", "--", OWN_BINARY, room_arg]);
    list.0
}

/// What wins for one path comes last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Visibility {
    Readable,
    Writable,
    Hidden,
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn mount(&mut self, how: &str, from: &Path, to: &Path) {
        self.0.extend([OsStr::new(how), from.as_os_str(), to.as_os_str()].map(OsString::from));
    }

    /// An empty directory in memory for at most `size` bytes.
    fn tmpfs(&mut self, path: &Path, size: u64) {
        self.add(["--size", &size.to_string(), "--tmpfs"]);
        self.0.push(path.into());
    }

    /// Covers a directory, which the room has at `shown`, with an empty one, and a file with `/dev/null`.
    fn hide(&mut self, path: &Path, shown: &Path) {
        if path.is_dir() {
            self.tmpfs(shown, MOUNT_POINTS_SIZE);
        } else if path.exists() {
            self.mount("--ro-bind", Path::new("/dev/null"), shown);
        }
    }

    /// The system directories, without the secrets in them.
    fn system(&mut self, tracing: bool) {
        for path in system_paths::SYSTEM.map(Path::new) {
            match path.read_link() {
                Ok(target) => self.mount("--symlink", &target, path),
                Err(_) if path.exists() => self.mount("--ro-bind", path, path),
                Err(_) => {}
            }
        }
        for path in system_paths::SECRET.map(Path::new) {
            self.hide(path, path);
        }
        self.add(["--proc", "/proc", "--dev", "/dev"]);
        // Kernel settings are read-only, even for root.
        for path in system_paths::KERNEL.map(Path::new).into_iter().filter(|path| path.exists()) {
            self.mount("--ro-bind", path, path);
        }
        if !tracing {
            // A program could change the memory of others by writing `/proc/PID/mem`.
            self.add(["--remount-ro", "/proc"]);
        }
    }

    /// Read-only paths within writable ones. Their parent directories are mounted too: a mount point cannot be renamed, but
    /// a directory that contains one can.
    fn protected(&mut self, bounds: &Bounds) {
        let mut parents: Vec<PathBuf> = Vec::new();
        let protected: Vec<_> =
            bounds.protected.iter().filter(|path| exists_and_is_not_a_link(path)).collect();
        for path in &protected {
            let Some(within) = bounds.writable().find(|writable| path.starts_with(writable)) else {
                continue;
            };
            let ancestors = path.ancestors().skip(1).take_while(|ancestor| *ancestor != within);
            let mut missing: Vec<_> = ancestors.map(Path::to_owned).collect();
            missing.retain(|ancestor| !parents.contains(ancestor));
            missing.reverse();
            parents.extend(missing);
        }
        parents.sort();
        for path in &parents {
            self.mount("--bind", path, &bounds.shown(path));
        }
        for path in protected {
            self.mount("--ro-bind", path, &bounds.shown(path));
        }
    }
}

fn exists_and_is_not_a_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink())
}
