//! Asks a vendor's program for its version: in an empty environment and a home of its own, with nothing of the user's.

use std::path::Path;
use std::time::Duration;

use crate::environment::Environment;
use crate::helper::Helper;
use crate::scratch::Scratch;

/// How long a program may take to tell its version.
const LIMIT: Duration = Duration::from_secs(15);

/// A version, as three numbers.
pub type Version = [u32; 3];

/// What `program --version` says, or why that is not known.
pub async fn version(program: &Path, environment: &Environment) -> Result<Version, String> {
    let home = Scratch::new().map_err(|error| error.to_string())?;
    let place = home.path().as_os_str();
    let ourselves = environment.ourselves().map_err(|fault| fault.message)?;
    let helper = Helper {
        purpose: "its version".to_owned(),
        program: program.into(),
        args: vec!["--version".into()],
        environment: [("PATH", environment.path.as_os_str()), ("HOME", place), ("TMPDIR", place)]
            .map(|(name, value)| (name.into(), value.to_owned()))
            .into(),
        directory: home.path().to_owned(),
        limit: LIMIT,
        ourselves: &ourselves,
    };
    let said = helper.ask().await?;
    read(&said.output).ok_or_else(|| "it does not tell its version".to_owned())
}

/// The first version in a text.
fn read(text: &str) -> Option<Version> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
        let mut numbers = word.split('.').map(|number| number.parse().ok());
        Some([numbers.next()??, numbers.next()??, numbers.next()??])
    })
}

/// As people write it.
pub fn show([major, minor, patch]: Version) -> String {
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            ("2.1.325 (Claude Code)\n", Some([2, 1, 325])),
            ("codex-cli 0.166.0", Some([0, 166, 0])),
            ("v0.61.0-preview.2", Some([0, 61, 0])),
            ("1.2", None),
            ("", None),
            ("command not found", None),
        ] {
            assert_eq!(read(said), version, "{said:?}");
        }
    }
}
