//! What agents, repositories and models write never acts on a terminal: every field that they can fill is fed, and everything that is
//! printed is searched.

use super::support::{CliTestProject, model};

/// Sets the title of a terminal, moves its cursor in two ways, and turns the direction of text around.
const HOSTILE: &str = "a\\u001b]0;owned\\u0007b\\u009b2Jc\\u202ed\\u2066e\\u0008f\\u000dg";

fn acts(c: char) -> bool {
    c != '\n' && c != '\t' && c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn nothing_printed_acts_on_the_terminal() {
    let project = CliTestProject::empty().in_repository();
    project.write("SPEC.md", "# Spec\n\nBuild it.\n");
    let create = format!(
        r#"{{ tool = "mcp__autonoe__create", input = {{ deliverables = [{{ id = "A{HOSTILE}", description = "{HOSTILE}",
             acceptanceCriteria = ["{HOSTILE}"], checks = [{{ name = "{HOSTILE}", run = "printf '{HOSTILE}'; test -f done", criteria = [1] }}] }}] }} }}"#
    );
    let pass = format!(
        r#"{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "A{HOSTILE}", status = "passed" }} }}"#
    );
    let names = r#"{ tool = "Bash", input = { command = "printf 'x' > $'f\\e]0;owned\\a' && printf '\\e[2Jred' && echo x > done && git add -A && git commit -qm $'m\\e]0;owned\\a' && git push" } }"#;
    let note = format!(
        r#"{{ tool = "Write", input = {{ file_path = ".autonoe-note.md", content = "{HOSTILE}" }} }}"#
    );
    let script = format!(
        "[[conversation]]\nwhen = \"lay the foundation\"\n[[conversation.turn]]\ntext = \"{HOSTILE}\"\ncall = [{create}]\n\
         [[conversation.turn]]\ntext = \"{HOSTILE}\"\n\n\
         [[conversation]]\nwhen = \"one deliverable\"\n[[conversation.turn]]\ntext = \"{HOSTILE}\"\ncall = [{pass}]\n[[conversation.turn]]\ncall = [{names}]\n\
         [[conversation.turn]]\ncall = [{note}]\n[[conversation.turn]]\ncall = [{pass}]\n[[conversation.turn]]\ntext = \"{HOSTILE}\"\n"
    );
    let model = model(&script);
    let mut printed = Vec::new();
    for arguments in [
        &["run", "--backend", "native", "--max-iterations", "3", "--verbose"][..],
        &["run", "--backend", "native", "--max-iterations", "1", "--json"],
        &["status"],
        &["status", "--json"],
        &["checks"],
        &["checks", "--json"],
        &["verify"],
        &["sessions", "list"],
        &["sessions", "show", "1"],
        &["sessions", "show", "2"],
        &["sessions", "show", "2", "--json"],
        &["sessions", "replay", "2"],
        &["report"],
        &["diff"],
        &["land"],
        &["doctor"],
    ] {
        let output = project.autonoe(Some(&model)).args(arguments).output().expect("started");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("UTF-8");
        let found: Vec<String> =
            text.chars().filter(|c| acts(*c)).map(|c| format!("U+{:04X}", u32::from(c))).collect();
        assert_eq!(found, Vec::<String>::new(), "{arguments:?} printed: {text:?}");
        printed.push(text);
    }
    let all = printed.concat();
    for shown in ["[U+001B]", "[U+009B]", "[U+202E]"] {
        assert!(all.contains(shown), "nothing hostile came as far as the screen: no {shown}");
    }
}
