//! Reads a corpus, judges every case in both modes, and reports all differences at once.

use autonoe_policy::{CommandPolicy, Mode, PolicyLevel, PolicyOptions, Profile};
use serde::Deserialize;

use crate::fixture::TestProject;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corpus {
    group: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    #[serde(default)]
    run: ExpectedVerdict,
    #[serde(default)]
    sync: ExpectedVerdict,
    #[serde(default)]
    destructive: bool,
    #[serde(default)]
    profiles: Vec<ProfileName>,
    #[serde(default)]
    allow_commands: Vec<String>,
    #[serde(default)]
    pkill_targets: Vec<String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Case {
    Plain(String),
    Full { id: Option<String>, command: String, run: Option<ExpectedVerdict>, sync: Option<ExpectedVerdict> },
}

#[derive(Deserialize, Clone, Copy, Default, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
enum ExpectedVerdict {
    Allow,
    Deny,
    #[default]
    Any,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum ProfileName {
    Node,
    Python,
    Go,
    Rust,
    Php,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Node => Self::Node,
            ProfileName::Python => Self::Python,
            ProfileName::Go => Self::Go,
            ProfileName::Rust => Self::Rust,
            ProfileName::Php => Self::Php,
        }
    }
}

impl Case {
    fn command(&self) -> &str {
        match self {
            Self::Plain(command) | Self::Full { command, .. } => command,
        }
    }
}

impl Group {
    fn policy(&self, project: &TestProject, mode: Mode) -> CommandPolicy {
        CommandPolicy::new(PolicyOptions {
            allow_destructive: self.destructive,
            allow_commands: self.allow_commands.clone(),
            pkill_targets: self.pkill_targets.clone(),
            ..project.options(mode, self.profiles.iter().copied().map(Profile::from).collect())
        })
    }

    /// The case's name in reports, and the expected verdicts in run and in sync.
    fn expectation<'a>(&'a self, case: &'a Case) -> (&'a str, ExpectedVerdict, ExpectedVerdict) {
        match case {
            Case::Plain(_) => (&self.name, self.run, self.sync),
            Case::Full { id, run, sync, .. } => {
                (id.as_deref().unwrap_or(&self.name), run.unwrap_or(self.run), sync.unwrap_or(self.sync))
            }
        }
    }
}

/// Every command of the hostile and everyday corpora, as seeds for mutation.
pub fn commands() -> Vec<String> {
    [include_str!("../corpus/hostile.toml"), include_str!("../corpus/everyday.toml")]
        .into_iter()
        .flat_map(|text| toml::from_str::<Corpus>(text).unwrap().group)
        .flat_map(|group| group.cases)
        .map(|case| case.command().to_owned())
        .collect()
}

/// Judges every case of a corpus and reports failures as a Markdown table. `at_least` guards against lost cases.
pub fn check(file: &str, text: &str, at_least: usize) {
    let corpus: Corpus = toml::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let project = TestProject::new();
    let mut cases = 0;
    let mut failures = Vec::new();
    for group in &corpus.group {
        let (run, sync) = (group.policy(&project, Mode::Run), group.policy(&project, Mode::Sync));
        for case in &group.cases {
            cases += 1;
            let (name, in_run, in_sync) = group.expectation(case);
            for (mode, policy, expected) in [("run", &run, in_run), ("sync", &sync, in_sync)] {
                if let Some(failure) = judge(policy, &project.substitute(case.command()), expected) {
                    failures.push(format!("| `{:?}` | {mode} | {failure} | {name} |", case.command()));
                }
            }
        }
    }
    assert!(cases >= at_least, "{file}: only {cases} cases");
    assert!(
        failures.is_empty(),
        "{file}: {} of {cases} cases in two modes fail\n| command | mode | expected | got | rule: reason | group |\n{}\n",
        failures.len(),
        failures.join("\n"),
    );
}

/// Asserts that the strict level denies every command that the contained level denies.
pub fn check_levels<'a>(commands: impl Iterator<Item = &'a str>) {
    let project = TestProject::new();
    let policy = |level, mode| {
        let options = project.options(mode, Vec::new());
        CommandPolicy::new(PolicyOptions { level, allow_destructive: true, ..options })
    };
    let contained = policy(PolicyLevel::Contained, Mode::Run);
    let strict = [Mode::Run, Mode::Sync].map(|mode| policy(PolicyLevel::Strict, mode));
    let denied: Vec<String> = commands
        .map(|command| project.substitute(command))
        .filter(|command| !contained.check(command).is_allowed())
        .collect();
    assert!(denied.len() >= 50, "only {} commands are denied", denied.len());
    for command in &denied {
        assert!(strict.iter().all(|strict| !strict.check(command).is_allowed()), "allowed: {command}");
    }
}

fn judge(policy: &CommandPolicy, command: &str, expected: ExpectedVerdict) -> Option<String> {
    let verdict = policy.check(command);
    let got = if verdict.is_allowed() { ExpectedVerdict::Allow } else { ExpectedVerdict::Deny };
    let explained = !verdict.rule.is_empty() && (got == ExpectedVerdict::Allow || !verdict.reason.is_empty());
    let correct = expected == ExpectedVerdict::Any || expected == got;
    (!correct || !explained).then(|| {
        let wanted = if correct { "a rule and a reason".to_owned() } else { format!("{expected:?}") };
        format!("{wanted} | {got:?} | {}: {}", verdict.rule, verdict.reason.replace('\n', "\\n"))
    })
}
