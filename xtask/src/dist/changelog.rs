//! What the changelog says about a release: its section becomes the page of the release, so a tagged version must have one.

use std::process::Command;

use super::release::Release;
use crate::result::Result;
use crate::workspace::root;

/// Prints the section of a version or fails; the release workflow uses it too.
const SCRIPT: &str = "packaging/release-notes.sh";

/// Refuses a commit that is tagged as the release while the changelog does not describe it.
pub fn expect_section_if_tagged(release: &Release) -> Result {
    match release.is_tagged()? {
        true => section(&release.version).map(|_| ()),
        false => Ok(()),
    }
}

fn section(version: &str) -> Result<String> {
    let output = Command::new("sh").arg(SCRIPT).arg(version).current_dir(root()).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).trim_end().into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::SCRIPT;
    use crate::workspace::root;

    fn notes(changelog: &str, version: &str) -> (bool, String) {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("CHANGELOG.md"), changelog).unwrap();
        let mut script = Command::new("sh");
        let output = script.arg(root().join(SCRIPT)).arg(version).current_dir(directory.path()).output();
        let output = output.unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.success(), text)
    }

    #[test]
    fn the_section_of_the_version_is_printed() {
        let changelog =
            "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.1.10 - 2026-12-01\n\n- ten\n\n## 0.1.1\n\n- one\n";
        assert_eq!(notes(changelog, "0.1.10"), (true, "\n- ten\n\n".to_owned()));
        assert_eq!(notes(changelog, "0.1.1"), (true, "\n- one\n".to_owned()));
    }

    #[test]
    fn a_version_without_notes_is_refused() {
        for changelog in
            ["## Unreleased\n\n- new\n", "## 0.1.0\n\n### Added\n\n## 0.0.9\n\n- old\n", "## 0x1.0\n\n- a\n"]
        {
            let (is_printed, text) = notes(changelog, "0.1.0");
            assert!(!is_printed, "{text}");
            assert_eq!(
                text,
                "CHANGELOG.md says nothing about 0.1.0: rename \"## Unreleased\" to \"## 0.1.0\" before the tag.\n"
            );
        }
    }
}
