//! The container images, each made without a daemon and entered as its own user.

use std::path::Path;

use super::super::images::{self, ENTRY_POINT, IMAGES, ImageSpec};
use super::super::options::CheckedImages;
use super::super::release::Release;
use super::super::target::Target;
use super::fresh_root::FreshRoot;
use super::main_job;
use super::trial::{self, ExpectedBuild, Trial};
use crate::result::Result;

/// All agents in one image: they differ only by a package of npm.
const WITH_AGENTS: (&str, &str) = ("node", "claude,codex,gemini");

pub fn specs(checked: CheckedImages) -> Result<Vec<ImageSpec>> {
    match checked {
        CheckedImages::Base => Ok(vec![ImageSpec::find("base")?]),
        CheckedImages::All => {
            let (image, agents) = WITH_AGENTS;
            let with_agents = ImageSpec::find(image)?.with_agents(agents);
            IMAGES.iter().map(|image| ImageSpec::find(image)).chain([with_agents]).collect()
        }
    }
}

pub fn try_image(spec: &ImageSpec, release: &Release, target: &Target, files: &Path) -> Result<Trial> {
    if let Some(why) = images::obstacle(spec) {
        return Ok(Trial::LeftOut(why));
    }
    let layout = images::make(spec, release, target, files)?;
    let root = FreshRoot::of_image(&layout, &spec.tag())?;
    let mut seen = Vec::new();
    for tool in spec.tools() {
        let said = root.as_user(&tool)?;
        seen.push(said.lines().next().unwrap_or(&tool).to_owned());
    }
    let commands = trial::commands(&root, ENTRY_POINT, ExpectedBuild { release, target })?;
    let all = Trial::Passed(seen.join(", ")).and(commands);
    match spec.tag().as_str() {
        "base" => Ok(all.and(main_job::try_in(&root, ENTRY_POINT)?).and(try_read_only(&root)?)),
        _ => Ok(all),
    }
}

/// With a home to write to it works; without one it says so.
fn try_read_only(root: &FreshRoot) -> Result<Trial> {
    let demo = format!("{ENTRY_POINT} demo");
    let (is_done, said) = root.try_read_only(&["/tmp", root.home()], &demo)?;
    if !is_done {
        return Err(format!("the demo fails in a read-only image with a home:\n{said}").into());
    }
    trial::expect_demo(&said)?;
    let (is_done, said) = root.try_read_only(&[], &demo)?;
    match trial::refusal(&said) {
        Some(sentence) if !is_done => {
            Ok(Trial::Passed(format!("read-only: demo with a home, and without one `{sentence}`")))
        }
        _ => Err(format!("a read-only image without a home is not refused with a sentence:\n{said}").into()),
    }
}
