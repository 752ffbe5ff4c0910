//! `cargo xtask dist --check`: installs every artifact of the last release as a user would, in file systems that have never seen it, and
//! starts it there.
//!
//! What cannot be tried on this machine is said, and under `CI=true` it is a failure.

mod fresh_root;
mod main_job;
mod npm_registry;
mod trial;
mod ubuntu_keys;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::fresh_root::{FreshRoot, SYSTEMS, SystemImage};
use self::npm_registry::NpmRegistry;
use self::trial::Trial;
use super::release::Release;
use super::target::{self, Target};
use super::{archive, images, npm_packages, tools};
use crate::result::Result;

/// The variable by which CI services make themselves known.
const CI_VARIABLE: &str = "CI";

pub fn run(directory: &Path) -> Result {
    let release = Release::of_last_commit()?;
    let targets = target::released_from_linux();
    let target = targets.into_iter().find(|target| target.runs_here());
    let target = target.ok_or("No target of releases runs on this machine.")?;
    let files = ReleaseFiles { directory: fs::canonicalize(directory)?, release, target };
    let mut results = Vec::new();
    for system in &SYSTEMS {
        let name = format!("{}: .deb", system.name);
        results.push((name, in_fresh_root(system, |root| files.try_deb(root))));
        let name = format!("{}: install.sh", system.name);
        results.push((name, in_fresh_root(system, |root| files.try_installer(root))));
    }
    results.push(("image base, made without a daemon".to_owned(), files.try_image("base")));
    results.push(("no C library, only busybox: archive".to_owned(), files.try_archive_alone()));
    results.push(("npx, from a registry on this machine".to_owned(), files.try_npx()));
    results.push(("pip, from a directory".to_owned(), files.try_pip()));
    results.push(("uvx, from a directory".to_owned(), files.try_uvx()));
    report(results)
}

fn in_fresh_root(system: &SystemImage, attempt: impl FnOnce(&FreshRoot) -> Result<Trial>) -> Result<Trial> {
    match system.obstacle() {
        Some(why) => Ok(Trial::LeftOut(why)),
        None => attempt(&FreshRoot::of(system)?),
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
    fn try_deb(&self, root: &FreshRoot) -> Result<Trial> {
        let name = super::deb::name(&self.release, self.target);
        fs::copy(self.file(&name)?, root.path().join("autonoe.deb"))?;
        root.as_root("dpkg --install /autonoe.deb")?;
        root.as_user("command -v autonoe && man_page=/usr/share/man/man1/autonoe.1.gz && test -s $man_page")?;
        let (commands, job) =
            (trial::commands(root, "autonoe", &self.release)?, main_job::try_in(root, "autonoe")?);
        Ok(commands.and(job))
    }

    fn try_installer(&self, root: &FreshRoot) -> Result<Trial> {
        let from = root.path().join("release");
        fs::create_dir(&from)?;
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            fs::copy(entry.path(), from.join(entry.file_name()))?;
        }
        root.as_user("sh /release/install.sh --from /release")?;
        trial::commands(root, "/home/user/.local/bin/autonoe", &self.release)
    }

    fn try_image(&self, image: &str) -> Result<Trial> {
        if let Some(why) = images::obstacle() {
            return Ok(Trial::LeftOut(why));
        }
        let layout = images::make(image, &self.release, self.target, &self.directory)?;
        let root = FreshRoot::of_image(&layout, image)?;
        trial::commands(&root, images::ENTRY_POINT, &self.release)
    }

    /// The binary in a file system that has nothing but a shell.
    fn try_archive_alone(&self) -> Result<Trial> {
        let Some(root) = FreshRoot::of_busybox()? else {
            return Ok(Trial::LeftOut(
                "there is no static busybox (apt-get install busybox-static)".to_owned(),
            ));
        };
        let name = format!("autonoe-{}-{}", self.release.version, self.target.triple);
        let unpacked = tempfile::tempdir()?;
        archive::unpack_gzip(&fs::read(self.file(&format!("{name}.tar.gz"))?)?, unpacked.path())?;
        fs::copy(unpacked.path().join(&name).join("bin/autonoe"), root.path().join("bin/autonoe"))?;
        trial::commands_without_git(&root, &self.release)
    }

    fn try_npx(&self) -> Result<Trial> {
        let packages = [
            self.file(&npm_packages::launcher_file(&self.release))?,
            self.file(&npm_packages::platform_file(&self.release, self.target))?,
        ];
        let registry = NpmRegistry::serve(&packages)?;
        let home = tempfile::tempdir()?;
        let mut npx = Command::new("npx");
        npx.args(["--yes", "--registry", &registry.address(), "autonoe", "--version"]);
        trial::on_this_machine(npx, home.path(), &self.release)
    }

    fn try_pip(&self) -> Result<Trial> {
        let home = tempfile::tempdir()?;
        let environment = home.path().join("environment");
        let mut venv = Command::new("python3");
        if !venv.args(["-m", "venv"]).arg(&environment).status().is_ok_and(|status| status.success()) {
            return Ok(Trial::LeftOut("python3 cannot make a virtual environment".to_owned()));
        }
        let mut pip = Command::new(environment.join("bin/pip"));
        pip.args(["install", "--quiet", "--no-index", "--find-links"]).arg(&self.directory).arg("autonoe");
        trial::run(pip.env("HOME", home.path()))?;
        let mut autonoe = Command::new(environment.join("bin/autonoe"));
        autonoe.arg("--version");
        trial::on_this_machine(autonoe, home.path(), &self.release)
    }

    fn try_uvx(&self) -> Result<Trial> {
        let home = tempfile::tempdir()?;
        let mut uvx = tools::uvx()?;
        uvx.args(["--offline", "--no-index", "--find-links"])
            .arg(&self.directory)
            .args(["autonoe", "--version"]);
        trial::on_this_machine(uvx, home.path(), &self.release)
    }

    fn file(&self, name: &str) -> Result<PathBuf> {
        let file = self.directory.join(name);
        let missing = || format!("{} is missing; run `cargo xtask dist` first.", file.display());
        if file.is_file() { Ok(file) } else { Err(missing().into()) }
    }
}
