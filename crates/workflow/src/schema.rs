//! The JSON Schemas of `agent.json` and `steps.json`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::definition::{AgentFile, StepsFile};

pub fn agent_schema() -> Value {
    schema_of::<AgentFile>("An agent of Autonoe: agent.json")
}

pub fn steps_schema() -> Value {
    schema_of::<StepsFile>("The steps of an agent of Autonoe: steps.json")
}

fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), Value::from(title));
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{agent_schema, steps_schema};
    use crate::samples::{good_agent, good_steps};

    #[test]
    fn both_are_json_schemas_with_a_title_and_without_an_id() {
        for schema in [agent_schema(), steps_schema()] {
            assert!(jsonschema::meta::is_valid(&schema));
            assert!(schema["title"].as_str().is_some_and(|title| title.contains(".json")));
            assert!(!schema.to_string().contains("\"$id\""));
        }
    }

    #[test]
    fn the_schemas_accept_a_valid_definition_and_reject_an_invalid_one() {
        for (schema, good) in [(agent_schema(), good_agent()), (steps_schema(), good_steps())] {
            let validator = jsonschema::validator_for(&schema).unwrap();
            let errors: Vec<String> = validator.iter_errors(&good).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{errors:?}");
            let mut bad = good.clone();
            bad["version"] = json!("one");
            assert!(!validator.is_valid(&bad));
            let mut bad = good;
            bad["colour"] = json!("red");
            assert!(!validator.is_valid(&bad));
        }
    }

    #[test]
    fn the_schema_and_serde_accept_the_same_steps() {
        let validator = jsonschema::validator_for(&steps_schema()).unwrap();
        let with = |step: Value| json!({ "version": "1.0.0", "entryStep": "a", "steps": { "a": step } });
        for (step, is_valid) in [
            (json!({ "prompt": "a.md" }), true),
            (json!({ "prompt": { "path": "a.md" } }), true),
            (json!({ "prompt": { "c1": "a", "c2": "b", "c3": "c" } }), true),
            (json!({ "prompt": 3 }), false),
            (json!({ "check": { "type": "keyword", "keywords": ["A"], "onFail": { "retry": true } } }), true),
            (json!({ "check": { "type": "keyword", "keywords": ["A"], "onFail": { "retry": 3 } } }), false),
            (json!({ "check": { "type": "oracle" } }), false),
            (json!({ "type": "subStep" }), true),
            (json!({ "type": "sub" }), false),
        ] {
            let file = with(step);
            assert_eq!(validator.is_valid(&file), is_valid, "{file}");
            assert_eq!(
                serde_json::from_value::<crate::definition::StepsFile>(file.clone()).is_ok(),
                is_valid,
                "{file}"
            );
        }
    }
}
