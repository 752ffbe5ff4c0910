//! Bubblewrap: translates the bounds to its arguments. A later mount covers an earlier one, so their order matters.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::bounds::Bounds;
use crate::credentials;
use crate::system_paths;
use crate::visible_parts::{VisiblePart, contains_masked, visible_parts};

/// The path of our own binary inside the room.
pub(crate) const OWN_BINARY: &str = "/run/autonoe";

/// The size of directories in memory that contain nothing but mount points, in bytes.
const MOUNT_POINTS_SIZE: u64 = 64 * 1024;

/// How many entries of directories with credentials a room mounts one by one; the rest is mounted as a whole and covered. Bubblewrap looks
/// at all mounts for each new one: 50 take 5 ms longer than one, 150 take 30.
const MAX_LISTED: usize = 48;

/// The writable directories in memory; each gets the temporary size divided by this number.
const IN_MEMORY: [(&str, u64); 3] = [("/tmp", 1), ("/var/tmp", 4), ("/dev/shm", 4)];

/// The arguments that set up a room and run our own binary as its first process.
pub(crate) fn arguments(bounds: &Bounds, own_binary: &Path, room_arg: &str) -> Vec<OsString> {
    let mut list = Arguments::default();
    list.add(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"]);
    // As process 1 of its namespace, the room cannot be killed from inside, and all other processes die with it.
    list.add(["--unshare-cgroup-try", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"]);
    // Every directory in memory has a limit, or it could fill the machine's.
    list.tmpfs(Path::new("/run"), MOUNT_POINTS_SIZE);
    list.system(bounds.tracing || bounds.nested);
    for (path, share) in IN_MEMORY {
        list.tmpfs(Path::new(path), bounds.limits.temp_size / share);
    }
    let masked = credentials::masked(bounds);
    let concealed: Vec<_> = masked.iter().chain(&bounds.hidden).cloned().collect();
    let mut unlisted = MAX_LISTED;
    let mounts = mounts(bounds);
    let holders = mount_holders(bounds, &mounts);
    for path in &holders {
        list.tmpfs(path, MOUNT_POINTS_SIZE);
    }
    for (path, visibility) in &mounts {
        match visibility {
            Visibility::Readable => list.without(&concealed, path, bounds, &mut unlisted),
            Visibility::Protected => list.mount("--ro-bind", path, &bounds.shown(path)),
            Visibility::Writable => list.mount("--bind", path, &bounds.shown(path)),
            Visibility::Hidden => list.hide(path, &bounds.shown(path)),
        }
    }
    for path in &masked {
        list.hide(path, &bounds.shown(path));
    }
    // Our own directories may be below a hidden path, so they come after it.
    list.mount("--bind", &bounds.home, &bounds.home);
    for (path, visibility) in protected_at_home(bounds) {
        list.mount(if visibility == Visibility::Protected { "--ro-bind" } else { "--bind" }, path, path);
    }
    list.mount("--ro-bind", own_binary, Path::new(OWN_BINARY));
    // Only now, since mount points were created in them. What the user named was mounted over a directory that is hidden otherwise.
    let named: Vec<_> = mounts.iter().filter(|(_, visibility)| *visibility == Visibility::Writable).collect();
    let is_named = |path: &PathBuf| named.iter().any(|(named, _)| bounds.shown(named) == *path);
    let covers = std::mem::take(&mut list.covers).into_iter().filter(|path| !is_named(path));
    for path in covers.chain(holders).chain(["/run", "/dev", "/"].map(PathBuf::from)) {
        list.add(["--remount-ro"]);
        list.words.push(path.into());
    }
    list.add(["--chdir", "/", "--", OWN_BINARY, room_arg]);
    list.words
}

/// What wins for one path comes last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Visibility {
    Readable,
    Writable,
    Protected,
    Hidden,
}

/// The paths of the host that the room shows or hides. A path comes after those that contain it: the project may contain the user's home
/// with our state in it, which is hidden but for what agents may read there.
fn mounts(bounds: &Bounds) -> Vec<(&Path, Visibility)> {
    // What is readable within a writable path is writable, unless something hidden is in between.
    let is_writable = |path: &Path| {
        let is_hidden = bounds.hidden.iter().any(|hidden| path.starts_with(hidden));
        !is_hidden && bounds.writable().any(|writable| path.starts_with(writable))
    };
    let is_protected = |path: &Path| bounds.protected.iter().any(|protected| path.starts_with(protected));
    let read = bounds.read.iter().filter(|path| path.exists() && !is_writable(path));
    let read = read.map(|path| (path.as_path(), Visibility::Readable));
    let written = bounds.writable().filter(|path| *path == bounds.root || !is_protected(path));
    let is_visible = |path: &&PathBuf| !is_hidden_in_writable(bounds, path);
    let protected = bounds.protected.iter().filter(|path| !path.starts_with(&bounds.home));
    let protected = protected.filter(|path| exists_and_is_not_a_link(path)).filter(is_visible);
    let hidden = bounds.hidden.iter().filter(|path| path.exists()).filter(is_visible);
    // A mount point cannot be renamed, but a directory that contains one can, unless it is mounted too.
    let parents = protected.clone().chain(hidden.clone()).flat_map(|path| writable_parents(bounds, path));
    let parents = parents.filter(|path| !is_protected(path) && exists_and_is_not_a_link(path));
    let written = written.chain(parents).map(|path| (path, Visibility::Writable));
    let protected = protected.map(|path| (path.as_path(), Visibility::Protected));
    let hidden = hidden.map(|path| (path.as_path(), Visibility::Hidden));
    let mut mounts: Vec<_> = read.chain(written).chain(protected).chain(hidden).collect();
    mounts.sort_by_key(|(path, visibility)| (bounds.shown(path).components().count(), *visibility, *path));
    mounts.dedup();
    mounts
}

/// Protected paths of the room's home, which is mounted after everything else, and the directories that contain them.
fn protected_at_home(bounds: &Bounds) -> Vec<(&Path, Visibility)> {
    let protected = bounds.protected.iter().map(PathBuf::as_path);
    let protected = protected.filter(|path| path.starts_with(&bounds.home) && exists_and_is_not_a_link(path));
    let mut mounts: Vec<_> = protected
        .flat_map(|path| {
            let parents = path.ancestors().skip(1).take_while(|parent| *parent != bounds.home);
            parents.map(|parent| (parent, Visibility::Writable)).chain([(path, Visibility::Protected)])
        })
        .collect();
    mounts.sort_by_key(|(path, visibility)| (path.components().count(), *visibility, *path));
    mounts.dedup();
    mounts
}

/// The directories between a path and the writable one that contains it.
fn writable_parents<'a>(bounds: &Bounds, path: &'a Path) -> Vec<&'a Path> {
    let Some(within) = bounds.writable().find(|writable| path.starts_with(writable)) else {
        return Vec::new();
    };
    path.ancestors().skip(1).take_while(|ancestor| *ancestor != within).collect()
}

