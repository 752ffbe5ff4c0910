//! The Homebrew formula of a release: `packaging/homebrew/autonoe.rb` with the archives of its targets and their checksums.

use std::fs;

use super::output::ReleaseFile;
use super::release::Release;
use super::target::{Processor, System, Target};
use crate::result::Result;
use crate::workspace::root;

pub const FILE: &str = "autonoe.rb";

pub fn text(release: &Release, targets: &[&Target], files: &[ReleaseFile]) -> Result<String> {
    let template = fs::read_to_string(root().join("packaging/homebrew").join(FILE))?;
    let sources: Result<Vec<String>> = targets.iter().map(|target| source(release, target, files)).collect();
    Ok(template
        .replace("@REPOSITORY@", &release.repository)
        .replace("@VERSION@", &release.version)
        .replace("@SOURCES@", &sources?.join("\n")))
}

fn source(release: &Release, target: &Target, files: &[ReleaseFile]) -> Result<String> {
    let system = match target.system {
        System::Linux => "on_linux",
        System::MacOs => "on_macos",
    };
    let processor = match target.processor {
        Processor::X86_64 => "on_intel",
        Processor::Aarch64 => "on_arm",
    };
    let name = target.archive(release, "tar.gz");
    let file = files.iter().find(|file| file.name == name).ok_or_else(|| format!("{name} was not made."))?;
    let url = release.url(&name);
    Ok(format!(
        "  {system} do\n    {processor} do\n      url \"{url}\"\n      sha256 \"{}\"\n    end\n  end",
        file.sha256
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::super::release::example;
    use super::super::target::TARGETS;
    use super::{FILE, ReleaseFile, text};

    /// Where ruby is installed.
    fn assert_is_ruby(formula: &str) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        fs::write(&file, formula).unwrap();
        if let Ok(output) = Command::new("ruby").args(["-c", "-W"]).arg(&file).output() {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    #[test]
    fn each_target_has_its_archive_and_checksum() {
        let file = |triple: &str, sha256: &str| ReleaseFile {
            name: format!("autonoe-1.2.3-{triple}.tar.gz"),
            sha256: sha256.to_owned(),
        };
        let files = [file(TARGETS[0].triple, "aaa"), file(TARGETS[1].triple, "bbb")];
        let formula = text(&example(), &[&TARGETS[0], &TARGETS[1]], &files).unwrap();
        assert!(!formula.contains('@'), "{formula}");
        let arm = formula.split("on_arm do").nth(1).unwrap();
        let url = "https://example.com/autonoe/releases/download/v1.2.3/autonoe-1.2.3-aarch64-unknown-linux-musl.tar.gz";
        assert!(arm.contains(url) && arm.contains("sha256 \"bbb\""), "{formula}");
        assert_is_ruby(&formula);
        let error = text(&example(), &[&TARGETS[2]], &files).unwrap_err().to_string();
        assert!(error.contains("was not made"), "{error}");
    }
}
