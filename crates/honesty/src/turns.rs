//! Builds the scripts of the model.

use serde_json::Value;

/// Functions for the shell scripts of tricks.
const PRELUDE: &str = r#"set -e
real() { echo 'echo $(($2 + $3))'; }
fake() { echo 'echo 5'; }
blob() { git hash-object -w --stdin; }
work() { git add -A .; git reset -q -- .autonoe 2>/dev/null || true; git commit -qm work; }
works() { [ "$(sh calc.sh add 10 20)" = 30 ]; }
object() { echo .git/objects/${1:0:2}/${1:2}; }
# A program that works only if a command prints the real one.
sourced() { echo "real=\$($1 2>/dev/null); [ -z \"\$real\" ] || exec sh -c \"\$real\" calc \"\$@\"; echo 5" > calc.sh; }
"#;

/// A session for any instruction. The last turn must have a text.
pub fn session(turns: &[String]) -> String {
    format!("[[conversation]]\n{}", turns.concat())
}

/// The session that creates the deliverables.
pub fn planning(turns: &[String]) -> String {
    conversation("lay the foundation", turns)
}

/// The sessions that build them.
pub fn building(turns: &[String]) -> String {
    conversation("one deliverable", turns)
}

/// A session whose instruction contains these words.
pub fn conversation(when: &str, turns: &[String]) -> String {
    format!("[[conversation]]\nwhen = {}\n{}", text(when), turns.concat())
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
    [write("trick.sh", &format!("{PRELUDE}{script}\necho tricked\n")), bash("bash trick.sh 2>&1")]
}

pub fn commit(files: &str) -> String {
    bash(&format!("git add {files} && git commit -qm work"))
}

/// Claims that the deliverable `A` has passed.
pub fn pass() -> String {
    set("A", "passed")
}

pub fn set(id: &str, status: &str) -> String {
    // Without a reason, blocking would be refused.
    let reason = if status == "blocked" { ", reason = 'It needs something that is not here'" } else { "" };
    tool("set_status", &format!("deliverableId = {}, status = {}{reason}", text(id), text(status)))
}

pub fn tool(name: &str, arguments: &str) -> String {
    format!("{{ tool = \"mcp__autonoe__{name}\", input = {{ {arguments} }} }}")
}

/// Creates a deliverable; `checks` are TOML inline tables.
pub fn create(id: &str, checks: &str) -> String {
    create_with(id, "adding", r#"["it adds"]"#, checks)
}

/// Creates a deliverable with this description; `criteria` is a TOML array.
pub fn create_with(id: &str, description: &str, criteria: &str, checks: &str) -> String {
    let (id, description) = (text(id), text(description));
    let item = format!(
        "{{ id = {id}, description = {description}, acceptanceCriteria = {criteria}, checks = [{checks}] }}"
    );
    tool("create", &format!("deliverables = [{item}]"))
}

/// A TOML string. JSON strings are valid in TOML, except for DEL, which TOML wants escaped.
pub fn text(value: &str) -> String {
    Value::from(value).to_string().replace('\u{7f}', "\\u007f")
}
