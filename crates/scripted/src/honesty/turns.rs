//! What the agents do, as turns of a script.

use serde_json::Value;

/// A session for any instruction, of the given turns; the last of them must say something.
pub fn session(turns: &[String]) -> String {
    format!("[[conversation]]\n{}", turns.concat())
}

/// The session that makes the deliverables.
pub fn planning(turns: &[String]) -> String {
    format!("[[conversation]]\nwhen = \"lay the foundation\"\n{}", turns.concat())
}

/// The session that builds them.
pub fn building(turns: &[String]) -> String {
    format!("[[conversation]]\nwhen = \"one deliverable\"\n{}", turns.concat())
}

/// A turn that calls tools.
pub fn turn(calls: &[String]) -> String {
    after(&[], calls)
}

/// A turn that calls tools, when all of `words` were among the latest results.
pub fn after(words: &[&str], calls: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| text(word)).collect();
    format!("[[conversation.turn]]\nexpect = [{}]\ncall = [{}]\n", words.join(", "), calls.join(", "))
}

/// The last turn, when all of `words` were among the latest results.
pub fn end(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| text(word)).collect();
    format!("[[conversation.turn]]\nexpect = [{}]\ntext = \"That is all.\"\n", words.join(", "))
}

/// Writes a file.
pub fn write(path: &str, content: &str) -> String {
    format!("{{ tool = \"Write\", input = {{ file_path = {}, content = {} }} }}", text(path), text(content))
}

/// Runs a command.
pub fn bash(command: &str) -> String {
    format!("{{ tool = \"Bash\", input = {{ command = {} }} }}", text(command))
}

/// Writes a shell script and runs it with what `bash` may do; it says `tricked` if all of it went well.
pub fn trick(script: &str) -> [String; 2] {
    [write("trick.sh", &format!("set -e\n{script}\necho tricked\n")), bash("bash trick.sh 2>&1")]
}

/// Commits some files.
pub fn commit(files: &str) -> String {
    bash(&format!("git add {files} && git commit -qm work"))
}

/// Says that the deliverable has passed.
pub fn pass() -> String {
    "{ tool = \"mcp__autonoe__set_status\", input = { deliverableId = \"A\", status = \"passed\" } }"
        .to_owned()
}

/// Makes a deliverable with checks, which are written as inline tables.
pub fn create(id: &str, checks: &str) -> String {
    format!(
        "{{ tool = \"mcp__autonoe__create\", input = {{ deliverables = [{{ id = {}, description = \"adding\", \
         acceptanceCriteria = [\"it adds\"], checks = [{checks}] }}] }} }}",
        text(id)
    )
}

/// A text in TOML, where JSON's strings are valid.
fn text(value: &str) -> String {
    Value::from(value).to_string()
}
