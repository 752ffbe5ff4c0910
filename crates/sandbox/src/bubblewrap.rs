//! Bubblewrap: the bounds as its arguments. A later mount covers an earlier one, so the order is the meaning.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::bounds::Bounds;
use crate::places;

/// Where our own binary is inside.
pub(crate) const OURSELVES: &str = "/run/autonoe";

/// The arguments that build a room and run our own binary as its first process.
pub(crate) fn arguments(bounds: &Bounds, ourselves: &Path, room_arg: &str) -> Vec<OsString> {
    let mut list = Arguments::default();
    list.add(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"]);
    // With the room as first process, nobody inside can end it, and it ends everybody by ending.
    list.add(["--unshare-cgroup-try", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"]);
    list.system();
    list.add(["--size", &bounds.limits.temp_size.to_string(), "--tmpfs", "/tmp"]);
    list.add(["--tmpfs", "/run", "--tmpfs", "/var/tmp"]);
    for path in bounds.read.iter().filter(|path| path.exists()) {
        list.mount("--ro-bind", path, path);
    }
    for path in bounds.writable() {
        list.mount("--bind", path, path);
    }
    list.protected(bounds);
    for path in &bounds.hidden {
        list.hide(path);
    }
    // Ours, and within what is hidden.
    list.mount("--bind", &bounds.home, &bounds.home);
    list.mount("--ro-bind", ourselves, Path::new(OURSELVES));
    list.add(["--remount-ro", "/", "--chdir", "/", "--", OURSELVES, room_arg]);
    list.0
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

    /// Puts nothing in the place of something.
    fn hide(&mut self, path: &Path) {
        if path.is_dir() {
            self.0.extend([OsStr::new("--tmpfs"), path.as_os_str()].map(OsString::from));
        } else if path.exists() {
            self.mount("--ro-bind", Path::new("/dev/null"), path);
        }
    }

    /// The system's directories, without what is secret in them.
    fn system(&mut self) {
        for path in places::SYSTEM.map(Path::new) {
            match path.read_link() {
                Ok(target) => self.mount("--symlink", &target, path),
                Err(_) if path.exists() => self.mount("--ro-bind", path, path),
                Err(_) => {}
            }
        }
        for path in places::SECRET.map(Path::new) {
            self.hide(path);
        }
        self.add(["--proc", "/proc", "--dev", "/dev"]);
        // Settings of the kernel: to be read only, also by root.
        for path in places::KERNEL.map(Path::new).into_iter().filter(|path| path.exists()) {
            self.mount("--ro-bind", path, path);
        }
    }

    /// Read-only places within what is writable. The directories on the way are mounted too: a mount point cannot be
    /// moved aside, while a directory that only contains one can.
    fn protected(&mut self, bounds: &Bounds) {
        let mut on_the_way: Vec<PathBuf> = Vec::new();
        let protected: Vec<_> = bounds.protected.iter().filter(|path| is_itself(path)).collect();
        for path in &protected {
            let Some(within) = bounds.writable().find(|writable| path.starts_with(writable)) else {
                continue;
            };
            let ancestors = path.ancestors().skip(1).take_while(|ancestor| *ancestor != within);
            let mut missing: Vec<_> = ancestors.map(Path::to_owned).collect();
            missing.retain(|ancestor| !on_the_way.contains(ancestor));
            missing.reverse();
            on_the_way.extend(missing);
        }
        on_the_way.sort();
        for path in &on_the_way {
            self.mount("--bind", path, path);
        }
        for path in protected {
            self.mount("--ro-bind", path, path);
        }
    }
}

/// Whether there is something, and not only a link to it.
fn is_itself(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink())
}
