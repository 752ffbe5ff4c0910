//! Which schemas the service behind Codex holds a model to. It refuses every other one, so those are told in words.

use serde_json::Value;

/// Words of JSON Schema that the service does not know.
const UNKNOWN: [&str; 12] = [
    "allOf",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "oneOf",
    "patternProperties",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Whether a schema is of an object, and every object in it has all of its properties and no others.
pub(super) fn is_strict(schema: &Value) -> bool {
    schema["type"] == "object" && schema.get("anyOf").is_none() && is_closed(schema)
}

fn is_closed(schema: &Value) -> bool {
    let Some(words) = schema.as_object() else { return false };
    let properties = words.get("properties").and_then(Value::as_object);
    let is_object = properties.is_some() || words.get("type").is_some_and(names_object);
    let has_all = || {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        properties.into_iter().flatten().all(|(name, _)| required.contains(&name.as_str()))
    };
    let inner =
        |name: &str| words.get(name).and_then(Value::as_object).into_iter().flat_map(|inner| inner.values());
    let below = inner("properties").chain(inner("$defs"));
    let alternatives = words.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    !words.keys().any(|word| UNKNOWN.contains(&word.as_str()))
        && (!is_object || (words.get("additionalProperties") == Some(&Value::Bool(false)) && has_all()))
        && below.chain(alternatives).chain(words.get("items")).all(is_closed)
}

/// A type, or one of several.
fn names_object(kind: &Value) -> bool {
    kind == "object" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::is_strict;

    fn closed(properties: Value) -> Value {
        let required: Vec<String> =
            properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }

    #[test]
    fn only_what_is_closed_to_the_bottom_is_strict() {
        let text = json!({ "type": "string" });
        let open = json!({ "type": "object", "properties": { "a": text } });
        for schema in [
            closed(json!({})),
            closed(json!({ "a": text, "b": { "type": ["string", "null"] } })),
            closed(json!({ "list": { "type": "array", "items": closed(json!({ "a": text })) } })),
            closed(json!({ "either": { "anyOf": [closed(json!({ "a": text })), text] } })),
        ] {
            assert!(is_strict(&schema), "{schema}");
        }
        let mut optional = closed(json!({ "a": text, "b": text }));
        optional["required"] = json!(["a"]);
        let mut with_defs = closed(json!({ "a": { "$ref": "#/$defs/open" } }));
        with_defs["$defs"] = json!({ "open": open });
        for schema in [
            text.clone(),
            open.clone(),
            optional,
            with_defs,
            closed(json!({ "list": { "type": "array", "items": open } })),
            closed(json!({ "a": { "type": ["object", "null"] } })),
            closed(json!({ "a": { "oneOf": [text] } })),
        ] {
            assert!(!is_strict(&schema), "{schema}");
        }
    }
}
