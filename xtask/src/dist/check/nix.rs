//! The flake, with the archive of this directory in place of the one that will be published: Nix evaluates it, builds it without network and
//! starts what it has built.

use std::fs;
use std::path::Path;

use super::super::flake;
use super::super::release::Release;
use super::super::target::Target;
use super::fresh_root::FreshRoot;
use super::trial::{ExpectedBuild, Trial};
use crate::result::Result;

/// Nix's own sandbox and its users for builds need a daemon.
const NIX: &str = "nix --extra-experimental-features 'nix-command flakes' --offline --option sandbox false \
                   --option build-users-group ''";

const FLAKE: &str = "--no-write-lock-file path:/flake";

pub fn try_flake(root: &FreshRoot, release: &Release, target: &Target, files: &Path) -> Result<Trial> {
    let archive = target.archive(release, "tar.gz");
    let text = fs::read_to_string(files.join(flake::FILE))?;
    if !text.contains(&release.url(&archive)) {
        return Err(format!("the flake does not name {archive}").into());
    }
    fs::create_dir_all(root.path().join("flake"))?;
    fs::write(root.path().join("flake").join(flake::FILE), text.replace(&release.url(""), "file:///"))?;
    fs::copy(files.join(&archive), root.path().join(&archive))?;
    root.as_root(&format!("{NIX} eval {FLAKE}#packages.x86_64-linux.default.drvPath"))?;
    let said = root.as_root(&format!("{NIX} run {FLAKE} -- --version --verbose"))?;
    ExpectedBuild { release, target }.find_in(&said)?;
    Ok(Trial::Passed("`nix eval`, and `nix run` of --version, without network".to_owned()))
}
