//! Parses a model's JSON to typed arguments, and generates the JSON Schema for the model.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::failure::ToolFailure;

/// Parses the arguments of a call. The error names the wrong parameter, the expected type and all parameters, so that the
/// model can correct itself.
pub(crate) fn parse<T: DeserializeOwned + JsonSchema>(tool: &str, mut args: Value) -> Result<T, ToolFailure> {
    if let Value::Object(map) = &mut args {
        // Some models send null for parameters that they omit.
        map.retain(|_, value| !value.is_null());
    }
    serde_path_to_error::deserialize(args).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.inner();
        let field = if path == "." { String::new() } else { format!("`{path}`: ") };
        ToolFailure::invalid(format!(
            "Invalid arguments for {tool}: {field}{problem}. Parameters: {}.",
            parameters::<T>()
        ))
    })
}

/// The JSON Schema of a tool's arguments, limited to keywords that every provider supports.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema: Schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    let mut schema = schema.to_value();
    if let Value::Object(schema) = &mut schema {
        simplify(schema);
    }
    schema
}

/// Reduces `["integer", "null"]` with a Rust-only format to `"integer"`: not every provider accepts them, and `required`
/// already says that the parameter is optional.
fn simplify(property: &mut Map<String, Value>) {
    property.remove("format");
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    let inner = property.get_mut("properties").and_then(Value::as_object_mut);
    inner.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut).for_each(simplify);
    if let Some(Value::Object(items)) = property.get_mut("items") {
        simplify(items);
    }
}

fn parameters<T: JsonSchema>() -> String {
    let schema = schema::<T>();
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
    let Some(properties) = schema["properties"].as_object() else { return "none".to_owned() };
    let described = properties.iter().map(|(name, property)| {
        let kind = property["type"].as_str().unwrap_or("value");
        let presence = if required.iter().any(|r| *r == name) { "required" } else { "optional" };
        format!("{name} ({kind}, {presence})")
    });
    described.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::{JsonSchema, parse, schema};

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct SampleArgs {
        /// Which one.
        name: String,
        /// How many.
        count: Option<u64>,
    }

    #[test]
    fn unknown_and_null_parameters_are_ignored() {
        let args = json!({"name": "a", "count": null, "extra": [1]});
        assert_eq!(parse::<SampleArgs>("T", args), Ok(SampleArgs { name: "a".into(), count: None }));
    }

    #[test]
    fn the_error_names_the_parameter_and_the_expected_type() {
        let error = parse::<SampleArgs>("T", json!({"name": "a", "count": "ten"})).unwrap_err().message;
        assert_eq!(
            error,
            "Invalid arguments for T: `count`: invalid type: string \"ten\", expected u64. \
             Parameters: name (string, required), count (integer, optional)."
        );
        let error = parse::<SampleArgs>("T", json!({"name": null})).unwrap_err().message;
        assert!(error.contains("missing field `name`"), "{error}");
        let error = parse::<SampleArgs>("T", json!("ls")).unwrap_err().message;
        assert!(error.contains("name (string, required)"), "{error}");
    }

    #[test]
    fn the_schema_has_no_null_types_and_formats() {
        assert_eq!(
            schema::<SampleArgs>(),
            json!({
                "type": "object",
                "properties": {
                    "name": {"description": "Which one.", "type": "string"},
                    "count": {"description": "How many.", "type": "integer", "minimum": 0},
                },
                "required": ["name"],
            })
        );
    }
}
