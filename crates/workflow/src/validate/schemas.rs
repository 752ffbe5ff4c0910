//! JSON Schemas in a definition: checks that they are valid, without access to the network or to other files.

use jsonschema::{Retrieve, Uri};
use serde_json::Value;

use crate::problem::{JsonLocation, ValidationResult};

/// The most characters of a schema error.
const MAX_WHY_CHARS: usize = 200;

/// Refuses to retrieve referenced schemas.
struct NoRetrieval;

impl Retrieve for NoRetrieval {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("{uri} is outside of the definition, and is not fetched").into())
    }
}

pub(super) fn check(at: &JsonLocation, schema: &Value, result: &mut ValidationResult) {
    let remedy = "Write a JSON Schema such as {\"type\": \"object\", \"properties\": {…}}, with `$ref` only to itself.";
    if !schema.is_object() {
        return result.error(
            at,
            schema.clone(),
            "it is not a valid JSON Schema: it must be an object",
            remedy,
        );
    }
    if let Err(error) = jsonschema::options().with_retriever(NoRetrieval).build(schema) {
        let why: String = error.to_string().chars().take(MAX_WHY_CHARS).collect();
        let position = match error.instance_path().to_string() {
            position if position.is_empty() => position,
            position => format!(", at {position}"),
        };
        result.error(at, Value::Null, format!("it is not a valid JSON Schema: {why}{position}"), remedy);
    }
}
