//! Notebooks, read and changed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use autonoe_tools::ToolErrorCode;
use serde_json::{Value, json};

use crate::support::Bench;

fn notebook() -> String {
    json!({
        "cells": [
            {"cell_type": "code", "id": "a", "metadata": {}, "source": ["x = 1\n", "x"], "execution_count": 1,
             "outputs": [{"output_type": "execute_result", "data": {"text/plain": ["1"]}}]},
        ],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    })
    .to_string()
}

#[tokio::test]
async fn cells_are_read_and_changed() {
    let bench = Bench::new();
    let path = bench.file("a.ipynb", notebook());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let text = bench.ok("Read", json!({"file_path": "a.ipynb"})).await;
    assert_eq!(text, "--- Cell a (code) ---\nx = 1\nx\n--- Output of a ---\n1\n");
    let edit = |args: Value| bench.ok("NotebookEdit", args);
    let replace = json!({"notebook_path": "a.ipynb", "cell_id": "a", "new_source": "y = 2"});
    assert_eq!(edit(replace).await, "Edited a.ipynb: replaced cell a.");
    let insert = json!({"notebook_path": "a.ipynb", "new_source": "# T", "cell_type": "markdown", "edit_mode": "insert"});
    edit(insert).await;
    let text = bench.ok("Read", json!({"file_path": "a.ipynb"})).await;
    assert!(text.contains("(markdown) ---\n# T\n--- Cell a (code) ---\ny = 2\n"), "{text}");
    edit(json!({"notebook_path": "a.ipynb", "cell_id": "a", "edit_mode": "delete"})).await;
    let json: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(json["cells"].as_array().unwrap().len(), 1);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[tokio::test]
async fn what_cannot_be_done_changes_nothing() {
    use ToolErrorCode::{NotFound, ValidationError};
    let bench = Bench::new();
    let path = bench.file("a.ipynb", notebook());
    bench.file("broken.ipynb", "{");
    bench.file("a.py", "x");
    for (args, code, said) in [
        (json!({"notebook_path": "a.ipynb", "cell_id": "b"}), ValidationError, "There are: a."),
        (json!({"notebook_path": "a.ipynb"}), ValidationError, "`cell_id` is needed"),
        (json!({"notebook_path": "a.ipynb", "edit_mode": "insert"}), ValidationError, "`cell_type`"),
        (json!({"notebook_path": "a.ipynb", "edit_mode": "append"}), ValidationError, "`edit_mode`"),
        (json!({"notebook_path": "broken.ipynb", "cell_id": "a"}), ValidationError, "no notebook"),
        (json!({"notebook_path": "a.py", "cell_id": "a"}), ValidationError, "must end in .ipynb"),
        (json!({"notebook_path": "no.ipynb", "cell_id": "a"}), NotFound, "does not exist"),
    ] {
        let error = bench.fails("NotebookEdit", args, code).await;
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), notebook());
    // One that is broken can still be read, as text.
    assert!(bench.ok("Read", json!({"file_path": "broken.ipynb"})).await.contains("1\t{"));
    bench.ok("Read", json!({"file_path": "a.ipynb"})).await;
    fs::write(&path, notebook().replace("x = 1", "x = 3")).unwrap();
    let error = bench.error("NotebookEdit", json!({"notebook_path": "a.ipynb", "cell_id": "a"})).await;
    assert!(error.contains("Read it again"), "{error}");
}
