//! Writes a first SPEC.md: a template to edit, or one made from a sentence, with what is known about the project.

use std::fmt::Write;

use autonoe_store::UserConfig;

use crate::survey::{FoundLanguage, ProjectSurvey, TestSuite};

/// What the template says; [`crate::spec_template`] recognizes every line of it.
pub mod parts {
    pub const NEW: &str = "One or two sentences: what this software is and who uses it.\n";
    pub const CHANGE: &str = "One or two sentences: what should be added or changed, and for whom.\n";

    pub const FEATURES: &str = "\
## Features

Describe behaviour that can be checked by using the software. For example:

- `greet NAME` prints `Hello, NAME!` and exits with 0.
- Without a name it prints `usage: greet NAME` on standard error and exits with 2.
";

    pub const CHECKS: &str = "\
## Checks

Commands that run on a clean checkout and decide whether a deliverable is verified; without checks it is only claimed. Put them into
`check` blocks (this one is quoted inside another block, so it is only an example):

````markdown
```check
$ ./greet World
Hello, World!
$ ./greet
usage: greet NAME
? 2
```
````
";

    pub const TESTS: &str = "The tests of the project, which must pass:\n";

    pub const OFFLINE_TESTS: &str = "\
The tests of the project install packages, and checks have no network unless you allow it. To make a check of them, set `network = true`
under `[checks]` in your config.toml, and remove the outer fence:
";

    pub const IMPLEMENTATION: &str = "## Implementation\n";
    pub const CHOICES: &str = "The language, the framework, how to test it, what it must not depend on.\n";

    pub const SCOPE: &str = "## Out of scope\n\nWhat should not be built, even if it seems useful.\n";

    /// How the lines begin that say what was found.
    pub const FACTS: [&str; 3] = ["- Language: ", "- Tests: ", "- CI: "];
}

/// Whether the user allows checks to use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckNetwork {
    Allowed,
    Denied,
}

impl CheckNetwork {
    pub fn of(user: &UserConfig) -> Self {
        if user.checks.network { Self::Allowed } else { Self::Denied }
    }
}

/// What `autonoe init` writes.
pub fn template(name: &str, survey: &ProjectSurvey, network: CheckNetwork) -> String {
    let about = if survey.has_files { parts::CHANGE } else { parts::NEW };
    let sections = [
        format!("# {name}\n"),
        about.to_owned(),
        parts::FEATURES.to_owned(),
        parts::CHECKS.to_owned(),
        tests(survey, network),
        implementation(survey, parts::CHOICES),
        parts::SCOPE.to_owned(),
    ];
    joined(&sections)
}

/// A specification that asks for what one sentence says.
pub fn from_sentence(sentence: &str, survey: &ProjectSurvey, network: CheckNetwork) -> String {
    let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    let tests = match live_tests(survey, network) {
        tests if tests.is_empty() => String::new(),
        tests => format!("## Checks\n\n{tests}"),
    };
    joined(&[format!("# {}\n", title(&sentence)), format!("{sentence}\n"), tests, implementation(survey, "")])
}

/// Characters of a sentence that make a title.
const MAX_TITLE: usize = 60;

/// The beginning of a sentence, without a mark at its end.
fn title(sentence: &str) -> String {
    let mut title = String::new();
    for word in sentence.split(' ') {
        if !title.is_empty() && title.chars().count() + 1 + word.chars().count() > MAX_TITLE {
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.extend(word.chars().take(MAX_TITLE));
    }
    let title = title.trim_end_matches(['.', ',', ':', ';', '!']);
    let mut letters = title.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

/// With an empty line between those that are not empty.
fn joined(sections: &[String]) -> String {
    let sections: Vec<&str> = sections.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    sections.join("\n")
}

fn tests(survey: &ProjectSurvey, network: CheckNetwork) -> String {
    let quoted: String = suites(survey)
        .filter(|(_, suite)| !is_live(suite, network))
        .map(|(language, suite)| format!("````markdown\n{}````\n", block(language, suite)))
        .collect();
    let quoted = if quoted.is_empty() { quoted } else { format!("{}\n{quoted}", parts::OFFLINE_TESTS) };
    joined(&[live_tests(survey, network), quoted])
}

/// The tests that can run as checks; empty if there are none.
fn live_tests(survey: &ProjectSurvey, network: CheckNetwork) -> String {
    let live = suites(survey).filter(|(_, suite)| is_live(suite, network));
    let blocks: Vec<String> = live.map(|(language, suite)| block(language, suite)).collect();
    if blocks.is_empty() { String::new() } else { format!("{}\n{}", parts::TESTS, blocks.join("\n")) }
}

fn suites(survey: &ProjectSurvey) -> impl Iterator<Item = (&FoundLanguage, &TestSuite)> {
    survey.languages.iter().filter_map(|language| Some((language, language.tests.as_ref()?)))
}

/// A check that needs a network which is not allowed would never pass, and the run never end well.
pub fn is_live(suite: &TestSuite, network: CheckNetwork) -> bool {
    !suite.needs_network || network == CheckNetwork::Allowed
}

fn block(language: &FoundLanguage, suite: &TestSuite) -> String {
    let letters = language.name.to_lowercase().replace("c++", "cpp");
    let network = if suite.needs_network { " network" } else { "" };
    format!("```check name={letters}-tests time=10m{network}\n$ {}\n```\n", suite.command)
}

/// Empty if nothing is known and there is nothing to say.
fn implementation(survey: &ProjectSurvey, otherwise: &str) -> String {
    let [language_fact, tests_fact, ci_fact] = parts::FACTS;
    let mut facts = String::new();
    // Writing to a String cannot fail.
    for language in &survey.languages {
        let _ =
            writeln!(facts, "{language_fact}{}, with {} (`{}`)", language.name, language.tool, language.file);
        if let Some(tests) = &language.tests {
            let _ = writeln!(facts, "{tests_fact}`{}`", tests.command);
        }
    }
    for (name, file) in &survey.ci {
        let _ = writeln!(facts, "{ci_fact}{name} (`{file}`)");
    }
    match (facts.is_empty(), otherwise.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!("{}\n{otherwise}", parts::IMPLEMENTATION),
        (false, _) => format!("{}\n{facts}", parts::IMPLEMENTATION),
    }
}

#[cfg(test)]
mod tests;
