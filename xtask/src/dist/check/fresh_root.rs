//! A file system as a newly installed system has it, and commands that run in it and see nothing else.
//!
//! mmdebstrap makes each system once, as a tar file below `target`; every trial unpacks its own. bubblewrap enters it, since autonoe's own
//! sandbox cannot be made in a chroot. An image is entered as the user that it names.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::super::needed::{BUBBLEWRAP, BUSYBOX, DEBIAN_KEYS, MMDEBSTRAP, NeededProgram};
use super::trial::{printed, run};
use super::ubuntu_keys;
use crate::result::Result;
use crate::workspace::root;

const DIRECTORY: &str = "target/dist-roots";

/// What the package needs, and what a person has who runs install.sh.
const PACKAGES: &str = "bubblewrap,git,ca-certificates,openssh-client";

pub struct SystemImage {
    pub name: &'static str,
    suite: &'static str,
    mirror: &'static str,
    /// Besides what all of them have; separated by commas.
    packages: &'static str,
}

const DEBIAN: &str = "http://deb.debian.org/debian";
const UBUNTU: &str = "http://archive.ubuntu.com/ubuntu";

pub const SYSTEMS: [SystemImage; 3] = [
    SystemImage { name: "Debian 12", suite: "bookworm", mirror: DEBIAN, packages: "" },
    SystemImage { name: "Debian 13", suite: "trixie", mirror: DEBIAN, packages: "" },
    // Its glibc is 2.35, older than the one that most builds of ours were made with.
    SystemImage { name: "Ubuntu 22.04", suite: "jammy", mirror: UBUNTU, packages: "" },
];

/// With the package managers of languages, and with the programs that judge the profile, the formula and the flake.
pub const WITH_TOOLS: SystemImage = SystemImage {
    name: "Debian 13 with npm, Python, Ruby, Nix and AppArmor",
    suite: "trixie",
    mirror: DEBIAN,
    packages: ",nodejs,npm,python3-venv,ruby,apparmor,nix-bin",
};

impl SystemImage {
    /// Why it cannot be made on this machine.
    pub fn obstacle(&self) -> Option<String> {
        if self.file().exists() {
            return BUBBLEWRAP.obstacle();
        }
        let keys = (self.mirror == DEBIAN).then_some(&DEBIAN_KEYS);
        [Some(&BUBBLEWRAP), Some(&MMDEBSTRAP), keys].into_iter().flatten().find_map(NeededProgram::obstacle)
    }

    fn keys(&self) -> Result<PathBuf> {
        match self.mirror {
            UBUNTU => ubuntu_keys::file(UBUNTU, &root().join(DIRECTORY)),
            _ => DEBIAN_KEYS.find().ok_or_else(|| "debian-archive-keyring is not installed.".into()),
        }
    }

    fn file(&self) -> PathBuf {
        let kind = if self.packages.is_empty() { "" } else { "-tools" };
        root().join(DIRECTORY).join(format!("{}{kind}.tar", self.suite))
    }
}

/// Whether commands reach servers on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootNetwork {
    None,
    Shared,
}

/// Who starts commands that are not root's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootUser {
    /// The owner of the files, under another id; needs no root.
    OfTheFiles,
    /// The user that the image has; only root can become that user.
    OfTheImage,
}

impl RootUser {
    fn home(self) -> &'static str {
        match self {
            Self::OfTheFiles => "/home/user",
            Self::OfTheImage => "/home/autonoe",
        }
    }
}

/// The id of the user in images, and in other roots.
const USER_ID: &str = "1000";

/// For temporary file systems, which belong to whoever starts bubblewrap.
const WRITABLE: [&str; 2] = ["--perms", "1777"];

