//! Which schemas OpenAI's strict mode can enforce. It rejects all others, so those are described in the
//! prompt instead.

use serde_json::Value;

/// JSON Schema keywords that the service does not support.
const UNSUPPORTED: [&str; 12] = [
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

/// Whether the schema describes an object, and every object in it requires all of its properties and allows
/// no others.
pub(super) fn is_strict(schema: &Value) -> bool {
    schema["type"] == "object" && schema.get("anyOf").is_none() && is_closed(schema)
}

fn is_closed(schema: &Value) -> bool {
    let Some(keywords) = schema.as_object() else { return false };
    let properties = keywords.get("properties").and_then(Value::as_object);
    let is_object = properties.is_some() || keywords.get("type").is_some_and(names_object);
    let has_all = || {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        properties.into_iter().flatten().all(|(name, _)| required.contains(&name.as_str()))
    };
    let inner = |name: &str| {
        keywords.get(name).and_then(Value::as_object).into_iter().flat_map(|inner| inner.values())
    };
    let below = inner("properties").chain(inner("$defs"));
    let alternatives = keywords.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    !keywords.keys().any(|keyword| UNSUPPORTED.contains(&keyword.as_str()))
        && (!is_object || (keywords.get("additionalProperties") == Some(&Value::Bool(false)) && has_all()))
        && below.chain(alternatives).chain(keywords.get("items")).all(is_closed)
}

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
    fn a_schema_is_strict_only_if_every_object_is_closed() {
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
