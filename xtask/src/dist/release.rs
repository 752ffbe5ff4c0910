//! Which release this is: its version from the manifest, its commit and time from git.

use std::env;
use std::fmt;
use std::fs;
use std::process::Command;

use jiff::Timestamp;

use crate::result::Result;
use crate::workspace::root;

/// The time that packagers agree to write into everything; <https://reproducible-builds.org/specs/source-date-epoch/>.
const TIME_VARIABLE: &str = "SOURCE_DATE_EPOCH";

#[derive(Debug, Clone)]
pub struct Release {
    pub version: String,
    /// The full hash.
    pub commit: String,
    /// Whether files differ from the commit; such a release can be tried, but nobody can make it again.
    pub is_modified: bool,
    /// The time of the commit, since 1970.
    pub seconds: u64,
    /// Where releases are published.
    pub repository: String,
}

impl Release {
    pub fn of_last_commit() -> Result<Self> {
        let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
        let field = |name: &str| -> Result<String> {
            let value = manifest.get("workspace").and_then(|table| table.get("package")?.get(name)?.as_str());
            Ok(value.ok_or_else(|| format!("Cargo.toml has no workspace.package.{name}."))?.to_owned())
        };
        let seconds = match env::var(TIME_VARIABLE) {
            Ok(seconds) => seconds,
            Err(_) => git(&["log", "-1", "--format=%ct"])?,
        };
        let seconds = seconds.parse().map_err(|_| format!("{TIME_VARIABLE} is not a number: {seconds}."))?;
        Ok(Self {
            version: field("version")?,
            commit: git(&["rev-parse", "HEAD"])?,
            is_modified: !git(&["status", "--porcelain"])?.is_empty(),
            seconds,
            repository: field("repository")?,
        })
    }

    /// Whether the commit has the tag of its version, such as v0.1.0: then it is published.
    pub fn is_tagged(&self) -> Result<bool> {
        let tag = format!("v{}", self.version);
        Ok(git(&["tag", "--points-at", "HEAD"])?.lines().any(|line| line == tag))
    }

    /// The commit as the binary shows it.
    pub fn shown_commit(&self) -> String {
        let short = self.commit.get(..12).unwrap_or(&self.commit);
        if self.is_modified { format!("{short} with changes") } else { short.to_owned() }
    }

    /// Where one of its files is published.
    pub fn url(&self, name: &str) -> String {
        format!("{}/releases/download/v{}/{name}", self.repository, self.version)
    }

    /// The day of the commit, in UTC, such as 2026-11-16.
    pub fn date(&self) -> Result<String> {
        let timestamp = Timestamp::from_second(i64::try_from(self.seconds)?)?;
        Ok(timestamp.strftime("%Y-%m-%d").to_string())
    }
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "autonoe {} ({})", self.version, self.shown_commit())
    }
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`git {}` failed: {}", arguments.join(" "), stderr.trim_end()).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

#[cfg(test)]
pub fn example() -> Release {
    Release {
        version: "1.2.3".to_owned(),
        commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        is_modified: false,
        seconds: 1_790_000_000,
        repository: "https://example.com/autonoe".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Release, example};

    #[test]
    fn the_manifest_and_git_say_which_release_this_is() {
        let release = Release::of_last_commit().unwrap();
        assert_eq!(release.version, env!("CARGO_PKG_VERSION"));
        assert_eq!(release.commit.len(), 40, "{}", release.commit);
        assert!(release.repository.starts_with("https://"), "{}", release.repository);
    }

    #[test]
    fn changed_files_are_not_hidden() {
        let release = Release { is_modified: true, ..example() };
        assert_eq!(release.to_string(), "autonoe 1.2.3 (0123456789ab with changes)");
        assert_eq!(release.date().unwrap(), "2026-09-21");
    }
}
