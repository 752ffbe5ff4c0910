//! Scripts for the model, as text. Conversations have one play each, so sessions take them in order.

use std::time::Duration;

use serde_json::Value;

use super::place::id;

/// A session that passes each of the deliverables, one after the other: one call, then a word.
pub fn passing(deliverables: usize) -> String {
    (1..=deliverables).map(|number| conversation(&[turn(&[passed(number)]), word()])).collect()
}

/// The beginning of any session, and then nothing more.
pub fn silent() -> String {
    conversation(&["  fault = { kind = \"silence\" }\n  text = \"Too late.\"\n".to_owned()])
}

/// A conversation of the given turns.
pub fn conversation(turns: &[String]) -> String {
    conversations(turns).replacen('\n', "\nplays = 1\n", 1)
}

/// Any number of conversations of the given turns.
pub fn conversations(turns: &[String]) -> String {
    let turns: String = turns.iter().map(|turn| format!("  [[conversation.turn]]\n{turn}")).collect();
    format!("[[conversation]]\n{turns}")
}

/// A turn that calls tools.
pub fn turn(calls: &[String]) -> String {
    format!("  text = \"I go on.\"\n  call = [{}]\n", calls.join(", "))
}

/// A turn that calls tools once `seen` is among the latest results.
pub fn turn_after(seen: &str, calls: &[String]) -> String {
    format!("  expect = {}\n{}", text(seen), turn(calls))
}

/// The last turn of a session.
pub fn word() -> String {
    "  text = \"Done.\"\n".to_owned()
}

/// A last turn that comes in pieces with a pause before each.
pub fn slowly(pause: Duration, said: &str) -> String {
    let millis = pause.as_millis();
    format!("  fault = {{ kind = \"slow\", millis = {millis} }}\n  text = {}\n", text(said))
}

/// The call that passes a deliverable.
pub fn passed(number: usize) -> String {
    call("mcp__autonoe__set_status", &[("deliverableId", &id(number)), ("status", "passed")])
}

/// A call of a tool whose arguments are all texts.
pub fn call(tool: &str, arguments: &[(&str, &str)]) -> String {
    let arguments: Vec<String> =
        arguments.iter().map(|(name, value)| format!("{name} = {}", text(value))).collect();
    format!("{{ tool = \"{tool}\", input = {{ {} }} }}", arguments.join(", "))
}

/// A text in TOML, where JSON's strings are valid.
fn text(value: &str) -> String {
    Value::from(value).to_string()
}
