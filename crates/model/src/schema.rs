//! Tool schemas as each provider accepts them. A schema with unsupported keywords is simplified: tools
//! validate their arguments themselves, so a looser schema costs a retry at most.

use serde_json::{Map, Value, json};

use crate::provider::ProviderKind;

/// How deep references are resolved; recursive schemas end there.
const MAX_DEPTH: usize = 8;

/// Keywords that Gemini supports. Others are dropped, and references are resolved.
const SUPPORTED_KEYWORDS: [&str; 16] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "anyOf",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
];

/// String and number formats that Gemini supports; it rejects any other.
const SUPPORTED_FORMATS: [&str; 6] = ["date-time", "enum", "int32", "int64", "float", "double"];

pub(crate) fn adapt(schema: &Value, kind: ProviderKind) -> Value {
    let mut adapted = match kind {
        ProviderKind::Gemini | ProviderKind::Ollama => simplify(schema, schema, 0),
        ProviderKind::Anthropic | ProviderKind::OpenAi | ProviderKind::OpenAiCompatible => schema.clone(),
    };
    as_object(&mut adapted);
    adapted
}

/// Every provider requires an object with properties at the top level, without alternatives.
fn as_object(schema: &mut Value) {
    if !schema.is_object() {
        *schema = json!({});
    }
    let Some(map) = schema.as_object_mut() else { return };
    map.shift_remove("$schema");
    let variants: Vec<Value> = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|keyword| map.shift_remove(keyword))
        .filter_map(|variants| variants.as_array().cloned())
        .flatten()
        .collect();
    for keyword in ["enum", "const", "not"] {
        map.shift_remove(keyword);
    }
    map.insert("type".to_owned(), json!("object"));
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    for variant in variants {
        let Some(further) = variant["properties"].as_object() else { continue };
        if let Some(properties) = properties.as_object_mut() {
            for (name, property) in further {
                properties.entry(name.clone()).or_insert_with(|| property.clone());
            }
        }
    }
}

/// The same schema using only [`SUPPORTED_KEYWORDS`].
fn simplify(schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(map) = schema.as_object() else { return json!({}) };
    if depth > MAX_DEPTH {
        return json!({ "type": "object" });
    }
    let mut simplified = Map::new();
    if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|at| resolve(at, root)) {
        merge(&mut simplified, simplify(target, root, depth + 1));
    }
    for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        merge(&mut simplified, simplify(part, root, depth + 1));
    }
    for (keyword, value) in map {
        match keyword.as_str() {
            "type" => set_type(&mut simplified, value),
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties: Map<String, Value> = properties
                    .map(|(name, value)| (name.clone(), simplify(value, root, depth + 1)))
                    .collect();
                merge(&mut simplified, json!({ "properties": properties }));
            }
            "items" => {
                simplified.insert(keyword.clone(), simplify(value, root, depth + 1));
            }
            "anyOf" | "oneOf" => {
                let variants = value.as_array().into_iter().flatten();
                let (nulls, others): (Vec<_>, Vec<_>) = variants
                    .map(|variant| simplify(variant, root, depth + 1))
                    .partition(|variant| variant["type"] == "null");
                if !nulls.is_empty() {
                    simplified.insert("nullable".to_owned(), json!(true));
                }
                match <[Value; 1]>::try_from(others) {
                    Ok([only]) => merge(&mut simplified, only),
                    Err(several) => {
                        simplified.insert("anyOf".to_owned(), Value::Array(several));
                    }
                }
            }
            "const" if value.is_string() => {
                simplified.insert("enum".to_owned(), json!([value]));
                simplified.entry("type").or_insert_with(|| json!("string"));
            }
            "enum" => {
                let strings: Vec<&Value> =
                    value.as_array().into_iter().flatten().filter(|item| item.is_string()).collect();
                if !strings.is_empty() {
                    simplified.insert(keyword.clone(), json!(strings));
                }
            }
            "exclusiveMinimum" if value.is_number() => {
                simplified.insert("minimum".to_owned(), value.clone());
            }
            "exclusiveMaximum" if value.is_number() => {
                simplified.insert("maximum".to_owned(), value.clone());
            }
            "format" if !value.as_str().is_some_and(|format| SUPPORTED_FORMATS.contains(&format)) => {}
            keyword if SUPPORTED_KEYWORDS.contains(&keyword) => {
                simplified.insert(keyword.to_owned(), value.clone());
            }
            _ => {}
        }
    }
    if simplified.get("type").is_some_and(|kind| kind == "array") {
        simplified.entry("items").or_insert_with(|| json!({ "type": "string" }));
    }
    Value::Object(simplified)
}

/// `["string", "null"]` is a string that may be null.
fn set_type(simplified: &mut Map<String, Value>, kind: &Value) {
    let Some(kinds) = kind.as_array() else {
        simplified.insert("type".to_owned(), kind.clone());
        return;
    };
    if kinds.iter().any(|kind| kind == "null") {
        simplified.insert("nullable".to_owned(), json!(true));
    }
    let others: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
    match others.as_slice() {
        [] => {}
        [only] => {
            simplified.insert("type".to_owned(), (*only).clone());
        }
        several => {
            let several: Vec<Value> = several.iter().map(|kind| json!({ "type": kind })).collect();
            simplified.insert("anyOf".to_owned(), json!(several));
        }
    }
}

