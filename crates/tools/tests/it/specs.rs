//! The descriptions of the tools for a model, and the errors for invalid arguments.

use serde_json::json;

use crate::support::ToolFixture;

#[test]
fn names_and_parameters_are_those_of_claude_code() {
    let fixture = ToolFixture::new();
    let cases: [(&str, &[&str], &[&str], bool); 13] = [
        ("Read", &["file_path", "offset", "limit", "pages"], &["file_path"], true),
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
        ("MultiEdit", &["file_path", "edits"], &["file_path", "edits"], false),
        ("Bash", &["command", "timeout", "description", "run_in_background"], &["command"], false),
        ("BashOutput", &["bash_id", "filter"], &["bash_id"], true),
        ("KillShell", &["shell_id"], &["shell_id"], false),
        (
            "NotebookEdit",
            &["notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"],
            &["notebook_path"],
            false,
        ),
        ("WebFetch", &["url", "prompt"], &["url"], true),
        ("TodoWrite", &["todos"], &["todos"], false),
        ("Skill", &["skill"], &["skill"], true),
    ];
    for (name, parameters, required, read_only) in cases {
        let spec = fixture.tool(name).spec();
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
    let grep = fixture.tool("Grep").spec().input_schema;
    let modes = &grep["properties"]["output_mode"]["enum"];
    assert_eq!(modes, &json!(["content", "files_with_matches", "count"]));
}

#[tokio::test]
async fn errors_for_invalid_arguments_name_the_expected_type() {
    let fixture = ToolFixture::new();
    for name in [
        "Read",
        "Write",
        "Edit",
        "MultiEdit",
        "NotebookEdit",
        "Glob",
        "Grep",
        "Bash",
        "BashOutput",
        "KillShell",
        "WebFetch",
        "TodoWrite",
        "Skill",
    ] {
        let error = fixture.error(name, json!({})).await;
        assert!(error.contains(name) && error.contains("missing field `"), "{error}");
        for invalid in
            [json!(null), json!([1]), json!("text"), json!({"file_path": 1, "url": {}, "todos": "x"})]
        {
            fixture.fails(name, invalid, autonoe_tools::ToolErrorCode::ValidationError).await;
        }
    }
    let error = fixture.error("Bash", json!({"command": "ls", "timeout": "1s"})).await;
    assert!(error.contains("`timeout`") && error.contains("expected u64"), "{error}");
    let error = fixture.error("Grep", json!({"pattern": "a", "output_mode": "lines"})).await;
    assert!(error.contains("`output_mode`") && error.contains("files_with_matches"), "{error}");
    for (name, args) in [
        ("Read", json!({"file_path": "a", "limit": 0})),
        ("Grep", json!({"pattern": "a", "head_limit": 0})),
        ("Bash", json!({"command": "a", "timeout": 0})),
    ] {
        fixture.file("a", "a");
        assert!(fixture.error(name, args).await.contains("must be at least 1"));
    }
}
