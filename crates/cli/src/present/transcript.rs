//! A recorded session as people read it: what the agent said, each tool call with its result below it, denials, costs at the end.

use std::collections::HashMap;

use autonoe_core::event::{AgentEvent, Event, RunEvent};
use autonoe_core::gate::ToolCall;
use autonoe_core::money::Usd;
use autonoe_core::redact::Redactor;
use autonoe_report::{cost, one_line};
use autonoe_store::journal::history::EventRow;
use jiff::Timestamp;

use super::messages::{checked, cut, repetition, status_line, tool_line, user_message};
use super::time::time_of_day;

/// Lines of a result that are shown, and characters of each.
const RESULT_LINES: usize = 4;
const MAX_LINE: usize = 160;

/// Which events are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptFilter {
    Everything,
    /// Failed and denied calls, failed checks and warnings.
    Errors,
}

pub fn transcript(events: &[EventRow], filter: TranscriptFilter, redactor: &Redactor) -> String {
    let mut calls: HashMap<String, ToolCall> = HashMap::new();
    let (mut text, mut spent) = (String::new(), Some(Usd::ZERO));
    for row in events {
        let Ok(event) = serde_json::from_value::<Event>(row.event.clone()) else { continue };
        match event {
            Event::Agent(AgentEvent::ToolCall(call)) => {
                calls.insert(call.id.clone(), call);
            }
            Event::Agent(AgentEvent::Usage(usage)) => {
                spent = spent.zip(usage.cost_usd).map(|(spent, cost)| spent + cost);
            }
            event => {
                let entry = TranscriptEntry::of(event, &mut calls, redactor);
                let entry = entry.filter(|entry| filter == TranscriptFilter::Everything || entry.is_error);
                text.extend(entry.map(|entry| entry.lines(&row.at, spent)));
            }
        }
    }
    // Calls that were running when the session ended.
    for call in calls.values().filter(|_| filter == TranscriptFilter::Everything) {
        text.push_str(&format!("          {}\n            (no result)\n", tool_line(call, redactor)));
    }
    text
}

struct TranscriptEntry {
    title: String,
    /// Shown below the title.
    details: Vec<String>,
    is_error: bool,
    shows_cost: bool,
}

impl TranscriptEntry {
    fn of(event: Event, calls: &mut HashMap<String, ToolCall>, redactor: &Redactor) -> Option<Self> {
        let entry = |title: String, details: Vec<String>, is_error: bool| {
            Some(Self { title, details, is_error, shows_cost: false })
        };
        match event {
            Event::Agent(AgentEvent::Text { text }) => {
                entry(String::new(), folded(&redactor.text(&text), usize::MAX), false)
            }
            Event::Agent(AgentEvent::ToolResult {
                id,
                name,
                content,
                is_error,
                denied_by,
                denied_reason,
            }) => {
                let call = calls.remove(&id);
                let title = call.map_or_else(|| format!("> {name}"), |call| tool_line(&call, redactor));
                match denied_by {
                    Some(gate) => {
                        let reason = denied_reason.unwrap_or(content);
                        entry(title, vec![format!("DENIED by {gate}: {}", one_line(&reason))], true)
                    }
                    None => entry(
                        if is_error { format!("{title}  FAILED") } else { title },
                        folded(&redactor.text(&result_text(&name, &content)), RESULT_LINES),
                        is_error,
                    ),
                }
            }
            Event::Agent(AgentEvent::Warning { message } | AgentEvent::HostRefused { message, .. })
            | Event::Run(RunEvent::Warning { message }) => {
                entry(format!("[WARNING] {message}"), Vec::new(), true)
            }
            Event::Agent(AgentEvent::UserMessage { text }) | Event::Run(RunEvent::UserMessage { text }) => {
                entry(user_message(&text), Vec::new(), false)
            }
            Event::Run(RunEvent::RepetitionNoticed { message }) => {
                entry(repetition(&message), Vec::new(), true)
            }
            Event::Agent(AgentEvent::End { outcome }) => Some(Self {
                title: format!("[END] {}", outcome.name()),
                details: outcome.fault().map(|fault| fault.message.clone()).into_iter().collect(),
                is_error: outcome.fault().is_some(),
                shows_cost: true,
            }),
            Event::Run(RunEvent::StatusChanged(change)) => entry(status_line(&change), Vec::new(), false),
            Event::Run(RunEvent::Checked { deliverable, check, purpose, passed, message }) => entry(
                checked(deliverable.as_deref(), &check, purpose, passed, &message).1,
                Vec::new(),
                !passed,
            ),
            Event::Agent(_) | Event::Run(_) => None,
        }
    }

