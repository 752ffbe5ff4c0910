//! Answers that must match a JSON Schema. Some agents take the schema as a parameter, for others it is part
//! of the prompt. Every answer is validated here, and requested once more if it does not match.

use autonoe_core::event::AgentEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::SessionEnd;
use jsonschema::Validator;
use serde_json::Value;

use crate::emit::Emitter;

/// Attempts per session.
const MAX_ATTEMPTS: u32 = 2;

/// Validation errors that are reported to the agent.
const MAX_ERRORS: usize = 5;

/// Longer validation errors are cut.
const MAX_ERROR_CHARS: usize = 300;

pub(crate) struct ExpectedAnswer {
    schema: Option<AnswerSchema>,
    attempts: u32,
}

struct AnswerSchema {
    schema: Value,
    validator: Validator,
}

/// What follows from the end of an agent's turn.
#[derive(Debug, PartialEq)]
pub(crate) enum AnswerCheck {
    /// The session has ended.
    Done(SessionEnd),
    /// The agent gets this prompt and answers again.
    Retry(String),
}

impl ExpectedAnswer {
    /// `None` accepts any answer.
    pub(crate) fn new(schema: Option<Value>) -> Result<Self, Fault> {
        let schema = schema.map(|schema| match jsonschema::validator_for(&schema) {
            Ok(validator) => Ok(AnswerSchema { schema, validator }),
            Err(error) => {
                let message = format!(
                    "The schema of the answer is not valid JSON Schema: {}.",
                    cut(&error.to_string())
                );
                Err(Fault::permanent(FaultLayer::Config, "answer_schema", message))
            }
        });
        Ok(Self { schema: schema.transpose()?, attempts: 1 })
    }

    /// The schema, for agents that take one as a parameter.
    pub(crate) fn schema(&self) -> Option<&Value> {
        self.schema.as_ref().map(|answer| &answer.schema)
    }

    /// The instruction followed by a description of the schema.
    pub(crate) fn with_schema(&self, instruction: String) -> String {
        match &self.schema {
            Some(schema) => format!("{instruction}\n\n{}", schema.prompt()),
            None => instruction,
        }
    }

    /// Validates the last text of a completed turn.
    pub(crate) async fn check(&mut self, outcome: SessionEnd, text: &str, emitter: &Emitter) -> AnswerCheck {
        let (Some(schema), SessionEnd::Completed) = (&self.schema, &outcome) else {
            return AnswerCheck::Done(outcome);
        };
        let error = match schema.read(text) {
            Ok(value) => {
                emitter.emit(AgentEvent::Answer { value }).await;
                return AnswerCheck::Done(outcome);
            }
            Err(error) => error,
        };
        let message = format!("The answer does not match the requested schema: {error}.");
        if self.attempts == MAX_ATTEMPTS {
            let fault = Fault::transient(FaultLayer::Agent, "answer_not_valid", message);
            return AnswerCheck::Done(SessionEnd::ExecutionError { fault });
        }
        self.attempts += 1;
        let prompt = format!("{message}\n\nAnswer once more. {}", schema.prompt());
        emitter.emit(AgentEvent::Warning { message: format!("{message} Requesting it once more.") }).await;
        AnswerCheck::Retry(prompt)
    }
}

impl AnswerSchema {
    fn prompt(&self) -> String {
        format!(
            "Your last message must be your answer: one JSON document with nothing before or after it, which matches \
             this JSON Schema:\n\n```json\n{:#}\n```",
            self.schema
        )
    }

    fn read(&self, text: &str) -> Result<Value, AnswerError> {
        let value = document(text)?;
        let errors: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(MAX_ERRORS)
            .map(|error| match error.instance_path().as_str() {
                "" => cut(&error.to_string()),
                path => format!("at {path}, {}", cut(&error.to_string())),
            })
            .collect();
        if errors.is_empty() { Ok(value) } else { Err(AnswerError::Invalid(errors)) }
    }
}

