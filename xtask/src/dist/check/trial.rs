//! What an installed autonoe must do: say its version, look at the machine, and play the demo.

use std::process::{Command, Output, Stdio};

use super::super::release::Release;
use super::super::target::Target;
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

/// What the demo must end with: its checks ran, and what cannot be built was not called done.
const DEMO_ENDS_WITH: [&str; 3] = ["2 verified", "1 blocked", "Review it: autonoe report"];

/// What `autonoe --version --verbose` must say of itself.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedBuild<'a> {
    pub release: &'a Release,
    pub target: &'a Target,
}

impl ExpectedBuild<'_> {
    pub fn find_in(&self, text: &str) -> Result {
        let wanted = [
            format!("autonoe {}", self.release.version),
            format!("commit: {}", self.release.shown_commit()),
            format!("target: {}", self.target.triple),
        ];
        match wanted.iter().find(|wanted| !text.lines().any(|line| line == *wanted)) {
            None => Ok(()),
            Some(wanted) => Err(format!("expected the line `{wanted}`, got:\n{text}").into()),
        }
    }
}

pub fn commands(root: &FreshRoot, autonoe: &str, expected: ExpectedBuild) -> Result<Trial> {
    expected.find_in(&root.as_user(&format!("{autonoe} --version --verbose"))?)?;
    let found = root.as_user(&format!("{IN_PROJECT} {KEY} {autonoe} doctor"))?;
    let layer = sandbox_line(&found).ok_or_else(|| format!("doctor does not name a sandbox:\n{found}"))?;
    // It fails unless the demo ends with the exit code of a run that has built everything achievable.
    expect_demo(&root.as_user(&format!("{autonoe} demo"))?)?;
    Ok(Trial::Passed(format!("--version, doctor ({layer}) and demo (2 verified, 1 blocked)")))
}

pub fn expect_demo(printed: &str) -> Result {
    match DEMO_ENDS_WITH.iter().find(|part| !printed.contains(**part)) {
        None => Ok(()),
        Some(part) => Err(format!("the demo ended without `{part}`:\n{printed}").into()),
    }
}

/// Without git there is no demo, but everything must be said in a sentence.
pub fn commands_without_git(root: &FreshRoot, expected: ExpectedBuild) -> Result<Trial> {
    expected.find_in(&root.as_user("autonoe --version --verbose")?)?;
    let (_, found) = root.try_as_user(&format!("{IN_PROJECT} {KEY} autonoe doctor"))?;
    for part in ["git is not on the PATH", "there is no /etc/resolv.conf"] {
        if !found.contains(part) {
            return Err(format!("doctor does not say `{part}`:\n{found}").into());
        }
    }
    let (_, demo) = root.try_as_user("autonoe demo")?;
    let end = refusal(&demo).ok_or_else(|| format!("the demo ended without a sentence:\n{demo}"))?;
    Ok(Trial::Passed(format!("--version and doctor; demo: {end}")))
}

/// The sentence with which autonoe refuses to work.
pub fn refusal(printed: &str) -> Option<&str> {
    printed.lines().find(|line| line.starts_with("error: "))
}

fn sandbox_line(doctor: &str) -> Option<&str> {
    let line = doctor.lines().find(|line| line.starts_with("ok") && line.contains("sandbox"))?;
    Some(line.trim_start_matches("ok").trim())
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

#[cfg(test)]
mod tests {
    use super::super::super::release::example;
    use super::super::super::target::TARGETS;
    use super::{ExpectedBuild, expect_demo};

    #[test]
    fn another_commit_or_target_is_not_this_build() {
        let release = example();
        let expected = ExpectedBuild { release: &release, target: &TARGETS[0] };
        let said =
            "autonoe 1.2.3\ncommit: 0123456789ab\ndate: 2026-09-21\ntarget: x86_64-unknown-linux-musl\n";
        expected.find_in(said).unwrap();
        for (from, to) in
            [("0123456789ab", "unknown, built from source"), ("musl", "gnu"), ("1.2.3", "1.2.30")]
        {
            assert!(expected.find_in(&said.replace(from, to)).is_err(), "{to}");
        }
    }

    #[test]
    fn a_demo_counts_only_with_its_result() {
        let end = "2 passed: 2 verified, 0 claimed.\n(1 blocked)\nReview it: autonoe report --open\n";
        expect_demo(end).unwrap();
        assert!(expect_demo(&end.replace("2 verified", "0 verified")).is_err());
        assert!(expect_demo("[CHECK] counts of CLI-001: it passed\n").is_err());
    }
}
