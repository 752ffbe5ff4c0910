//! `cargo xtask dist --check`: installs every artifact of the last release as a user would, in file systems that have never seen it, and
//! starts it there.
//!
//! What cannot be tried on this machine is said, and under `CI=true` it is a failure.

mod fresh_root;
mod images;
mod main_job;
mod nix;
mod npm_registry;
mod other_processor;
mod trial;
mod ubuntu_keys;

use std::fs;
use std::path::{Path, PathBuf};

use self::fresh_root::{FreshRoot, SYSTEMS, SystemImage, WITH_TOOLS};
use self::npm_registry::NpmRegistry;
use self::trial::{ExpectedBuild, Trial};
use super::needed::BUSYBOX;
use super::options::CheckedImages;
use super::release::Release;
use super::target::{self, Target};
use super::{archive, formula, npm_packages, tools};
use crate::result::Result;

/// The variable by which CI services make themselves known.
const CI_VARIABLE: &str = "CI";

pub fn run(directory: &Path, checked_images: CheckedImages) -> Result {
    let release = Release::of_last_commit()?;
    let targets = target::released_from_linux();
    let target = targets.iter().copied().find(|target| target.runs_here());
    let target = target.ok_or("No target of releases runs on this machine.")?;
    let files = ReleaseFiles { directory: fs::canonicalize(directory)?, release, target };
    let mut results = Vec::new();
    let mut add = |name: String, result: Result<Trial>| {
        println!("tried {name}");
        results.push((name, result));
    };
    for system in &SYSTEMS {
        add(format!("{}: .deb", system.name), in_fresh_root(system, |root| files.try_deb(root)));
        add(format!("{}: install.sh", system.name), in_fresh_root(system, |root| files.try_installer(root)));
    }
    for spec in images::specs(checked_images)? {
        let trial = images::try_image(&spec, &files.release, target, &files.directory);
        add(format!("image {}, made without a daemon", spec.tag()), trial);
    }
    for ending in ["tar.gz", "tar.zst"] {
        add(format!("no C library, only busybox: .{ending}"), files.try_archive_alone(ending));
    }
    add(
        "npx, from a registry on this machine".to_owned(),
        in_fresh_root(&WITH_TOOLS, |root| files.try_npx(root)),
    );
    add("pip, from a directory".to_owned(), in_fresh_root(&WITH_TOOLS, |root| files.try_pip(root)));
    add("uvx, from a directory".to_owned(), in_fresh_root(&WITH_TOOLS, |root| files.try_uvx(root)));
    add(
        "Nix flake".to_owned(),
        in_fresh_root(&WITH_TOOLS, |root| nix::try_flake(&root, &files.release, target, &files.directory)),
    );
    add(
        "AppArmor profile and Homebrew formula".to_owned(),
        in_fresh_root(&WITH_TOOLS, |root| files.try_parsers(root)),
    );
    for other in targets.iter().filter(|other| !other.runs_here() && files.has(other)) {
        let trial = other_processor::try_with_qemu(&files.release, other, &files.directory);
        add(format!("{}, by qemu", other.triple), trial);
    }
    report(results)
}

fn in_fresh_root(system: &SystemImage, attempt: impl FnOnce(FreshRoot) -> Result<Trial>) -> Result<Trial> {
    match system.obstacle() {
        Some(why) => Ok(Trial::LeftOut(why)),
        None => attempt(FreshRoot::of(system)?),
    }
}

fn report(results: Vec<(String, Result<Trial>)>) -> Result {
    let (mut failed, mut left_out) = (0, 0);
    for (name, result) in results {
        match result {
            Ok(Trial::Passed(words)) => println!("ok       {name}: {words}"),
            Ok(Trial::LeftOut(why)) => {
                left_out += 1;
                println!("left out {name}: {why}");
            }
            Err(error) => {
                failed += 1;
                println!("FAILED   {name}: {error}");
            }
        }
    }
    let is_ci = std::env::var(CI_VARIABLE).is_ok_and(|value| value == "true");
    match (failed, left_out) {
        (0, left_out) if left_out == 0 || !is_ci => Ok(()),
        (failed, left_out) => Err(format!("{failed} failed, {left_out} left out.").into()),
    }
}

/// A release that `cargo xtask dist` has made.
struct ReleaseFiles {
    directory: PathBuf,
    release: Release,
    target: &'static Target,
}

