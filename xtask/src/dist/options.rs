//! What was typed after `cargo xtask dist`.

use std::path::PathBuf;

use super::images::{IMAGES, ImageSpec};
use super::target::{self, Target};
use crate::result::Result;
use crate::workspace::root;

/// The directory for a release that names none; `target` is ignored by git.
const OUTPUT: &str = "target/dist";

#[derive(Debug, PartialEq, Eq)]
pub enum DistTask {
    Make,
    /// Make it two times, from nothing, and compare.
    MakeTwice,
    /// Try what an earlier call has made.
    Check(CheckedImages),
    /// Make container images from what an earlier call has made.
    Images(Vec<ImageSpec>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckedImages {
    /// Only `base`: each takes minutes.
    Base,
    All,
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
        let (mut checks, mut all_images, mut twice) = (false, false, false);
        let (mut image, mut agents) = (None, None);
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| format!("`{word}` needs a value; see `cargo xtask help`."));
            match word {
                "--check" => checks = true,
                "--images" => all_images = true,
                "--twice" => twice = true,
                "--image" => image = Some(ImageSpec::find(value()?)?),
                "--agents" => agents = Some(value()?),
                "--target" => options.targets.push(target::find(value()?)?),
                "--output" => options.output = PathBuf::from(value()?),
                "--sign" => options.signing_key = Some(PathBuf::from(value()?)),
                _ => return Err(format!("Unknown option `{word}`; see `cargo xtask help`.").into()),
            }
        }
        options.task = match (checks, all_images, twice, image, agents) {
            (false, false, false, None, None) => DistTask::Make,
            (false, false, true, None, None) => DistTask::MakeTwice,
            (true, false, false, None, None) => DistTask::Check(CheckedImages::Base),
            (true, true, false, None, None) => DistTask::Check(CheckedImages::All),
            (false, true, false, None, None) => {
                let all: Result<Vec<_>> = IMAGES.iter().map(|image| ImageSpec::find(image)).collect();
                DistTask::Images(all?)
            }
            (false, false, false, Some(image), None) => DistTask::Images(vec![image]),
            (false, false, false, Some(image), Some(agents)) => {
                DistTask::Images(vec![image.with_agents(agents)?])
            }
            _ => return Err("These options do not go together; see `cargo xtask help`.".into()),
        };
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
    use super::{CheckedImages, DistOptions, DistTask};

    #[test]
    fn both_linux_targets_are_made_unless_others_are_named() {
        let triples = |words: &[&str]| -> Vec<&str> {
            DistOptions::parse(words).unwrap().targets.iter().map(|target| target.triple).collect()
        };
        assert_eq!(triples(&[]), ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]);
        assert_eq!(triples(&["--target", "aarch64-apple-darwin"]), ["aarch64-apple-darwin"]);
    }

    #[test]
    fn images_are_made_one_by_one_or_all_together() {
        let task = |words: &[&str]| DistOptions::parse(words).unwrap().task;
        let DistTask::Images(all) = task(&["--images"]) else { panic!("images") };
        assert_eq!(all.len(), 8);
        let DistTask::Images(one) = task(&["--image", "node", "--agents", "gemini"]) else {
            panic!("an image")
        };
        assert_eq!(one[0].tag(), "node-gemini");
        assert_eq!(task(&["--check"]), DistTask::Check(CheckedImages::Base));
        assert_eq!(task(&["--check", "--images"]), DistTask::Check(CheckedImages::All));
        assert_eq!(task(&["--twice"]), DistTask::MakeTwice);
    }

    #[test]
    fn wrong_options_are_named() {
        for (words, part) in [
            (&["--target"][..], "`--target` needs a value"),
            (&["--target", "mips-unknown-linux"], "`mips-unknown-linux` is not a target of releases"),
            (&["--agents", "claude"], "do not go together"),
            (&["--check", "--twice"], "do not go together"),
            (&["--image", "go", "--agents", "claude"], "The image go has no npm"),
            (&["--targets"], "Unknown option `--targets`"),
            (&["--sign", "/nowhere/key"], "There is no key /nowhere/key"),
        ] {
            let error = DistOptions::parse(words).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