/// Merges another part of the schema: properties and required fields are joined, other keywords are replaced.
fn merge(simplified: &mut Map<String, Value>, other: Value) {
    let Value::Object(other) = other else { return };
    for (keyword, value) in other {
        match (simplified.get_mut(&keyword), value) {
            (Some(Value::Object(known)), Value::Object(more)) if keyword == "properties" => {
                known.extend(more)
            }
            (Some(Value::Array(known)), Value::Array(more)) if keyword == "required" => known.extend(more),
            (_, value) => {
                simplified.insert(keyword, value);
            }
        }
    }
}

/// The target of a reference such as `#/$defs/Name`.
fn resolve<'a>(reference: &str, root: &'a Value) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use super::adapt;
    use crate::provider::ProviderKind;
    use serde_json::{Value, json};

    const RESTRICTED: [ProviderKind; 2] = [ProviderKind::Gemini, ProviderKind::Ollama];

    #[test]
    fn a_simple_schema_is_unchanged_for_every_provider() {
        let schema = json!({
            "type": "object",
            "properties": { "path": { "type": "string", "description": "Where." }, "limit": { "type": "integer" } },
            "required": ["path"],
        });
        for kind in ProviderKind::ALL {
            assert_eq!(adapt(&schema, kind), schema, "{kind}");
        }
    }

    #[test]
    fn references_are_resolved_and_unsupported_keywords_dropped_where_rejected() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "$defs": { "Edit": {
                "type": "object",
                "additionalProperties": false,
                "properties": { "old": { "type": "string", "default": "" }, "uri": { "type": "string", "format": "uri" } },
                "required": ["old"],
            } },
            "properties": {
                "edits": { "type": "array", "items": { "$ref": "#/$defs/Edit" } },
                "mode": { "type": ["string", "null"], "enum": ["a", "b", null] },
                "either": { "oneOf": [{ "type": "string" }, { "type": "integer", "exclusiveMinimum": 0 }] },
                "maybe": { "anyOf": [{ "$ref": "#/$defs/Edit" }, { "type": "null" }] },
                "kind": { "const": "fixed" },
                "list": { "type": "array" },
                "when": { "type": "string", "format": "date-time" },
            },
        });
        let edit = json!({
            "type": "object",
            "properties": { "old": { "type": "string" }, "uri": { "type": "string" } },
            "required": ["old"],
        });
        let mut maybe = edit.clone();
        maybe["nullable"] = json!(true);
        for kind in RESTRICTED {
            let adapted = adapt(&schema, kind);
            let properties = &adapted["properties"];
            assert_eq!(properties["edits"], json!({ "type": "array", "items": edit }), "{kind}");
            assert_eq!(properties["mode"], json!({ "nullable": true, "type": "string", "enum": ["a", "b"] }));
            assert_eq!(
                properties["either"],
                json!({ "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }] })
            );
            assert_eq!(properties["maybe"], maybe);
            assert_eq!(properties["kind"], json!({ "enum": ["fixed"], "type": "string" }));
            assert_eq!(properties["list"], json!({ "type": "array", "items": { "type": "string" } }));
            assert_eq!(properties["when"], json!({ "type": "string", "format": "date-time" }));
            let text = adapted.to_string();
            for refused in ["$schema", "$ref", "$defs", "additionalProperties", "oneOf", "default", "const"] {
                assert!(!text.contains(refused), "{kind}: {refused} in {text}");
            }
        }
        for kind in [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::OpenAiCompatible] {
            let adapted = adapt(&schema, kind);
            assert_eq!(adapted["properties"], schema["properties"], "{kind}");
            assert_eq!(adapted["$defs"], schema["$defs"], "{kind}");
        }
    }

    #[test]
    fn recursive_schemas_are_cut_off() {
        let tree = json!({
            "type": "object",
            "properties": { "child": { "$ref": "#" }, "gone": { "$ref": "#/$defs/Missing" } },
        });
        for kind in RESTRICTED {
            let adapted = adapt(&tree, kind);
            assert_eq!(adapted["properties"]["child"]["properties"]["child"]["type"], "object");
            assert!(!adapted.to_string().contains("$ref"));
        }
    }

    #[test]
    fn the_top_level_is_always_an_object_with_properties() {
        let choice = json!({ "anyOf": [
            { "type": "object", "properties": { "a": { "type": "string" } } },
            { "type": "object", "properties": { "b": { "type": "string" } } },
        ] });
        for kind in ProviderKind::ALL {
            for empty in [json!({}), json!(true), Value::Null, json!({ "type": "object" })] {
                assert_eq!(adapt(&empty, kind), json!({ "type": "object", "properties": {} }), "{kind}");
            }
            let adapted = adapt(&choice, kind);
            assert_eq!(adapted["type"], "object", "{kind}");
            assert!(
                adapted["properties"]["a"].is_object() && adapted["properties"]["b"].is_object(),
                "{kind}"
            );
            assert!(adapted.get("anyOf").is_none(), "{kind}");
        }
    }
}
