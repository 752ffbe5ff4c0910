//! The Python package, a wheel: for `pip install autonoe`, `uvx autonoe` and `pipx run autonoe`. It has the binary and no Python code.

use std::fs;
use std::io::{Cursor, Write};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::file_tree::FileTree;
use super::release::Release;
use super::target::{Processor, System, Target};
use crate::result::Result;
use crate::workspace::root;

pub fn name(release: &Release, target: &Target) -> String {
    format!("autonoe-{}-py3-none-{}.whl", release.version, platform_tag(target))
}

/// A static binary runs with every C library, so it claims the oldest of each kind that pip knows.
fn platform_tag(target: &Target) -> &'static str {
    match (target.system, target.processor) {
        (System::Linux, Processor::X86_64) => {
            "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"
        }
        (System::Linux, Processor::Aarch64) => {
            "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"
        }
        (System::MacOs, Processor::X86_64) => "macosx_10_12_x86_64",
        (System::MacOs, Processor::Aarch64) => "macosx_11_0_arm64",
    }
}

pub fn package(release: &Release, target: &Target, program: Vec<u8>, licences: &str) -> Result<Vec<u8>> {
    let name = format!("autonoe-{}", release.version);
    let mut tree = FileTree::default();
    tree.add_program(format!("{name}.data/scripts/autonoe"), program);
    let about = format!("{name}.dist-info");
    tree.add(format!("{about}/METADATA"), metadata(release)?);
    tree.add(format!("{about}/WHEEL"), wheel_file(target));
    for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
        tree.add(format!("{about}/licenses/{file}"), fs::read(root().join(file))?);
    }
    tree.add(format!("{about}/licenses/THIRD-PARTY-LICENCES.txt"), licences);
    let record = format!("{about}/RECORD");
    tree.add(record.clone(), record_of(&tree, &record));
    zip(&tree, release.seconds)
}

fn metadata(release: &Release) -> Result<String> {
    let readme = fs::read_to_string(root().join("README.md"))?;
    Ok(format!(
        "Metadata-Version: 2.4\n\
         Name: autonoe\n\
         Version: {}\n\
         Summary: Turns a written specification into software that has been checked\n\
         Project-URL: Repository, {}\n\
         License-Expression: MIT OR Apache-2.0\n\
         License-File: LICENSE-MIT\n\
         License-File: LICENSE-APACHE\n\
         License-File: THIRD-PARTY-LICENCES.txt\n\
         Requires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{readme}",
        release.version, release.repository
    ))
}

fn wheel_file(target: &Target) -> String {
    let tags =
        platform_tag(target).split('.').map(|tag| format!("Tag: py3-none-{tag}\n")).collect::<String>();
    format!("Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\n{tags}")
}

/// Each file with its checksum and size; the record itself has neither.
fn record_of(tree: &FileTree, record: &str) -> String {
    let line = |(path, file): (&str, &super::file_tree::PackedFile)| {
        let sum = url_safe_base64(&Sha256::digest(&file.content));
        format!("{path},sha256={sum},{}\n", file.content.len())
    };
    tree.files().map(line).collect::<String>() + record + ",,\n"
}

/// Without padding, as wheels have it.
fn url_safe_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let value =
            chunk.iter().fold(0_u32, |value, byte| value << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let index = value >> (18 - 6 * place) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

fn zip(tree: &FileTree, seconds: u64) -> Result<Vec<u8>> {
    let time = Timestamp::from_second(i64::try_from(seconds)?)?.to_zoned(jiff::tz::TimeZone::UTC).datetime();
    let time = DateTime::try_from(time).map_err(|_| "The time of the commit is before 1980.")?;
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, file) in tree.files() {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(time)
            .unix_permissions(file.mode());
        archive.start_file(path, options)?;
        archive.write_all(&file.content)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::super::release::example;
    use super::super::target::TARGETS;
    use super::{name, package, url_safe_base64};

    const PROGRAM: &str = "#!/bin/sh\necho \"autonoe $*\"\n";

    #[test]
    fn the_same_files_make_the_same_wheel() {
        let make = || package(&example(), &TARGETS[0], PROGRAM.into(), "licences").unwrap();
        assert_eq!(make(), make());
    }

    #[test]
    fn checksums_are_written_as_wheels_have_them() {
        for (bytes, text) in
            [(&b""[..], ""), (b"f", "Zg"), (b"fo", "Zm8"), (b"foo", "Zm9v"), (b"\xff\xef", "_-8")]
        {
            assert_eq!(url_safe_base64(bytes), text);
        }
    }

    #[test]
    fn pip_installs_it() {
        let here = TARGETS.iter().find(|target| target.runs_here()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(name(&example(), here));
        fs::write(&file, package(&example(), here, PROGRAM.into(), "licences").unwrap()).unwrap();
        let to = directory.path().join("installed");
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-index",
            "--no-deps",
            "--disable-pip-version-check",
        ]);
        pip.arg("--target").arg(&to).arg(&file).env("HOME", directory.path());
        // On systems without pip there is nothing to try.
        if !Command::new("python3")
            .args(["-m", "pip", "--version"])
            .output()
            .is_ok_and(|pip| pip.status.success())
        {
            return;
        }
        let output = pip.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let output = Command::new(to.join("bin/autonoe")).arg("demo").output().unwrap();
        assert_eq!(output.stdout, b"autonoe demo\n");
    }
}
