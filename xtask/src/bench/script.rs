//! Builds scripts for the model. A conversation usually has one play, so that sessions use them in order.

use std::time::Duration;

use serde_json::Value;

use super::project::id;

/// One session per deliverable, each with one call that passes it and a final text.
pub fn passing(deliverables: usize) -> String {
    (1..=deliverables).map(|number| conversation(&[turn(&[passed(number)]), done()])).collect()
}

/// A session that stalls after its response headers.
pub fn silent() -> String {
    conversation(&["  fault = { kind = \"silence\" }\n  text = \"Too late.\"\n".to_owned()])
}

/// A conversation that can be used once.
pub fn conversation(turns: &[String]) -> String {
    conversations(turns).replacen('\n', "\nplays = 1\n", 1)
}

/// A conversation that can be used any number of times.
pub fn conversations(turns: &[String]) -> String {
    let turns: String = turns.iter().map(|turn| format!("  [[conversation.turn]]\n{turn}")).collect();
    format!("[[conversation]]\n{turns}")
}

pub fn turn(calls: &[String]) -> String {
    format!("  text = \"Continuing.\"\n  call = [{}]\n", calls.join(", "))
}

/// A turn that calls tools and expects `expected` in the latest results.
pub fn turn_after(expected: &str, calls: &[String]) -> String {
    format!("  expect = {}\n{}", text(expected), turn(calls))
}

pub fn done() -> String {
    "  text = \"Done.\"\n".to_owned()
}

/// A last turn, streamed with a pause before each piece.
pub fn slowly(pause: Duration, answer: &str) -> String {
    let millis = pause.as_millis();
    format!("  fault = {{ kind = \"slow\", millis = {millis} }}\n  text = {}\n", text(answer))
}

pub fn passed(number: usize) -> String {
    call("mcp__autonoe__set_status", &[("deliverableId", &id(number)), ("status", "passed")])
}

pub fn call(tool: &str, arguments: &[(&str, &str)]) -> String {
    let arguments: Vec<String> =
        arguments.iter().map(|(name, value)| format!("{name} = {}", text(value))).collect();
    format!("{{ tool = \"{tool}\", input = {{ {} }} }}", arguments.join(", "))
}

/// A TOML string; JSON strings are valid in TOML.
fn text(value: &str) -> String {
    Value::from(value).to_string()
}
