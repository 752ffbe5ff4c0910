//! Answers of a form that was asked for: a JSON Schema that they must fit. Some agents are given the schema, the others are
//! told it in words; what any of them answers is read and checked here, and asked for once more if it does not fit.

use autonoe_core::event::AgentEvent;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::SessionEnd;
use jsonschema::Validator;
use serde_json::Value;

use crate::emit::Emitter;

/// How often an answer is asked for.
const MAX_ASKED: u32 = 2;

/// How many of the things that are wrong with an answer are told.
const MAX_TOLD: usize = 5;

/// How much of each is told, in characters.
const MAX_TOLD_CHARS: usize = 300;

/// What is expected of an agent's answer.
pub(crate) struct Expected {
    form: Option<Form>,
    asked: u32,
}

struct Form {
    schema: Value,
    validator: Validator,
}

/// What follows when an agent has come to an end.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// It was the end.
    Ended(SessionEnd),
    /// It has to be told this, and to answer again.
    Again(String),
}

impl Expected {
    /// An answer that fits this schema, or any answer.
    pub(crate) fn new(schema: Option<Value>) -> Result<Self, Fault> {
        let form = schema.map(|schema| match jsonschema::validator_for(&schema) {
            Ok(validator) => Ok(Form { schema, validator }),
            Err(error) => {
                let message =
                    format!("The form of the answer is not JSON Schema: {}.", cut(&error.to_string()));
                Err(Fault::lasting(Layer::Config, "answer_schema", message))
            }
        });
        Ok(Self { form: form.transpose()?, asked: 1 })
    }

    /// The schema, for an agent that takes one.
    pub(crate) fn schema(&self) -> Option<&Value> {
        self.form.as_ref().map(|form| &form.schema)
    }

    /// An instruction, with the form in words after it.
    pub(crate) fn told(&self, instruction: String) -> String {
        match &self.form {
            Some(form) => format!("{instruction}\n\n{}", form.in_words()),
            None => instruction,
        }
    }

    /// What follows from how an agent ended, and from the last that it said.
    pub(crate) async fn settle(&mut self, outcome: SessionEnd, said: &str, emitter: &Emitter) -> Next {
        let (Some(form), SessionEnd::Completed) = (&self.form, &outcome) else {
            return Next::Ended(outcome);
        };
        let why = match form.read(said) {
            Ok(value) => {
                emitter.emit(AgentEvent::Answer { value }).await;
                return Next::Ended(outcome);
            }
            Err(why) => why,
        };
        let message = format!("The answer does not have the form that was asked for: {why}.");
        if self.asked == MAX_ASKED {
            let fault = Fault::passing(Layer::Agent, "answer_not_valid", message);
            return Next::Ended(SessionEnd::ExecutionError { fault });
        }
        self.asked += 1;
        let again = format!("{message}\n\nAnswer once more. {}", form.in_words());
        emitter.emit(AgentEvent::Trouble { message: format!("{message} It is asked for once more.") }).await;
        Next::Again(again)
    }
}

impl Form {
    fn in_words(&self) -> String {
        format!(
            "The last thing you say must be your answer: one JSON document with nothing before or after it, which fits this \
             JSON Schema:\n\n```json\n{:#}\n```",
            self.schema
        )
    }

    /// The answer, or what is wrong with it.
    fn read(&self, said: &str) -> Result<Value, String> {
        let value = document(said)?;
        let wrong: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(MAX_TOLD)
            .map(|error| match error.instance_path().as_str() {
                "" => cut(&error.to_string()),
                path => format!("at {path}, {}", cut(&error.to_string())),
            })
            .collect();
        if wrong.is_empty() { Ok(value) } else { Err(wrong.join("; ")) }
    }
}

/// The JSON document that a text is, or the one in its last fence.
fn document(text: &str) -> Result<Value, String> {
    let whole = serde_json::from_str(text);
    whole.or_else(|error| {
        let fenced = fenced(text).and_then(|inside| serde_json::from_str(&inside).ok());
        fenced.ok_or_else(|| format!("it is not JSON document ({error})"))
    })
}

