//! Recognizes a SPEC.md that is still the template of `autonoe init`, so that nobody pays for building its examples.

use autonoe_core::fault::{Fault, FaultLayer};

/// What `autonoe init` writes.
pub const TEMPLATE: &str = include_str!("commands/init/SPEC.md");

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

/// Whether nothing in it was written by a person, except for the title. Spaces, line breaks and removed parts do not matter.
pub fn is_template(spec: &str) -> bool {
    let known = lines_of_templates();
    let written: Vec<&str> = spec.lines().filter(|line| !is_title(line)).flat_map(words).collect();
    let mut rest = written.as_slice();
    while !rest.is_empty() {
        let longest = known.iter().filter(|line| rest.starts_with(line)).map(Vec::len).max();
        match longest {
            Some(length) => rest = &rest[length..],
            None => return false,
        }
    }
    true
}

fn is_title(line: &str) -> bool {
    line.trim_start().starts_with("# ")
}

/// Each line as its words: an editor may have broken the lines elsewhere.
fn lines_of_templates() -> Vec<Vec<&'static str>> {
    let lines = TEMPLATE.lines().chain(OLDER.lines());
    lines.map(words).filter(|words| !words.is_empty()).collect()
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::{OLDER, TEMPLATE, is_template, refuse_template};

    #[test]
    fn every_template_is_recognized_whatever_its_spaces() {
        let older = OLDER.split("# My project").filter(|text| !text.is_empty());
        let templates: Vec<String> = older.map(|text| format!("# My project{text}")).collect();
        assert_eq!(templates.len(), 2);
        for template in templates.iter().map(String::as_str).chain([TEMPLATE]) {
            assert!(is_template(template), "{template}");
            assert!(is_template(&template.replace('\n', "\r\n")), "{template}");
            assert!(is_template(&template.replace("\n\n", "\n\n\n  ")), "{template}");
            assert!(is_template(&template.replace("# My project", "# Todo")), "only the title is new");
            let one_paragraph = template.split_once('\n').expect("lines").1.replace('\n', " ");
            assert!(is_template(&one_paragraph), "reformatted: {one_paragraph}");
        }
        assert!(is_template("# My project\n\n## Out of scope\n"), "parts were removed");
    }

    #[test]
    fn a_described_project_is_not_a_template() {
        for spec in [
            "# Todo\n\nA list of things to do.\n",
            &TEMPLATE.replace("exits with 0.", "exits with 0.\n- `greet --all` greets everyone."),
            &TEMPLATE.replace("what this software is and who uses it.", "a todo list."),
            &format!("{TEMPLATE}\nUse Go.\n"),
            &TEMPLATE.replace("$ ./greet World", "$ ./hello World"),
        ] {
            assert!(!is_template(spec), "{spec}");
            assert!(refuse_template(spec).is_ok());
        }
    }
}
