//! Builds the turns of the scripts.

use serde_json::Value;

/// A session for any instruction. The last turn must have a text.
pub fn session(turns: &[String]) -> String {
    format!("[[conversation]]\n{}", turns.concat())
}

/// The session that creates the deliverables.
pub fn planning(turns: &[String]) -> String {
    format!("[[conversation]]\nwhen = \"lay the foundation\"\n{}", turns.concat())
}

/// The session that builds them.
pub fn building(turns: &[String]) -> String {
    format!("[[conversation]]\nwhen = \"one deliverable\"\n{}", turns.concat())
}

pub fn turn(calls: &[String]) -> String {
    after(&[], calls)
}

/// A turn that calls tools and expects all of `words` in the latest results.
pub fn after(words: &[&str], calls: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| text(word)).collect();
    format!("[[conversation.turn]]\nexpect = [{}]\ncall = [{}]\n", words.join(", "), calls.join(", "))
}

/// The last turn, which expects all of `words` in the latest results.
pub fn end(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| text(word)).collect();
    format!("[[conversation.turn]]\nexpect = [{}]\ntext = \"That is all.\"\n", words.join(", "))
}

pub fn write(path: &str, content: &str) -> String {
    format!("{{ tool = \"Write\", input = {{ file_path = {}, content = {} }} }}", text(path), text(content))
}

pub fn bash(command: &str) -> String {
    format!("{{ tool = \"Bash\", input = {{ command = {} }} }}", text(command))
}

/// Writes a shell script and runs it with `bash`; it prints `tricked` if every command succeeded.
pub fn trick(script: &str) -> [String; 2] {
    [write("trick.sh", &format!("set -e\n{script}\necho tricked\n")), bash("bash trick.sh 2>&1")]
}

pub fn commit(files: &str) -> String {
    bash(&format!("git add {files} && git commit -qm work"))
}

/// Claims that the deliverable has passed.
pub fn pass() -> String {
    "{ tool = \"mcp__autonoe__set_status\", input = { deliverableId = \"A\", status = \"passed\" } }"
        .to_owned()
}

/// Creates a deliverable; `checks` are TOML inline tables.
pub fn create(id: &str, checks: &str) -> String {
    format!(
        "{{ tool = \"mcp__autonoe__create\", input = {{ deliverables = [{{ id = {}, description = \"adding\", \
         acceptanceCriteria = [\"it adds\"], checks = [{checks}] }}] }} }}",
        text(id)
    )
}

/// A TOML string; JSON strings are valid in TOML.
fn text(value: &str) -> String {
    Value::from(value).to_string()
}
