//! Recognizes a SPEC.md that is still the template of `autonoe init`, so that nobody pays for building its examples.

use autonoe_core::fault::{Fault, FaultLayer};

use crate::spec_draft::parts;

/// The templates of older versions, one after another.
const OLDER: &str = include_str!("spec_template/older.md");

/// Fails if the specification does not describe anything yet.
pub fn refuse_template(spec: &str) -> Result<(), Fault> {
    if !is_template(spec) {
        return Ok(());
    }
    let message = "SPEC.md is still the template of `autonoe init` and does not say what to build.";
    Err(Fault::permanent(FaultLayer::Config, "spec_template", message)
        .hint("Replace its examples with what you want built."))
}

/// Whether nothing in it was written by a person, except for the title. Spaces, line breaks and removed parts do not matter. A title alone
/// is the user's own.
pub fn is_template(spec: &str) -> bool {
    let known = lines_of_templates();
    let written: Vec<&str> = spec.lines().filter(|line| !is_generated(line, spec)).flat_map(words).collect();
    let mut rest = written.as_slice();
    while !rest.is_empty() {
        let longest = known.iter().filter(|line| rest.starts_with(line)).map(Vec::len).max();
        match longest {
            Some(length) => rest = &rest[length..],
            None => return false,
        }
    }
    !written.is_empty()
}

/// The title, what was found in the project, and the checks that run its own tests.
fn is_generated(line: &str, spec: &str) -> bool {
    let line = line.trim();
    let is_fact = |line: &str| parts::FACTS.iter().any(|begin| line.starts_with(begin));
    let names = |tests: &str, command: &str| is_fact(tests) && tests.contains(&format!("`{command}`"));
    if let Some(command) = line.strip_prefix("$ ") {
        return spec.lines().any(|tests| names(tests.trim(), command));
    }
    let is_check = line.starts_with("```check name=") && line.contains("-tests time=10m");
    line.starts_with("# ") || is_fact(line) || is_check
}

/// Each line as its words: an editor may have broken the lines elsewhere.
fn lines_of_templates() -> Vec<Vec<&'static str>> {
    let parts = [
        parts::NEW,
        parts::CHANGE,
        parts::FEATURES,
        parts::CHECKS,
        parts::TESTS,
        parts::OFFLINE_TESTS,
        parts::IMPLEMENTATION,
        parts::CHOICES,
        parts::SCOPE,
        OLDER,
    ];
    let lines = parts.iter().flat_map(|part| part.lines());
    lines.map(words).filter(|words| !words.is_empty()).collect()
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::{OLDER, is_template, refuse_template};
    use crate::spec_draft::{CheckNetwork, from_sentence, template};
    use crate::survey::ProjectSurvey;

    fn rust() -> ProjectSurvey {
        let directory = tempfile::tempdir().expect("directory");
        std::fs::write(directory.path().join("Cargo.toml"), "[package]\nname = \"x\"\n").expect("written");
        std::fs::write(directory.path().join(".gitlab-ci.yml"), "").expect("written");
        ProjectSurvey::of(directory.path())
    }

    #[test]
    fn every_template_is_recognized_whatever_its_spaces() {
        let older = OLDER.split("# My project").filter(|text| !text.is_empty());
        let mut templates: Vec<String> = older.map(|text| format!("# My project{text}")).collect();
        assert_eq!(templates.len(), 3);
        templates.push(template("My project", &rust(), CheckNetwork::Denied));
        for template in &templates {
            assert!(is_template(template), "{template}");
            assert!(is_template(&template.replace('\n', "\r\n")), "{template}");
            assert!(is_template(&template.replace("\n\n", "\n\n\n  ")), "{template}");
            assert!(is_template(&template.replace("# My project", "# Todo")), "only the title is new");
        }
        let (_, text) = OLDER.split_once('\n').expect("lines");
        let one_paragraph = text.replace("# My project", "").replace('\n', " ");
        assert!(is_template(&one_paragraph), "reformatted: {one_paragraph}");
        assert!(is_template("# My project\n\n## Out of scope\n"), "parts were removed");
    }

    #[test]
    fn a_described_project_is_not_a_template() {
        let template = template("My project", &rust(), CheckNetwork::Denied);
        for spec in [
            "# Todo\n\nA list of things to do.\n",
            &template.replace("exits with 0.", "exits with 0.\n- `greet --all` greets everyone."),
            &template.replace("what should be added or changed, and for whom.", "a todo list."),
            &format!("{template}\nUse Go.\n"),
            &template.replace("$ ./greet World", "$ ./hello World"),
            &template.replace("$ cargo test\n", "$ cargo test --all-features\n"),
            &from_sentence("add login", &rust(), CheckNetwork::Denied),
        ] {
            assert_ne!(*spec, template);
            assert!(!is_template(spec), "{spec}");
            assert!(refuse_template(spec).is_ok());
        }
    }
}
