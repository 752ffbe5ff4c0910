//! JSON Schemas in a definition: whether they are some, without asking anything of the network or of other files.

use jsonschema::{Retrieve, Uri};
use serde_json::Value;

use super::problem::{Place, ValidationResult};

/// How much is told of why something is not a schema, in characters.
const MAX_WHY_CHARS: usize = 200;

/// What has no other schemas to give.
struct Nothing;

impl Retrieve for Nothing {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("{uri} is outside of the definition, and nothing is fetched").into())
    }
}

/// Notes it if that is not JSON Schema.
pub(super) fn check(at: &Place, schema: &Value, result: &mut ValidationResult) {
    let remedy = "Write a JSON Schema such as {\"type\": \"object\", \"properties\": {…}}, with `$ref` only to itself.";
    if !schema.is_object() {
        return result.error(at, schema.clone(), "that is not JSON Schema: it must be an object", remedy);
    }
    if let Err(error) = jsonschema::options().with_retriever(Nothing).build(schema) {
        let why: String = error.to_string().chars().take(MAX_WHY_CHARS).collect();
        let place = match error.instance_path().to_string() {
            place if place.is_empty() => place,
            place => format!(", at {place}"),
        };
        result.error(at, Value::Null, format!("that is not JSON Schema: {why}{place}"), remedy);
    }
}
