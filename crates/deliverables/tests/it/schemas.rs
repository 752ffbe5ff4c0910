//! Tool descriptions as the model sees them. The snapshots are the contract.

use autonoe_core::instruction::{DeliverableTool, Phase};
use autonoe_deliverables::spec;
use serde_json::{Value, json};

/// All tools of a phase, as offered.
fn offered(phase: Phase) -> String {
    let tools: Vec<Value> = phase
        .tools()
        .iter()
        .map(|tool| {
            let spec = spec(*tool, phase);
            json!({ "name": spec.name, "description": spec.description, "read_only": spec.read_only, "input_schema": spec.input_schema })
        })
        .collect();
    serde_json::to_string_pretty(&tools).unwrap()
}

#[test]
fn the_tools_of_each_phase() {
    for phase in Phase::ALL {
        insta::assert_snapshot!(format!("tools_in_{phase}"), offered(phase));
    }
}

/// Every property of a schema, at any depth, with its path.
fn properties(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        found.push((path.clone(), property.clone()));
        properties(property, &path, found);
        properties(&property["items"], &format!("{path}[]"), found);
    }
}

#[test]
fn every_tool_and_property_has_a_description_and_no_reference() {
    for phase in Phase::ALL {
        for tool in DeliverableTool::ALL {
            let spec = spec(tool, phase);
            assert_eq!(spec.name, tool.name());
            assert!(spec.description.ends_with('.'), "{tool:?}: {}", spec.description);
            assert_eq!(spec.read_only, tool == DeliverableTool::List);
            assert_eq!(spec.input_schema["type"], "object", "{tool:?}");
            let text = spec.input_schema.to_string();
            assert!(!text.contains("$ref") && !text.contains("$schema"), "{tool:?}: {text}");
            let mut found = Vec::new();
            properties(&spec.input_schema, tool.name(), &mut found);
            assert!(!found.is_empty(), "{tool:?}");
            for (path, property) in found {
                let described = property["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(described, "{path} in {phase}: {property}");
            }
        }
    }
}

#[test]
fn verified_is_offered_as_a_filter_in_the_verify_phase_only() {
    for phase in Phase::ALL {
        let schema = spec(DeliverableTool::List, phase).input_schema;
        let filter = &schema["properties"]["filter"]["properties"];
        assert!(filter["status"].is_object(), "{phase}: {schema}");
        assert_eq!(filter["verified"].is_object(), phase == Phase::Verify, "{phase}: {schema}");
    }
}