/// Whether something hidden is between a path and the writable one that contains it.
fn is_hidden_in_writable(bounds: &Bounds, path: &Path) -> bool {
    writable_parents(bounds, path).iter().any(|parent| bounds.hidden.iter().any(|hidden| hidden == parent))
}

/// Directories in `/tmp` and the like that contain mount points. They are mounted read-only: otherwise a program could rename one of
/// them and put another directory with other files in its place.
fn mount_holders(bounds: &Bounds, mounts: &[(&Path, Visibility)]) -> BTreeSet<PathBuf> {
    let visible = mounts.iter().filter(|(_, visibility)| *visibility != Visibility::Hidden);
    let mounted: BTreeSet<PathBuf> =
        visible.map(|(path, _)| bounds.shown(path)).chain([bounds.home.clone()]).collect();
    let holder = |path: &PathBuf| {
        let within = IN_MEMORY.iter().map(|(top, _)| Path::new(top)).find(|top| path.starts_with(top))?;
        let first = path.strip_prefix(within).ok()?.components().next()?;
        Some(within.join(first))
    };
    mounted.iter().filter_map(holder).filter(|path| !mounted.contains(path)).collect()
}

#[derive(Default)]
struct Arguments {
    words: Vec<OsString>,
    /// The directories in memory that cover others. They become read-only.
    covers: BTreeSet<PathBuf>,
}

impl Arguments {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.words.extend(words.map(OsString::from));
    }

    fn mount(&mut self, how: &str, from: &Path, to: &Path) {
        self.words.extend([OsStr::new(how), from.as_os_str(), to.as_os_str()].map(OsString::from));
    }

    /// An empty directory in memory for at most `size` bytes.
    fn tmpfs(&mut self, path: &Path, size: u64) {
        self.add(["--size", &size.to_string(), "--tmpfs"]);
        self.words.push(path.into());
    }

    fn cover(&mut self, shown: &Path) {
        self.tmpfs(shown, MOUNT_POINTS_SIZE);
        self.covers.insert(shown.to_owned());
    }

    /// A readable path. If something in it is concealed, an empty directory with its other entries: what only covers a file of the host
    /// disappears when somebody there replaces that file, as programs do that change a login.
    fn without(&mut self, concealed: &[PathBuf], path: &Path, bounds: &Bounds, unlisted: &mut usize) {
        let shown = bounds.shown(path);
        if !contains_masked(path, concealed) || concealed.iter().any(|concealed| concealed == path) {
            return self.mount("--ro-bind", path, &shown);
        }
        let parts = visible_parts(path, concealed);
        let Some(left) = unlisted.checked_sub(parts.len()) else {
            return self.mount("--ro-bind", path, &shown);
        };
        *unlisted = left;
        self.cover(&shown);
        for part in parts {
            match part {
                VisiblePart::Everything(path) => self.mount("--ro-bind-try", &path, &bounds.shown(&path)),
                VisiblePart::Names(path) => self.words.extend(["--dir".into(), bounds.shown(&path).into()]),
                VisiblePart::Link(path) => {
                    if let Ok(target) = path.read_link() {
                        self.mount("--symlink", &target, &bounds.shown(&path));
                    }
                }
            }
        }
    }

    /// Covers a directory, which the room has at `shown`, with an empty one, and a file with `/dev/null`.
    fn hide(&mut self, path: &Path, shown: &Path) {
        if path.is_dir() {
            self.cover(shown);
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
}

fn exists_and_is_not_a_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink())
}
