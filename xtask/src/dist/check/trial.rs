//! What an installed autonoe must do: say its version, look at the machine, and play the demo.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::super::release::Release;
use super::fresh_root::FreshRoot;
use crate::result::Result;

#[derive(Debug)]
pub enum Trial {
    /// With what was seen.
    Passed(String),
    /// With the reason why it cannot be tried on this machine.
    LeftOut(String),
}

impl Trial {
    /// Both, as one. What was left out decides.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Passed(one), Self::Passed(other)) => Self::Passed(format!("{one}; {other}")),
            (Self::LeftOut(why), _) | (_, Self::LeftOut(why)) => Self::LeftOut(why),
        }
    }
}

/// A key that no service knows: doctor looks only whether there is one.
const KEY: &str = "ANTHROPIC_API_KEY=never-real";

/// A project with something to build, since doctor reports one without.
const IN_PROJECT: &str =
    "mkdir -p ~/project && cd ~/project && printf '# Sums\\n\\nAdd numbers.\\n' > SPEC.md &&";

pub fn commands(root: &FreshRoot, autonoe: &str, release: &Release) -> Result<Trial> {
    expect_version(&root.as_user(&format!("{autonoe} --version --verbose"))?, release)?;
    let found = root.as_user(&format!("{IN_PROJECT} {KEY} {autonoe} doctor"))?;
    let layer = sandbox_line(&found).ok_or_else(|| format!("doctor does not name a sandbox:\n{found}"))?;
    let demo = root.as_user(&format!("{autonoe} demo"))?;
    if !demo.contains("passed") {
        return Err(format!("the demo ended without a result:\n{demo}").into());
    }
    Ok(Trial::Passed(format!("--version, doctor ({layer}) and demo")))
}

/// Without git there is no demo, but everything must be said in a sentence.
pub fn commands_without_git(root: &FreshRoot, release: &Release) -> Result<Trial> {
    expect_version(&root.as_user("autonoe --version --verbose")?, release)?;
    let (_, found) = root.try_as_user(&format!("{IN_PROJECT} {KEY} autonoe doctor"))?;
    for part in ["git is not on the PATH", "there is no /etc/resolv.conf"] {
        if !found.contains(part) {
            return Err(format!("doctor does not say `{part}`:\n{found}").into());
        }
    }
    let (_, demo) = root.try_as_user("autonoe demo")?;
    let refused = demo.lines().find(|line| line.starts_with("error: "));
    let end = refused.ok_or_else(|| format!("the demo ended without a sentence:\n{demo}"))?;
    Ok(Trial::Passed(format!("--version and doctor; demo: {end}")))
}

fn sandbox_line(doctor: &str) -> Option<&str> {
    let line = doctor.lines().find(|line| line.starts_with("ok") && line.contains("sandbox"))?;
    Some(line.trim_start_matches("ok").trim())
}

/// A program that this machine has, with a home of its own.
pub fn on_this_machine(mut command: Command, home: &Path, release: &Release) -> Result<Trial> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", home).current_dir(home);
    match run(&mut command) {
        Ok(text) => expect_version(&text, release).map(|()| Trial::Passed("--version".to_owned())),
        Err(error) if is_missing(&*error) => {
            Ok(Trial::LeftOut(format!("{} is not installed", command.get_program().display())))
        }
        Err(error) => Err(error),
    }
}

fn expect_version(text: &str, release: &Release) -> Result {
    let wanted = format!("autonoe {}\n", release.version);
    if text.contains(&wanted) {
        Ok(())
    } else {
        Err(format!("expected `{}`, got: {text}", wanted.trim_end()).into())
    }
}

/// What the command printed; an error if it failed.
pub fn run(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    let text = printed(&output);
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{command:?} failed ({}):\n{text}", output.status).into()),
    }
}

pub fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn is_missing(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}