#[derive(Debug, thiserror::Error)]
enum AnswerError {
    #[error("it is not a JSON document ({0})")]
    NotJson(#[from] serde_json::Error),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
}

/// The text as JSON, or the JSON in its last code fence.
fn document(text: &str) -> Result<Value, serde_json::Error> {
    let whole = serde_json::from_str(text);
    whole.or_else(|error| {
        let fenced = fenced(text).and_then(|inside| serde_json::from_str(&inside).ok());
        fenced.ok_or(error)
    })
}

/// The content of the last code fence. A fence starts a line, which a string inside a JSON document cannot.
fn fenced(text: &str) -> Option<String> {
    let text = format!("\n{text}");
    let (before, _) = text.rsplit_once("\n```")?;
    let (_, fence) = before.rsplit_once("\n```")?;
    Some(fence.split_once('\n')?.1.to_owned())
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_ERROR_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use autonoe_core::event::AgentEvent;
    use autonoe_core::outcome::SessionEnd;
    use futures::StreamExt;
    use serde_json::{Value, json};

    use super::{AnswerCheck, ExpectedAnswer, document};
    use crate::emit::events;

    fn schema() -> Value {
        json!({
            "type": "object", "required": ["passed"], "additionalProperties": false,
            "properties": { "passed": { "type": "boolean" }, "reason": { "type": "string" } },
        })
    }

    /// The checks of these answers, one after another, and the emitted events.
    async fn checked(schema: Option<Value>, answers: &[&str]) -> (Vec<AnswerCheck>, Vec<AgentEvent>) {
        let mut checks = Vec::new();
        let events = events(|emitter| {
            let checks = &mut checks;
            async move {
                let mut expected = ExpectedAnswer::new(schema).expect("a schema");
                for answer in answers {
                    checks.push(expected.check(SessionEnd::Completed, answer, &emitter).await);
                }
            }
        })
        .collect()
        .await;
        (checks, events)
    }

    #[test]
    fn a_document_is_found_alone_or_in_the_last_code_fence() {
        let found = json!({ "a": "```sh" });
        for text in [
            r#"{"a":"```sh"}"#,
            "  {\"a\":\"```sh\"}\n",
            "```json\n{\"a\":\"```sh\"}\n```",
            "First ```x``` and\n```\n[1]\n```\nthen\n```json\n{\"a\":\n\"```sh\"}\n```\nas asked.",
        ] {
            assert_eq!(document(text).expect(text), found);
        }
        for text in ["", "done", "```json\n{\"a\":\n```", "{\"a\":1} {\"a\":2}", "```"] {
            assert!(document(text).is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn a_valid_answer_is_reported() {
        let (checks, events) = checked(Some(schema()), &[r#"{"passed":true}"#]).await;
        assert_eq!(checks, [AnswerCheck::Done(SessionEnd::Completed)]);
        assert_eq!(events, [AgentEvent::Answer { value: json!({ "passed": true }) }]);
    }

    #[tokio::test]
    async fn an_invalid_answer_is_requested_once_more() {
        let (checks, events) = checked(Some(schema()), &[r#"{"passed":"yes"}"#, r#"{"passed":false}"#]).await;
        let [AnswerCheck::Retry(prompt), AnswerCheck::Done(SessionEnd::Completed)] = &checks[..] else {
            panic!("{checks:?}")
        };
        assert!(prompt.contains("at /passed") && prompt.contains(r#""boolean""#), "{prompt}");
        assert!(matches!(&events[..], [AgentEvent::Warning { .. }, AgentEvent::Answer { .. }]), "{events:?}");

        let (checks, events) = checked(Some(schema()), &["yes", "really, yes"]).await;
        let [AnswerCheck::Retry(_), AnswerCheck::Done(SessionEnd::ExecutionError { fault })] = &checks[..]
        else {
            panic!("{checks:?}")
        };
        assert_eq!((fault.code.as_str(), fault.recoverable()), ("answer_not_valid", true));
        assert!(matches!(&events[..], [AgentEvent::Warning { .. }]), "{events:?}");
    }

    #[tokio::test]
    async fn without_a_schema_or_a_completed_turn_nothing_is_validated() {
        let (checks, emitted) = checked(None, &["whatever"]).await;
        assert_eq!((checks, emitted), (vec![AnswerCheck::Done(SessionEnd::Completed)], Vec::new()));
        let mut stream = events(|emitter| async move {
            let mut expected = ExpectedAnswer::new(Some(schema())).expect("a schema");
            let check = expected.check(SessionEnd::MaxTurns, r#"{"passed":true}"#, &emitter).await;
            assert_eq!(check, AnswerCheck::Done(SessionEnd::MaxTurns));
        });
        assert_eq!(stream.next().await, None);
    }

    #[test]
    fn an_invalid_schema_is_rejected() {
        for schema in [json!({ "type": "bool" }), json!({ "$ref": "http://127.0.0.1:1/x.json" }), json!(7)] {
            let fault = ExpectedAnswer::new(Some(schema.clone())).err().unwrap_or_else(|| panic!("{schema}"));
            assert_eq!((fault.code.as_str(), fault.recoverable()), ("answer_schema", false));
        }
        let prompt = ExpectedAnswer::new(Some(schema())).expect("a schema").with_schema("Judge.".to_owned());
        assert!(prompt.starts_with("Judge.\n\n") && prompt.contains("additionalProperties"), "{prompt}");
    }
}