/// What is in the last fence. A fence begins a line, which nothing within a JSON document can.
fn fenced(text: &str) -> Option<String> {
    let text = format!("\n{text}");
    let (before, _) = text.rsplit_once("\n```")?;
    let (_, fence) = before.rsplit_once("\n```")?;
    Some(fence.split_once('\n')?.1.to_owned())
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TOLD_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use autonoe_core::event::AgentEvent;
    use autonoe_core::outcome::SessionEnd;
    use futures::StreamExt;
    use serde_json::{Value, json};

    use super::{Expected, Next, document};
    use crate::emit::events;

    fn verdict() -> Value {
        json!({
            "type": "object", "required": ["passed"], "additionalProperties": false,
            "properties": { "passed": { "type": "boolean" }, "reason": { "type": "string" } },
        })
    }

    /// What follows each of these answers to one instruction, and what is told.
    async fn settled(schema: Option<Value>, said: &[&str]) -> (Vec<Next>, Vec<AgentEvent>) {
        let mut nexts = Vec::new();
        let told = events(|emitter| {
            let nexts = &mut nexts;
            async move {
                let mut expected = Expected::new(schema).expect("a schema");
                for said in said {
                    nexts.push(expected.settle(SessionEnd::Completed, said, &emitter).await);
                }
            }
        })
        .collect()
        .await;
        (nexts, told)
    }

    #[test]
    fn a_document_is_found_alone_or_in_the_last_fence() {
        let found = json!({ "a": "```sh" });
        for text in [
            r#"{"a":"```sh"}"#,
            "  {\"a\":\"```sh\"}\n",
            "```json\n{\"a\":\"```sh\"}\n```",
            "First ```x``` and\n```\n[1]\n```\nthen\n```json\n{\"a\":\n\"```sh\"}\n```\nas asked.",
        ] {
            assert_eq!(document(text), Ok(found.clone()), "{text}");
        }
        for text in ["", "done", "```json\n{\"a\":\n```", "{\"a\":1} {\"a\":2}", "```"] {
            assert!(document(text).is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_fits_is_told() {
        let (nexts, told) = settled(Some(verdict()), &[r#"{"passed":true}"#]).await;
        assert_eq!(nexts, [Next::Ended(SessionEnd::Completed)]);
        assert_eq!(told, [AgentEvent::Answer { value: json!({ "passed": true }) }]);
    }

    #[tokio::test]
    async fn an_answer_that_does_not_fit_is_asked_for_once_more() {
        let (nexts, told) = settled(Some(verdict()), &[r#"{"passed":"yes"}"#, r#"{"passed":false}"#]).await;
        let [Next::Again(words), Next::Ended(SessionEnd::Completed)] = &nexts[..] else {
            panic!("{nexts:?}")
        };
        assert!(words.contains("at /passed") && words.contains(r#""boolean""#), "{words}");
        assert!(matches!(&told[..], [AgentEvent::Trouble { .. }, AgentEvent::Answer { .. }]), "{told:?}");

        let (nexts, told) = settled(Some(verdict()), &["yes", "really, yes"]).await;
        let [Next::Again(_), Next::Ended(SessionEnd::ExecutionError { fault })] = &nexts[..] else {
            panic!("{nexts:?}")
        };
        assert_eq!((fault.code.as_str(), fault.recoverable()), ("answer_not_valid", true));
        assert!(matches!(&told[..], [AgentEvent::Trouble { .. }]), "{told:?}");
    }

    #[tokio::test]
    async fn without_a_form_or_an_end_of_its_own_nothing_is_read() {
        let (nexts, told) = settled(None, &["whatever"]).await;
        assert_eq!((nexts, told), (vec![Next::Ended(SessionEnd::Completed)], Vec::new()));
        let mut told = events(|emitter| async move {
            let mut expected = Expected::new(Some(verdict())).expect("a schema");
            let next = expected.settle(SessionEnd::MaxTurns, r#"{"passed":true}"#, &emitter).await;
            assert_eq!(next, Next::Ended(SessionEnd::MaxTurns));
        });
        assert_eq!(told.next().await, None);
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for schema in [json!({ "type": "bool" }), json!({ "$ref": "http://127.0.0.1:1/x.json" }), json!(7)] {
            let fault = Expected::new(Some(schema.clone())).err().unwrap_or_else(|| panic!("{schema}"));
            assert_eq!((fault.code.as_str(), fault.recoverable()), ("answer_schema", false));
        }
        let told = Expected::new(Some(verdict())).expect("a schema").told("Judge.".to_owned());
        assert!(told.starts_with("Judge.\n\n") && told.contains("additionalProperties"), "{told}");
    }
}
