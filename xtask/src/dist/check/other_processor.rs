//! A binary for a processor that this machine does not have, started by qemu.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::super::archive;
use super::super::needed::{NeededProgram, QEMU_AARCH64, QEMU_X86_64};
use super::super::release::Release;
use super::super::target::{Processor, Target};
use super::trial::{ExpectedBuild, Trial, printed, run};
use crate::result::Result;

pub fn try_with_qemu(release: &Release, target: &Target, files: &Path) -> Result<Trial> {
    let qemu = emulator(target);
    let (Some(qemu), None) = (qemu.find(), qemu.obstacle()) else {
        return Ok(Trial::LeftOut(emulator(target).obstacle().unwrap_or_default()));
    };
    let unpacked = tempfile::tempdir()?;
    archive::unpack_gzip(&fs::read(files.join(target.archive(release, "tar.gz")))?, unpacked.path())?;
    let program = unpacked.path().join(target.directory(release)).join("bin/autonoe");
    let autonoe = |arguments: &[&str]| {
        let mut command = Command::new(&qemu);
        command.arg(&program).args(arguments).env_clear().env("PATH", "/usr/bin:/bin");
        command.env("HOME", unpacked.path()).current_dir(unpacked.path());
        command
    };
    ExpectedBuild { release, target }.find_in(&run(&mut autonoe(&["--version", "--verbose"]))?)?;
    // Without an agent and a specification it ends with an error, after it has said what it has found.
    let found = printed(&autonoe(&["doctor"]).output()?);
    match found.contains("git: ") && found.contains("shell: ") {
        true => Ok(Trial::Passed("--version and doctor, by qemu".to_owned())),
        false => Err(format!("doctor says nothing about this machine:\n{found}").into()),
    }
}

fn emulator(target: &Target) -> &'static NeededProgram {
    match target.processor {
        Processor::Aarch64 => &QEMU_AARCH64,
        Processor::X86_64 => &QEMU_X86_64,
    }
}
