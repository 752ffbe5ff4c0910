//! Runs `--version` of a vendor's program, in a minimal environment with an empty home directory.

use std::io;
use std::path::Path;
use std::time::Duration;

use autonoe_agents::Version;
use autonoe_core::fault::Fault;

use crate::environment::Environment;
use crate::helper::{Helper, HelperError, LITTLE_OUTPUT};
use crate::scratch::ScratchDir;

const LIMIT: Duration = Duration::from_secs(15);

/// Why the version is unknown.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error(transparent)]
    Home(#[from] io::Error),
    #[error(transparent)]
    OwnExecutable(#[from] Fault),
    #[error(transparent)]
    Helper(#[from] HelperError),
    #[error("it does not print a version")]
    NoVersion,
}

pub async fn version(program: &Path, environment: &Environment) -> Result<Version, ProbeError> {
    let home = ScratchDir::new()?;
    let directory = home.path().as_os_str();
    let own_executable = environment.own_executable()?;
    let helper = Helper {
        purpose: "its version".to_owned(),
        program: program.into(),
        args: vec!["--version".into()],
        environment: [("PATH", environment.path.as_os_str()), ("HOME", directory), ("TMPDIR", directory)]
            .map(|(name, value)| (name.into(), value.to_owned()))
            .into(),
        directory: home.path().to_owned(),
        time_limit: LIMIT,
        output_limits: LITTLE_OUTPUT,
        own_executable: &own_executable,
    };
    let result = helper.run().await?;
    parse(&result.output).ok_or(ProbeError::NoVersion)
}

/// The first version in the text.
fn parse(text: &str) -> Option<Version> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
        let mut numbers = word.split('.').map(|number| number.parse().ok());
        Some([numbers.next()??, numbers.next()??, numbers.next()??])
    })
}

pub fn format_version([major, minor, patch]: Version) -> String {
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn versions_are_found_in_output() {
        for (text, version) in [
            ("2.1.325 (Claude Code)\n", Some([2, 1, 325])),
            ("codex-cli 0.166.0", Some([0, 166, 0])),
            ("v0.61.0-preview.2", Some([0, 61, 0])),
            ("1.2", None),
            ("", None),
            ("command not found", None),
        ] {
            assert_eq!(parse(text), version, "{text:?}");
        }
    }
}
