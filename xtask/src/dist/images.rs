//! The container images, made without a daemon: mmdebstrap makes the file system, umoci the image. The Dockerfile in `packaging/images`
//! makes the same from the same lists of packages.

mod spec;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::spec::VendorAgent;
pub use self::spec::{IMAGES, ImageSpec};
use super::needed::{MMDEBSTRAP, NPM, UMOCI};
use super::release::Release;
use super::target::Target;
use super::{deb, needed};
use crate::result::Result;
use crate::workspace::root;

const SUITE: &str = "trixie";
const USER: &str = "autonoe";
pub const ENTRY_POINT: &str = "/usr/local/bin/autonoe-entrypoint";

/// Why an image cannot be made on this machine.
pub fn obstacle(spec: &ImageSpec) -> Option<String> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let needed = [Some(&MMDEBSTRAP), Some(&UMOCI), (!spec.agents.is_empty()).then_some(&NPM)];
    let missing = needed.into_iter().flatten().find_map(needed::NeededProgram::obstacle);
    missing.or_else(|| (!is_root).then(|| "only root can make an image".to_owned()))
}

/// An OCI layout with one image, from the release in `output`.
pub fn make(spec: &ImageSpec, release: &Release, target: &Target, output: &Path) -> Result<PathBuf> {
    if let Some(why) = obstacle(spec) {
        return Err(format!("The image {} cannot be made: {why}.", spec.tag()).into());
    }
    let package = output.join(deb::name(release, target));
    if !package.is_file() {
        return Err(format!("{} is missing; run `cargo xtask dist` first.", package.display()).into());
    }
    let directory = root().join("target/dist-images");
    fs::create_dir_all(&directory)?;
    let files = directory.join(format!("{}-files", spec.tag()));
    let layout = directory.join(spec.tag());
    for old in [&files, &layout] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    println!("making the image {}", spec.tag());
    make_files(spec, release, &package, &files)?;
    if !spec.agents.is_empty() {
        add_agents(spec, &files)?;
    }
    make_layout(&spec.tag(), release, &files, &layout)?;
    fs::remove_dir_all(&files)?;
    Ok(layout)
}

fn make_files(spec: &ImageSpec, release: &Release, package: &Path, files: &Path) -> Result {
    let install = format!(
        "cp '{}' \"$1/autonoe.deb\" && chroot \"$1\" dpkg --install /autonoe.deb && rm \"$1/autonoe.deb\"",
        package.display()
    );
    let user = format!(
        "chroot \"$1\" useradd --create-home --uid 1000 {USER} && mkdir \"$1/project\" && \
         chroot \"$1\" chown {USER}:{USER} /project && install -m 755 '{}' \"$1{ENTRY_POINT}\"",
        root().join("packaging/images/entrypoint.sh").display()
    );
    let mut mmdebstrap = Command::new("mmdebstrap");
    // As in Debian's own images: what a machine that loses power would lose is made again anyway.
    mmdebstrap.arg("--dpkgopt=force-unsafe-io");
    mmdebstrap.args(["--quiet", "--variant=apt", "--include", &spec.packages()?.join(",")]);
    mmdebstrap.arg(format!("--customize-hook={install}")).arg(format!("--customize-hook={user}"));
    mmdebstrap.env("SOURCE_DATE_EPOCH", release.seconds.to_string());
    run(mmdebstrap.arg(SUITE).arg(files))
}

/// Downloaded by the npm of this machine, which knows how to reach its registry. The agents' own scripts run in the image, without network;
/// those of what they depend on would compile something that is optional.
fn add_agents(spec: &ImageSpec, files: &Path) -> Result {
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--global",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        "--prefix",
    ]);
    run(npm.arg(files.join("usr/local")).args(spec.agents.iter().map(|agent| &agent.package)))?;
    let mut rebuild = Command::new("bwrap");
    rebuild.arg("--bind").arg(files).args(["/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]);
    rebuild.args(["--unshare-net", "--unshare-pid", "--die-with-parent", "--chdir", "/", "--"]);
    rebuild.args(["npm", "rebuild", "--global", "--prefix", "/usr/local", "--loglevel=error"]);
    rebuild.args(spec.agents.iter().map(VendorAgent::name));
    run(rebuild.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/tmp"))
}

fn make_layout(image: &str, release: &Release, files: &Path, layout: &Path) -> Result {
    let reference = format!("{}:{image}", layout.display());
    let umoci = |arguments: &[&str]| run(Command::new("umoci").args(arguments));
    umoci(&["init", "--layout", &layout.to_string_lossy()])?;
    umoci(&["new", "--image", &reference])?;
    umoci(&["insert", "--image", &reference, &files.to_string_lossy(), "/"])?;
    let title = format!("org.opencontainers.image.title=autonoe {image}");
    let revision = format!("org.opencontainers.image.revision={}", release.commit);
    umoci(&[
        "config",
        "--image",
        &reference,
        "--config.user",
        USER,
        "--config.workingdir",
        "/project",
        "--config.entrypoint",
        ENTRY_POINT,
        "--config.cmd",
        "--help",
        "--config.env",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "--config.label",
        &title,
        "--config.label",
        &revision,
    ])
}

fn run(command: &mut Command) -> Result {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program} cannot be started: {error}."))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{program} failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}