pub struct FreshRoot {
    directory: TempDir,
    /// Where in the directory its root is.
    inside: &'static str,
    user: RootUser,
    network: RootNetwork,
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
        fresh.user = RootUser::OfTheImage;
        Ok(fresh)
    }

    /// Without a C library: busybox is the only program. `None` if this machine has no static busybox.
    pub fn of_busybox() -> Result<Option<Self>> {
        let is_static = |path: &PathBuf| {
            Command::new("ldd")
                .arg(path)
                .output()
                .is_ok_and(|output| printed(&output).contains("not a dynamic"))
        };
        let Some(busybox) = BUSYBOX.find().filter(is_static) else { return Ok(None) };
        let fresh = Self::empty()?;
        for directory in ["bin", "tmp", "home/user", "dev", "proc", "run"] {
            fs::create_dir_all(fresh.path().join(directory))?;
        }
        fs::copy(&busybox, fresh.path().join("bin/busybox"))?;
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
        Ok(Self { directory, inside: ".", user: RootUser::OfTheFiles, network: RootNetwork::None })
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join(self.inside)
    }

    /// For what starts a registry or a model on this machine.
    pub fn with_network(self) -> Self {
        Self { network: RootNetwork::Shared, ..self }
    }

    /// What a shell command printed, run as the root of that system.
    pub fn as_root(&self, script: &str) -> Result<String> {
        let mut command = self.enter(&["--bind"], &["/tmp"], self.network);
        command.args(["--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "ALL"]);
        run(command.args(["sh", "-c", script]).env("HOME", "/root"))
    }

    pub fn as_user(&self, script: &str) -> Result<String> {
        run(&mut self.user_command(self.enter(&["--bind"], &["/tmp"], self.network), script))
    }

    /// With the network of this machine, where a scripted model listens.
    pub fn as_user_with_network(&self, script: &str) -> Result<String> {
        run(&mut self.user_command(self.enter(&["--bind"], &["/tmp"], RootNetwork::Shared), script))
    }

    /// Whether it succeeded, and what it printed.
    pub fn try_as_user(&self, script: &str) -> Result<(bool, String)> {
        let command = self.enter(&["--bind"], &["/tmp"], self.network);
        let output = self.user_command(command, script).output()?;
        Ok((output.status.success(), printed(&output)))
    }

    /// As `docker run --read-only` with a `--tmpfs` for each of `writable`.
    pub fn try_read_only(&self, writable: &[&str], script: &str) -> Result<(bool, String)> {
        let command = self.enter(&["--ro-bind"], writable, self.network);
        let output = self.user_command(command, script).output()?;
        Ok((output.status.success(), printed(&output)))
    }

    /// The home directory of the user.
    pub fn home(&self) -> &'static str {
        self.user.home()
    }

    fn enter(&self, bind: &[&str], temporary: &[&str], network: RootNetwork) -> Command {
        let mut command = Command::new("bwrap");
        command.args(bind).arg(self.path()).args(["/", "--dev", "/dev", "--proc", "/proc"]);
        for directory in temporary {
            command.args(WRITABLE).args(["--tmpfs", directory]);
        }
        command.args(["--unshare-pid", "--unshare-ipc", "--die-with-parent"]);
        if network == RootNetwork::None {
            command.arg("--unshare-net");
        }
        command.args(["--chdir", "/"]).env_clear().env("TERM", "dumb");
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    fn user_command(&self, mut command: Command, script: &str) -> Command {
        match self.user {
            RootUser::OfTheFiles => {
                command.args(["--unshare-user", "--uid", USER_ID, "--gid", USER_ID]);
            }
            RootUser::OfTheImage => {
                command.args([
                    "--cap-add",
                    "CAP_SETUID",
                    "--cap-add",
                    "CAP_SETGID",
                    "setpriv",
                    "--clear-groups",
                ]);
                command.args(["--reuid", USER_ID, "--regid", USER_ID, "--inh-caps=-all", "--"]);
            }
        }
        command.args(["sh", "-c", script]).env("HOME", self.user.home());
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
    let packages = format!("{PACKAGES}{}", system.packages);
    mmdebstrap.args([
        "--dpkgopt=force-unsafe-io",
        "--variant=apt",
        "--include",
        &packages,
        "--components",
        "main",
    ]);
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
