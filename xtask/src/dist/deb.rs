//! The package for Debian and Ubuntu: an `ar` archive of three members, the last two of them archives themselves.

use std::fs;

use super::archive::{gzip, tar};
use super::file_tree::FileTree;
use super::release::Release;
use super::target::{Processor, Target};
use crate::result::Result;
use crate::workspace::root;

const FORMAT: &str = "2.0\n";

/// The places of Debian that are not those of /usr/local.
const PLACES: [(&str, &str); 1] = [("share/zsh/site-functions/", "share/zsh/vendor-completions/")];

pub fn name(release: &Release, target: &Target) -> String {
    format!("autonoe_{}_{}.deb", release.version, architecture(target))
}

pub fn package(release: &Release, target: &Target, installed: &FileTree) -> Result<Vec<u8>> {
    let data = data(installed)?;
    let mut control = FileTree::default();
    control.add("control", control_file(release, target, data.size()));
    for script in ["postinst", "prerm"] {
        control.add_program(script, fs::read(root().join("packaging/deb").join(script))?);
    }
    let control = gzip(&tar(&control, "", release.seconds)?)?;
    let data = gzip(&tar(&data, "", release.seconds)?)?;
    let members: [(&str, &[u8]); 3] =
        [("debian-binary", FORMAT.as_bytes()), ("control.tar.gz", &control), ("data.tar.gz", &data)];
    Ok(ar(&members, release.seconds))
}

fn architecture(target: &Target) -> &'static str {
    match target.processor {
        Processor::X86_64 => "amd64",
        Processor::Aarch64 => "arm64",
    }
}

fn data(installed: &FileTree) -> Result<FileTree> {
    let mut data = FileTree::default();
    for (path, file) in installed.files() {
        let moved = PLACES.iter().find_map(|(from, to)| Some(format!("{to}{}", path.strip_prefix(from)?)));
        let path = moved.unwrap_or_else(|| path.to_owned());
        match (file.is_program, path.starts_with("share/man/")) {
            (true, _) => data.add_program(format!("usr/{path}"), file.content.clone()),
            (false, true) => data.add(format!("usr/{path}.gz"), gzip(&file.content)?),
            (false, false) => data.add(format!("usr/{path}"), file.content.clone()),
        }
    }
    data.add("usr/share/doc/autonoe/copyright", COPYRIGHT);
    let profile = fs::read(root().join("packaging/deb/apparmor-profile"))?;
    data.add("usr/share/autonoe/apparmor-profile", profile);
    Ok(data)
}

const COPYRIGHT: &str = "\
autonoe is under MIT or Apache-2.0, at your choice: LICENSE-MIT and LICENSE-APACHE in this directory.
The licences of everything else in the binary are in THIRD-PARTY-LICENCES.txt.
";

fn control_file(release: &Release, target: &Target, bytes: usize) -> String {
    format!(
        "Package: autonoe\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: The Autonoe developers <releases@autonoe.invalid>\n\
         Installed-Size: {kilobytes}\n\
         Depends: bubblewrap, git\n\
         Recommends: ca-certificates\n\
         Section: devel\n\
         Priority: optional\n\
         Homepage: {homepage}\n\
         Description: turns a written specification into software that has been checked\n \
         Autonoe drives coding agents, one session after another, in a sandbox that the\n \
         kernel enforces, until commands that you wrote say that the work is done.\n",
        version = release.version,
        architecture = architecture(target),
        kilobytes = bytes.div_ceil(1024),
        homepage = release.repository,
    )
}

/// The format of `ar`: a header of 60 characters before each member, which begins at an even place.
fn ar(members: &[(&str, &[u8])], seconds: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let header = format!("{name:<16}{seconds:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 100_644, content.len());
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(content);
        if !content.len().is_multiple_of(2) {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::super::file_tree::example as example_tree;
    use super::super::release::example;
    use super::super::target::TARGETS;
    use super::{name, package};

    #[test]
    fn the_same_files_make_the_same_package() {
        let make = || package(&example(), &TARGETS[0], &example_tree()).unwrap();
        assert_eq!(make(), make());
        assert_eq!(name(&example(), &TARGETS[1]), "autonoe_1.2.3_arm64.deb");
    }

    #[test]
    fn dpkg_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("autonoe.deb");
        fs::write(&file, package(&example(), &TARGETS[0], &example_tree()).unwrap()).unwrap();
        let dpkg = |arguments: &[&str]| {
            let output = Command::new("dpkg-deb").args(arguments).arg(&file).output().ok()?;
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).unwrap())
        };
        // On systems without dpkg there is nothing to try.
        let Some(fields) = dpkg(&["--field"]) else { return };
        for field in ["Package: autonoe", "Version: 1.2.3", "Architecture: amd64", "Depends: bubblewrap, git"]
        {
            assert!(fields.contains(field), "{fields}");
        }
        let listed = dpkg(&["--contents"]).unwrap();
        for file in
            ["usr/bin/autonoe", "usr/share/man/man1/autonoe.1.gz", "usr/share/autonoe/apparmor-profile"]
        {
            assert!(listed.contains(file), "{listed}");
        }
        assert!(listed.lines().all(|line| line.contains("root/root")), "{listed}");
    }
}
