//! A file system as a newly installed system has it, and commands that run in it and see nothing else.
//!
//! mmdebstrap makes each system once, as a tar file below `target`; every trial unpacks its own. bubblewrap enters it, since autonoe's own
//! sandbox cannot be made in a chroot.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::trial::{printed, run};
use super::ubuntu_keys;
use crate::result::Result;
use crate::workspace::root;

const DIRECTORY: &str = "target/dist-roots";

/// What the package needs, and what a person has who runs install.sh.
const PACKAGES: &str = "bubblewrap,git,ca-certificates,openssh-client";

/// Names of a static busybox.
const BUSYBOX: [&str; 2] = ["/bin/busybox", "/usr/bin/busybox"];

pub struct SystemImage {
    pub name: &'static str,
    suite: &'static str,
    mirror: &'static str,
    components: &'static str,
}

const DEBIAN: &str = "http://deb.debian.org/debian";
/// From the package debian-archive-keyring.
const DEBIAN_KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const UBUNTU: &str = "http://archive.ubuntu.com/ubuntu";

pub const SYSTEMS: [SystemImage; 3] = [
    SystemImage { name: "Debian 12", suite: "bookworm", mirror: DEBIAN, components: "main" },
    SystemImage { name: "Debian 13", suite: "trixie", mirror: DEBIAN, components: "main" },
    // Its glibc is 2.35, older than the one that most builds of ours were made with.
    SystemImage { name: "Ubuntu 22.04", suite: "jammy", mirror: UBUNTU, components: "main" },
];

impl SystemImage {
    /// Why it cannot be made on this machine.
    pub fn obstacle(&self) -> Option<String> {
        if self.file().exists() {
            return None;
        }
        let is_there = Command::new("mmdebstrap").arg("--version").output().is_ok();
        match is_there && (self.mirror == UBUNTU || Path::new(DEBIAN_KEYS).exists()) {
            true => None,
            false => Some("mmdebstrap or debian-archive-keyring is not installed".to_owned()),
        }
    }

    fn keys(&self) -> Result<PathBuf> {
        match self.mirror {
            UBUNTU => ubuntu_keys::file(UBUNTU, &root().join(DIRECTORY)),
            _ => Ok(PathBuf::from(DEBIAN_KEYS)),
        }
    }

    fn file(&self) -> PathBuf {
        root().join(DIRECTORY).join(format!("{}.tar", self.suite))
    }
}

const NO_NETWORK: [&str; 1] = ["--unshare-net"];

pub struct FreshRoot {
    directory: TempDir,
    /// Where in the directory its root is.
    inside: &'static str,
}

impl FreshRoot {
    pub fn of(system: &SystemImage) -> Result<Self> {
        let image = image(system)?;
        let fresh = Self::empty()?;
        let mut tar = Command::new("tar");
        // Devices need root, and bubblewrap provides them anyway.
        tar.args(["--extract", "--no-same-owner", "--exclude=./dev/*", "--file"]).arg(image);
        run(tar.arg("--directory").arg(fresh.path()))?;
        fs::create_dir_all(fresh.path().join("home/user"))?;
        // ssh-keygen refuses to work for a user without a name.
        let mut users = fs::OpenOptions::new().append(true).open(fresh.path().join("etc/passwd"))?;
        users.write_all(b"user:x:1000:1000::/home/user:/bin/sh\n")?;
        Ok(fresh)
    }

    /// The file system of an image in an OCI layout.
    pub fn of_image(layout: &Path, image: &str) -> Result<Self> {
        let mut fresh = Self::empty()?;
        let bundle = fresh.path().join("bundle");
        let reference = format!("{}:{image}", layout.display());
        run(Command::new("umoci").args(["unpack", "--image", &reference]).arg(&bundle))?;
        fresh.inside = "bundle/rootfs";
        fs::create_dir_all(fresh.path().join("home/user"))?;
        Ok(fresh)
    }

    /// Without a C library: busybox is the only program. `None` if this machine has no static busybox.
    pub fn of_busybox() -> Result<Option<Self>> {
        let is_static = |path: &&&str| {
            Command::new("ldd")
                .arg(path)
                .output()
                .is_ok_and(|output| printed(&output).contains("not a dynamic"))
        };
        let Some(busybox) = BUSYBOX.iter().find(is_static) else { return Ok(None) };
        let fresh = Self::empty()?;
        for directory in ["bin", "tmp", "home/user", "dev", "proc", "run"] {
            fs::create_dir_all(fresh.path().join(directory))?;
        }
        fs::copy(busybox, fresh.path().join("bin/busybox"))?;
        let listed = Command::new(busybox).arg("--list").output()?;
        for name in String::from_utf8_lossy(&listed.stdout).lines().filter(|name| *name != "busybox") {
            symlink("busybox", fresh.path().join("bin").join(name))?;
        }
        Ok(Some(fresh))
    }

    fn empty() -> Result<Self> {
        let parent = root().join(DIRECTORY);
        fs::create_dir_all(&parent)?;
        let directory = tempfile::Builder::new().prefix("fresh-").tempdir_in(parent)?;
        Ok(Self { directory, inside: "." })
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join(self.inside)
    }

    /// What a shell command printed, run as the root of that system.
    pub fn as_root(&self, script: &str) -> Result<String> {
        run(&mut self.command(0, &NO_NETWORK, script))
    }

    pub fn as_user(&self, script: &str) -> Result<String> {
        run(&mut self.command(1000, &NO_NETWORK, script))
    }

    /// With the network of this machine, where a scripted model listens.
    pub fn as_user_with_network(&self, script: &str) -> Result<String> {
        run(&mut self.command(1000, &[], script))
    }

    /// Whether it succeeded, and what it printed.
    pub fn try_as_user(&self, script: &str) -> Result<(bool, String)> {
        let output = self.command(1000, &NO_NETWORK, script).output()?;
        Ok((output.status.success(), printed(&output)))
    }

    fn command(&self, user: u32, network: &[&str], script: &str) -> Command {
        let mut command = Command::new("bwrap");
        command
            .arg("--bind")
            .arg(self.path())
            .args(["/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]);
        command.args(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent"]);
        command.args(network).args(["--uid", &user.to_string(), "--gid", &user.to_string()]);
        if user == 0 {
            command.args(["--cap-add", "ALL"]);
        }
        command.args(["--chdir", "/", "sh", "-c", script]);
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("HOME", if user == 0 { "/root" } else { "/home/user" }).env("TERM", "dumb");
        command
    }
}

/// The tar file of a system, made now if it was not made before.
fn image(system: &SystemImage) -> Result<PathBuf> {
    let file = system.file();
    if file.exists() {
        return Ok(file);
    }
    println!("making a root file system of {} with mmdebstrap", system.name);
    fs::create_dir_all(root().join(DIRECTORY))?;
    let unfinished = file.with_extension("unfinished.tar");
    let mut mmdebstrap = Command::new("mmdebstrap");
    mmdebstrap.args(["--variant=apt", "--include", PACKAGES, "--components", system.components]);
    mmdebstrap
        .arg("--keyring")
        .arg(system.keys()?)
        .args(["--quiet", system.suite])
        .arg(&unfinished)
        .arg(system.mirror);
    run(&mut mmdebstrap)?;
    fs::rename(&unfinished, &file)?;
    Ok(file)
}
