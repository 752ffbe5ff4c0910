//! JSON Schemas in a definition: checks that they are valid, without access to the network or to other files.

use jsonschema::{Retrieve, Uri};
use serde_json::Value;

use crate::json_location::JsonLocation;
use crate::problem::ValidationResult;

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
    if let Some(problem) = schema_problem(schema) {
        let value = if schema.is_object() { Value::Null } else { schema.clone() };
        result.error(at, value, format!("it is not a valid JSON Schema: {problem}"), remedy);
    }
}

/// Why this is not a JSON Schema, or not one that stands by itself.
pub(crate) fn schema_problem(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some("it must be an object".to_owned());
    }
    let error = jsonschema::options().with_retriever(NoRetrieval).build(schema).err()?;
    let why: String = error.to_string().chars().take(MAX_WHY_CHARS).collect();
    Some(match error.instance_path().to_string() {
        position if position.is_empty() => why,
        position => format!("{why}, at {position}"),
    })
}