impl ReleaseFiles {
    fn try_deb(&self, root: FreshRoot) -> Result<Trial> {
        self.install_deb(&root)?;
        root.as_user("command -v autonoe && man_page=/usr/share/man/man1/autonoe.1.gz && test -s $man_page")?;
        self.try_installed(&root, "autonoe")
    }

    fn install_deb(&self, root: &FreshRoot) -> Result {
        let name = super::deb::name(&self.release, self.target);
        fs::copy(self.file(&name)?, root.path().join("autonoe.deb"))?;
        root.as_root("dpkg --install /autonoe.deb").map(|_| ())
    }

    fn try_installer(&self, root: FreshRoot) -> Result<Trial> {
        self.copy_release_into(&root)?;
        root.as_user("sh /release/install.sh --from /release")?;
        self.try_installed(&root, "/home/user/.local/bin/autonoe")
    }

    /// The short commands, and the main job.
    fn try_installed(&self, root: &FreshRoot, autonoe: &str) -> Result<Trial> {
        let commands = trial::commands(root, autonoe, self.expected())?;
        Ok(commands.and(main_job::try_in(root, autonoe)?))
    }

    fn copy_release_into(&self, root: &FreshRoot) -> Result {
        let to = root.path().join("release");
        fs::create_dir(&to)?;
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        Ok(())
    }

    /// The binary in a file system that has nothing but a shell.
    fn try_archive_alone(&self, ending: &str) -> Result<Trial> {
        let Some(root) = FreshRoot::of_busybox()? else {
            let why = BUSYBOX.obstacle().unwrap_or_else(|| "busybox is not static".to_owned());
            return Ok(Trial::LeftOut(why));
        };
        let bytes = fs::read(self.file(&self.target.archive(&self.release, ending))?)?;
        let unpacked = tempfile::tempdir()?;
        match ending {
            "tar.zst" => archive::unpack_zstd(&bytes, unpacked.path())?,
            _ => archive::unpack_gzip(&bytes, unpacked.path())?,
        }
        let program = unpacked.path().join(self.target.directory(&self.release)).join("bin/autonoe");
        fs::copy(program, root.path().join("bin/autonoe"))?;
        trial::commands_without_git(&root, self.expected())
    }

    fn try_npx(&self, root: FreshRoot) -> Result<Trial> {
        let packages = [
            self.file(&npm_packages::launcher_file(&self.release))?,
            self.file(&npm_packages::platform_file(&self.release, self.target))?,
        ];
        let registry = NpmRegistry::serve(&packages)?;
        let npx = format!("npx --yes --registry {} autonoe", registry.address());
        trial::commands(&root.with_network(), &npx, self.expected())
    }

    fn try_pip(&self, root: FreshRoot) -> Result<Trial> {
        self.copy_release_into(&root)?;
        root.as_user(
            "python3 -m venv ~/env && ~/env/bin/pip install --quiet --no-index --find-links /release autonoe",
        )?;
        trial::commands(&root, "/home/user/env/bin/autonoe", self.expected())
    }

    fn try_uvx(&self, root: FreshRoot) -> Result<Trial> {
        self.copy_release_into(&root)?;
        let uvx = tools::uvx()?;
        for name in ["uv", "uvx"] {
            fs::copy(uvx.with_file_name(name), root.path().join("usr/local/bin").join(name))?;
        }
        trial::commands(&root, "uvx --offline --no-index --find-links /release autonoe", self.expected())
    }

    /// What other programs must understand, although nothing here can use it.
    fn try_parsers(&self, root: FreshRoot) -> Result<Trial> {
        self.install_deb(&root)?;
        root.as_root("apparmor_parser --skip-kernel-load --skip-cache /usr/share/autonoe/apparmor-profile")?;
        fs::copy(self.file(formula::FILE)?, root.path().join(formula::FILE))?;
        root.as_user(&format!("ruby -c /{}", formula::FILE))?;
        Ok(Trial::Passed("apparmor_parser and ruby accept them".to_owned()))
    }

    fn expected(&self) -> ExpectedBuild<'_> {
        ExpectedBuild { release: &self.release, target: self.target }
    }

    fn has(&self, target: &Target) -> bool {
        self.directory.join(target.archive(&self.release, "tar.gz")).is_file()
    }

    fn file(&self, name: &str) -> Result<PathBuf> {
        let file = self.directory.join(name);
        let missing = || format!("{} is missing; run `cargo xtask dist` first.", file.display());
        if file.is_file() { Ok(file) } else { Err(missing().into()) }
    }
}
