//! Reading and changing notebooks.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use autonoe_tools::ToolErrorCode;
use serde_json::{Value, json};

use crate::support::ToolFixture;

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
    let fixture = ToolFixture::new();
    let path = fixture.file("a.ipynb", notebook());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let text = fixture.ok("Read", json!({"file_path": "a.ipynb"})).await;
    assert_eq!(text, "--- Cell a (code) ---\nx = 1\nx\n--- Output of a ---\n1\n");
    let edit = |args: Value| fixture.ok("NotebookEdit", args);
    let replace = json!({"notebook_path": "a.ipynb", "cell_id": "a", "new_source": "y = 2"});
    assert_eq!(edit(replace).await, "Edited a.ipynb: replaced cell a.");
    let insert = json!({"notebook_path": "a.ipynb", "new_source": "# T", "cell_type": "markdown", "edit_mode": "insert"});
    edit(insert).await;
    let text = fixture.ok("Read", json!({"file_path": "a.ipynb"})).await;
    assert!(text.contains("(markdown) ---\n# T\n--- Cell a (code) ---\ny = 2\n"), "{text}");
    edit(json!({"notebook_path": "a.ipynb", "cell_id": "a", "edit_mode": "delete"})).await;
    let json: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(json["cells"].as_array().unwrap().len(), 1);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[tokio::test]
async fn a_failed_change_leaves_the_notebook_unchanged() {
    use ToolErrorCode::{NotFound, ValidationError};
    let fixture = ToolFixture::new();
    let path = fixture.file("a.ipynb", notebook());
    fixture.file("broken.ipynb", "{");
    fixture.file("a.py", "x");
    for (args, code, text) in [
        (json!({"notebook_path": "a.ipynb", "cell_id": "b"}), ValidationError, "The cells are: a."),
        (json!({"notebook_path": "a.ipynb"}), ValidationError, "`cell_id` is required"),
        (json!({"notebook_path": "a.ipynb", "edit_mode": "insert"}), ValidationError, "`cell_type`"),
        (json!({"notebook_path": "a.ipynb", "edit_mode": "append"}), ValidationError, "`edit_mode`"),
        (json!({"notebook_path": "broken.ipynb", "cell_id": "a"}), ValidationError, "not a notebook"),
        (json!({"notebook_path": "a.py", "cell_id": "a"}), ValidationError, "must end in .ipynb"),
        (json!({"notebook_path": "no.ipynb", "cell_id": "a"}), NotFound, "does not exist"),
    ] {
        let error = fixture.fails("NotebookEdit", args, code).await;
        assert!(error.contains(text), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), notebook());
    // An invalid notebook can still be read as text.
    assert!(fixture.ok("Read", json!({"file_path": "broken.ipynb"})).await.contains("1\t{"));
    fixture.ok("Read", json!({"file_path": "a.ipynb"})).await;
    fs::write(&path, notebook().replace("x = 1", "x = 3")).unwrap();
    let error = fixture.error("NotebookEdit", json!({"notebook_path": "a.ipynb", "cell_id": "a"})).await;
    assert!(error.contains("Read it again"), "{error}");
}
