//! Which images there are, and what is in each.

use std::fs;

use crate::result::Result;
use crate::workspace::root;

pub const IMAGES: [&str; 8] = ["base", "node", "python", "go", "rust", "ruby", "php", "full"];

/// One line for each agent that images can have: its program, and its npm package in a fixed version.
const AGENTS_FILE: &str = "packaging/images/agents";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSpec {
    pub image: &'static str,
    pub agents: Vec<VendorAgent>,
}

/// An agent of another vendor, by its npm package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorAgent {
    /// Its program, which also names the tag of an image that has it.
    pub program: String,
    /// With its version, as npm reads it.
    pub package: String,
}

impl VendorAgent {
    /// The npm package, without its version.
    pub fn name(&self) -> &str {
        self.package.rsplit_once('@').map_or(&self.package, |(name, _)| name)
    }
}

impl ImageSpec {
    pub fn find(name: &str) -> Result<Self> {
        let known = || format!("`{name}` is not an image. Choose from: {}.", IMAGES.join(", "));
        let image = IMAGES.iter().copied().find(|image| *image == name).ok_or_else(known)?;
        Ok(Self { image, agents: Vec::new() })
    }

    /// `names` are separated by commas.
    pub fn with_agents(mut self, names: &str) -> Result<Self> {
        if !self.packages()?.iter().any(|package| package == "npm") {
            let image = self.image;
            return Err(format!(
                "The image {image} has no npm, by which agents are installed. Choose node or full."
            )
            .into());
        }
        let all = vendor_agents()?;
        for name in names.split(',') {
            let agent = all.iter().find(|agent| agent.program == name).ok_or_else(|| {
                let known: Vec<_> = all.iter().map(|agent| agent.program.as_str()).collect();
                format!("`{name}` is not an agent of images. Choose from: {}.", known.join(", "))
            })?;
            self.agents.push(agent.clone());
        }
        Ok(self)
    }

    /// The tag, such as node-claude.
    pub fn tag(&self) -> String {
        let agents = self.agents.iter().map(|agent| format!("-{}", agent.program));
        format!("{}{}", self.image, agents.collect::<String>())
    }

    /// Debian packages, with those that all images have.
    pub fn packages(&self) -> Result<Vec<String>> {
        let mut packages = Vec::new();
        for list in ["base", self.image] {
            let text = fs::read_to_string(root().join(format!("packaging/images/{list}.packages")))?;
            packages.extend(text.lines().map(str::to_owned));
        }
        packages.sort();
        packages.dedup();
        Ok(packages)
    }

    /// Commands that must work in the image.
    pub fn tools(&self) -> Vec<String> {
        let of = |image: &str| -> &[&str] {
            match image {
                "node" => &["node --version", "npm --version"],
                "python" => &["python3 --version", "pip --version", "pytest --version"],
                "go" => &["go version"],
                "rust" => &["cargo --version", "rustc --version"],
                "ruby" => &["ruby --version", "bundle --version"],
                "php" => &["php --version", "composer --version"],
                _ => &["git --version", "bwrap --version", "ssh -V"],
            }
        };
        let languages = &IMAGES[1..7];
        let images = match self.image {
            "full" => languages,
            _ => &[self.image][..],
        };
        let tools = std::iter::once(&"base").chain(images.iter().filter(|image| **image != "base"));
        let tools = tools.flat_map(|image| of(image)).map(|tool| (*tool).to_owned());
        tools.chain(self.agents.iter().map(|agent| format!("{} --version", agent.program))).collect()
    }
}

fn vendor_agents() -> Result<Vec<VendorAgent>> {
    let text = fs::read_to_string(root().join(AGENTS_FILE))?;
    let line = |line: &str| {
        let (program, package) = line.split_once(' ')?;
        Some(VendorAgent { program: program.to_owned(), package: package.to_owned() })
    };
    Ok(text.lines().filter_map(line).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::{IMAGES, ImageSpec, vendor_agents};
    use crate::workspace::root;

    fn packages(image: &str) -> Vec<String> {
        ImageSpec::find(image).unwrap().packages().unwrap()
    }

    #[test]
    fn every_image_has_the_sandbox_and_its_language() {
        for (image, program) in [
            ("base", "git"),
            ("node", "npm"),
            ("python", "python3"),
            ("go", "golang"),
            ("rust", "cargo"),
            ("ruby", "ruby"),
            ("php", "composer"),
            ("full", "php-cli"),
        ] {
            let packages = packages(image);
            for wanted in ["bubblewrap", "git", program] {
                assert!(packages.iter().any(|package| package == wanted), "{image}: {packages:?}");
            }
            assert!(packages.iter().all(|package| !package.is_empty()), "{image}: {packages:?}");
        }
        let full = packages("full");
        for image in IMAGES {
            let missing: Vec<_> = packages(image).into_iter().filter(|name| !full.contains(name)).collect();
            assert!(missing.is_empty(), "full lacks {missing:?} of {image}");
        }
        let refused = ImageSpec::find("java").unwrap_err().to_string();
        assert!(refused.contains("`java` is not an image. Choose from: base, node"), "{refused}");
    }

    #[test]
    fn each_image_is_tried_with_the_tools_of_its_language() {
        let tools = |image: &str| ImageSpec::find(image).unwrap().tools();
        assert_eq!(tools("base"), ["git --version", "bwrap --version", "ssh -V"]);
        assert_eq!(tools("go")[3..], ["go version"]);
        let full = tools("full");
        for image in IMAGES {
            assert!(tools(image).iter().all(|tool| full.contains(tool)), "{image}");
        }
    }

    #[test]
    fn agents_are_added_where_npm_is() {
        let node = ImageSpec::find("node").unwrap().with_agents("claude,codex").unwrap();
        assert_eq!(node.tag(), "node-claude-codex");
        assert_eq!(node.tools().last().unwrap(), "codex --version");
        let refuse = |image: &str, names: &str| {
            ImageSpec::find(image).unwrap().with_agents(names).unwrap_err().to_string()
        };
        assert_eq!(
            refuse("go", "claude"),
            "The image go has no npm, by which agents are installed. Choose node or full."
        );
        assert_eq!(
            refuse("full", "aider"),
            "`aider` is not an agent of images. Choose from: claude, codex, gemini."
        );
    }

    /// The versions that the tests of this repository drive.
    #[test]
    fn agents_have_the_versions_that_are_tested() {
        let lock = fs::read_to_string(root().join("xtask/npm/package-lock.json")).unwrap();
        let lock: Value = serde_json::from_str(&lock).unwrap();
        let agents = vendor_agents().unwrap();
        assert_eq!(agents.len(), 3);
        for agent in agents {
            let locked = &lock["packages"][format!("node_modules/{}", agent.name())]["version"];
            assert_eq!(agent.package, format!("{}@{}", agent.name(), locked.as_str().unwrap()));
        }
    }

    #[test]
    fn the_dockerfile_and_the_release_are_about_the_same_images() {
        let file = fs::read_to_string(root().join("packaging/images/Dockerfile")).unwrap();
        let listed = format!("{} or {}", IMAGES[..7].join(", "), IMAGES[7]);
        assert!(file.contains(&format!("IMAGE is {listed}.")), "{listed}");
        let release = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
        assert!(release.contains(&format!("for image in {}; do", IMAGES.join(" "))));
        assert!(release.contains("done <packaging/images/agents"), "the tags with agents");
    }
}