    fn lines(&self, at: &str, spent: Option<Usd>) -> String {
        let cost = if self.shows_cost { format!(", cost={}", cost(spent)) } else { String::new() };
        let title = (!self.title.is_empty()).then(|| format!("{}{cost}", self.title));
        let indent = if title.is_some() { "            " } else { "          " };
        let details = self.details.iter().map(|line| format!("{indent}{line}"));
        let mut lines: Vec<String> =
            title.map(|title| format!("          {title}")).into_iter().chain(details).collect();
        if let Some(first) = lines.first_mut() {
            first.replace_range(..8, &local_time_of_day(at));
        }
        lines.into_iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The results of our own tools are JSON, of which people need the message.
fn result_text(tool: &str, content: &str) -> String {
    let result = Some(content).filter(|_| tool.starts_with("mcp__autonoe__"));
    let message = result.and_then(|json| {
        let value: serde_json::Value = serde_json::from_str(json).ok()?;
        Some(value.get("message")?.as_str()?.to_owned())
    });
    message.unwrap_or_else(|| content.to_owned())
}

/// The first lines of a text, each cut, and how many more there are.
fn folded(text: &str, limit: usize) -> Vec<String> {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let mut shown: Vec<String> = lines.iter().take(limit).map(|line| cut(line, MAX_LINE)).collect();
    if lines.len() > limit {
        shown.push(format!("… {} more line(s)", lines.len() - limit));
    }
    shown
}

/// Eight characters.
fn local_time_of_day(utc: &str) -> String {
    let at: Option<Timestamp> = utc.parse().ok();
    format!("{:<8.8}", at.map(time_of_day).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{TranscriptFilter, transcript};
    use autonoe_core::redact::Redactor;
    use autonoe_store::journal::history::EventRow;
    use serde_json::{Value, json};

    fn rows(events: &[Value]) -> Vec<EventRow> {
        let row = |event: &Value| EventRow { at: "2026-11-16T10:00:00Z".to_owned(), event: event.clone() };
        events.iter().map(row).collect()
    }

    #[test]
    fn a_call_is_shown_with_its_folded_result() {
        let long = (1..=9).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
        let events = rows(&[
            json!({ "type": "text", "text": "I look around." }),
            json!({ "type": "tool_call", "id": "1", "name": "Bash", "input": { "command": "ls -la" } }),
            json!({ "type": "tool_result", "id": "1", "name": "Bash", "content": long, "is_error": false }),
            json!({ "type": "tool_call", "id": "2", "name": "Bash", "input": { "command": "git push" } }),
            json!({ "type": "tool_result", "id": "2", "name": "Bash", "content": "no", "is_error": true, "denied_by": "policy", "denied_reason": "publishing" }),
            json!({ "type": "tool_call", "id": "3", "name": "mcp__autonoe__set_status", "input": { "deliverableId": "A" } }),
            json!({ "type": "tool_result", "id": "3", "name": "mcp__autonoe__set_status",
                    "content": r#"{"success":true,"message":"A is passed"}"#, "is_error": false }),
            json!({ "type": "usage", "input_tokens": 1, "output_tokens": 1, "cache_read_tokens": 0, "cache_write_tokens": 0, "cost_usd": 0.25 }),
            json!({ "type": "end", "outcome": "completed" }),
        ]);
        let redactor = Redactor::new(&[]);
        let text = transcript(&events, TranscriptFilter::Everything, &redactor);
        let lines: Vec<&str> = text.lines().map(|line| &line[8..]).collect();
        assert_eq!(
            lines,
            [
                "  I look around.",
                "  > Bash ls -la",
                "    line 1",
                "    line 2",
                "    line 3",
                "    line 4",
                "    … 5 more line(s)",
                "  > Bash git push",
                "    DENIED by policy: publishing",
                "  > mcp__autonoe__set_status A",
                "    A is passed",
                "  [END] completed, cost=$0.25",
            ]
        );
        let errors = transcript(&events, TranscriptFilter::Errors, &redactor);
        let lines: Vec<&str> = errors.lines().map(|line| &line[8..]).collect();
        assert_eq!(lines, ["  > Bash git push", "    DENIED by policy: publishing"]);
    }
}
