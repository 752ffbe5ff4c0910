//! The container images, made without a daemon: mmdebstrap makes the file system, umoci the image. The Dockerfile in `packaging/images`
//! makes the same from the same lists of packages.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::deb;
use super::release::Release;
use super::target::Target;
use crate::result::Result;
use crate::workspace::root;

pub const IMAGES: [&str; 8] = ["base", "node", "python", "go", "rust", "ruby", "php", "full"];

const SUITE: &str = "trixie";
const USER: &str = "autonoe";
pub const ENTRY_POINT: &str = "/usr/local/bin/autonoe-entrypoint";

pub fn find(name: &str) -> Result<&'static str> {
    let known = || format!("`{name}` is not an image. Choose from: {}.", IMAGES.join(", ")).into();
    IMAGES.iter().copied().find(|image| *image == name).ok_or_else(known)
}

/// Why no image can be made on this machine.
pub fn obstacle() -> Option<String> {
    let is_missing = |program: &&&str| Command::new(program).arg("--version").output().is_err();
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    match ["mmdebstrap", "umoci"].iter().find(is_missing) {
        Some(program) => Some(format!("{program} is not installed")),
        None if !is_root => Some("only root can make an image".to_owned()),
        None => None,
    }
}

/// An OCI layout with one image, from the release in `output`.
pub fn make(image: &str, release: &Release, target: &Target, output: &Path) -> Result<PathBuf> {
    let package = output.join(deb::name(release, target));
    if !package.is_file() {
        return Err(format!("{} is missing; run `cargo xtask dist` first.", package.display()).into());
    }
    let directory = root().join("target/dist-images");
    fs::create_dir_all(&directory)?;
    let files = directory.join(format!("{image}-files"));
    let layout = directory.join(image);
    for old in [&files, &layout] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    println!("making the image {image}");
    make_files(image, release, &package, &files)?;
    make_layout(image, release, &files, &layout)?;
    fs::remove_dir_all(&files)?;
    Ok(layout)
}

/// The packages of an image, with those that all of them have.
fn packages(image: &str) -> Result<Vec<String>> {
    let mut packages = Vec::new();
    for list in ["base", image] {
        let text = fs::read_to_string(root().join(format!("packaging/images/{list}.packages")))?;
        packages.extend(text.lines().map(str::to_owned));
    }
    packages.sort();
    packages.dedup();
    Ok(packages)
}

fn make_files(image: &str, release: &Release, package: &Path, files: &Path) -> Result {
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
    mmdebstrap.args(["--quiet", "--variant=apt", "--include", &packages(image)?.join(",")]);
    mmdebstrap.arg(format!("--customize-hook={install}")).arg(format!("--customize-hook={user}"));
    mmdebstrap.env("SOURCE_DATE_EPOCH", release.seconds.to_string());
    run(mmdebstrap.arg(SUITE).arg(files))
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{IMAGES, find, packages};
    use crate::workspace::root;

    #[test]
    fn every_image_has_the_sandbox_and_its_language() {
        for (image, program) in
            [("base", "git"), ("node", "npm"), ("go", "golang"), ("rust", "cargo"), ("full", "php-cli")]
        {
            let packages = packages(image).unwrap();
            for wanted in ["bubblewrap", "git", program] {
                assert!(packages.iter().any(|package| package == wanted), "{image}: {packages:?}");
            }
        }
        let full = packages("full").unwrap();
        for image in IMAGES {
            let missing: Vec<_> =
                packages(image).unwrap().into_iter().filter(|name| !full.contains(name)).collect();
            assert!(missing.is_empty(), "full lacks {missing:?} of {image}");
        }
        assert!(
            find("java").unwrap_err().to_string().contains("`java` is not an image. Choose from: base, node")
        );
    }

    #[test]
    fn the_dockerfile_is_about_the_same_images() {
        let file = fs::read_to_string(root().join("packaging/images/Dockerfile")).unwrap();
        let listed = format!("{} or {}", IMAGES[..7].join(", "), IMAGES[7]);
        assert!(file.contains(&format!("IMAGE is {listed}.")), "{listed}");
    }
}
