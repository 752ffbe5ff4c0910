//! What a model is told about the tools, and what it hears when it calls them wrongly.

use serde_json::json;

use crate::support::Bench;

#[test]
fn names_and_parameters_are_those_models_know() {
    let bench = Bench::new();
    let cases: [(&str, &[&str], &[&str], bool); 6] = [
        ("Read", &["file_path", "offset", "limit"], &["file_path"], true),
        ("Write", &["file_path", "content"], &["file_path", "content"], false),
        (
            "Edit",
            &["file_path", "old_string", "new_string", "replace_all"],
            &["file_path", "old_string", "new_string"],
            false,
        ),
        ("Glob", &["pattern", "path"], &["pattern"], true),
        (
            "Grep",
            &["pattern", "path", "glob", "output_mode", "-i", "-n", "-A", "-B", "-C", "head_limit"],
            &["pattern"],
            true,
        ),
        ("Bash", &["command", "timeout", "description"], &["command"], false),
    ];
    for (name, parameters, required, read_only) in cases {
        let spec = bench.tool(name).spec();
        let schema = &spec.input_schema;
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(properties.keys().collect::<Vec<_>>(), parameters, "{name}");
        assert_eq!(schema["required"], json!(required), "{name}");
        assert_eq!(spec.read_only, read_only, "{name}");
        for (parameter, property) in properties {
            assert!(property["type"].is_string(), "{name} {parameter}: {property}");
            assert!(property["description"].is_string(), "{name} {parameter}: {property}");
        }
    }
    let grep = bench.tool("Grep").spec().input_schema;
    let modes = &grep["properties"]["output_mode"]["enum"];
    assert_eq!(modes, &json!(["content", "files_with_matches", "count"]));
}

#[tokio::test]
async fn wrong_arguments_say_what_was_expected() {
    let bench = Bench::new();
    for name in ["Read", "Write", "Edit", "Glob", "Grep", "Bash"] {
        let error = bench.error(name, json!({})).await;
        assert!(error.contains(name) && error.contains("missing field `"), "{error}");
        bench.error(name, json!(null)).await;
    }
    let error = bench.error("Bash", json!({"command": "ls", "timeout": "1s"})).await;
    assert!(error.contains("`timeout`") && error.contains("expected u64"), "{error}");
    let error = bench.error("Grep", json!({"pattern": "a", "output_mode": "lines"})).await;
    assert!(error.contains("`output_mode`") && error.contains("files_with_matches"), "{error}");
    for (name, args) in [
        ("Read", json!({"file_path": "a", "limit": 0})),
        ("Grep", json!({"pattern": "a", "head_limit": 0})),
        ("Bash", json!({"command": "a", "timeout": 0})),
    ] {
        bench.file("a", "a");
        assert!(bench.error(name, args).await.contains("must be at least 1"));
    }
}
