//! What was typed after `cargo xtask dist`.

use std::path::PathBuf;

use super::images;
use super::target::{self, Target};
use crate::result::Result;
use crate::workspace::root;

/// The directory for a release that names none; `target` is ignored by git.
const OUTPUT: &str = "target/dist";

#[derive(Debug, PartialEq, Eq)]
pub enum DistTask {
    Make,
    /// Try what an earlier call has made.
    Check,
    /// Make a container image from what an earlier call has made.
    Image(&'static str),
}

#[derive(Debug)]
pub struct DistOptions {
    pub task: DistTask,
    pub targets: Vec<&'static Target>,
    pub output: PathBuf,
    /// The private key; `None` leaves the sums unsigned.
    pub signing_key: Option<PathBuf>,
}

impl DistOptions {
    pub fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            task: DistTask::Make,
            targets: Vec::new(),
            output: root().join(OUTPUT),
            signing_key: None,
        };
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| format!("`{word}` needs a value; see `cargo xtask help`."));
            match word {
                "--check" => options.task = DistTask::Check,
                "--image" => options.task = DistTask::Image(images::find(value()?)?),
                "--target" => options.targets.push(target::find(value()?)?),
                "--output" => options.output = PathBuf::from(value()?),
                "--sign" => options.signing_key = Some(PathBuf::from(value()?)),
                _ => return Err(format!("Unknown option `{word}`; see `cargo xtask help`.").into()),
            }
        }
        if options.targets.is_empty() {
            options.targets = target::released_from_linux();
        }
        if let Some(key) = options.signing_key.as_ref().filter(|key| !key.is_file()) {
            return Err(format!("There is no key {}; see `cargo xtask help`.", key.display()).into());
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::DistOptions;

    #[test]
    fn both_linux_targets_are_made_unless_others_are_named() {
        let triples = |words: &[&str]| -> Vec<&str> {
            DistOptions::parse(words).unwrap().targets.iter().map(|target| target.triple).collect()
        };
        assert_eq!(triples(&[]), ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]);
        assert_eq!(triples(&["--target", "aarch64-apple-darwin"]), ["aarch64-apple-darwin"]);
    }

    #[test]
    fn wrong_options_are_named() {
        for (words, part) in [
            (&["--target"][..], "`--target` needs a value"),
            (&["--target", "mips-unknown-linux"], "`mips-unknown-linux` is not a target of releases"),
            (&["--targets"], "Unknown option `--targets`"),
            (&["--sign", "/nowhere/key"], "There is no key /nowhere/key"),
        ] {
            let error = DistOptions::parse(words).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
