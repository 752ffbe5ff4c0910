use serde_json::json;

use super::{CellChange, Notebook};

fn notebook() -> String {
    json!({
        "cells": [
            {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "text"]},
            {"cell_type": "code", "id": "calc", "metadata": {"tags": ["x"]}, "execution_count": 3,
             "source": "print(1)\n2",
             "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "2", "text/html": "<b>2</b>"}},
                {"output_type": "display_data", "data": {"image/png": "aGk="}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []},
             ]},
        ],
        "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5,
    })
    .to_string()
}

#[test]
fn cells_are_shown_with_their_outputs() {
    let text = Notebook::parse(&notebook()).unwrap().to_text();
    assert_eq!(
        text,
        "--- Cell intro (markdown) ---\n# Title\ntext\n--- Cell calc (code) ---\nprint(1)\n2\n\
         --- Output of calc ---\n1\n--- Output of calc ---\n2\n--- Output of calc ---\n(image/png)\n\
         --- Output of calc ---\nValueError: no\n"
    );
}

#[test]
fn replacing_a_cell_removes_its_outputs() {
    let mut notebook = Notebook::parse(&notebook()).unwrap();
    let change = CellChange::Replace { source: "a = 1\nb = 2", kind: None };
    assert_eq!(notebook.change(Some("calc"), change).unwrap(), "replaced cell calc");
    let cell = &notebook.cells()[1];
    assert_eq!(cell["source"], json!(["a = 1\n", "b = 2"]));
    assert_eq!((&cell["outputs"], &cell["execution_count"]), (&json!([]), &json!(null)));
    assert_eq!(cell["metadata"], json!({"tags": ["x"]}));
    let change = CellChange::Replace { source: "text", kind: Some("markdown") };
    notebook.change(Some("calc"), change).unwrap();
    let cell = &notebook.cells()[1];
    assert!(cell.get("outputs").is_none() && cell["id"] == "calc" && cell["cell_type"] == "markdown");
}

#[test]
fn cells_are_inserted_and_deleted() {
    let mut notebook = Notebook::parse(&notebook()).unwrap();
    let insert = CellChange::Insert { source: "x", kind: "code" };
    notebook.change(Some("intro"), insert).unwrap();
    notebook.change(None, CellChange::Insert { source: "first", kind: "markdown" }).unwrap();
    let sources: Vec<_> = notebook.cells().iter().map(|cell| super::joined(&cell["source"])).collect();
    assert_eq!(sources, ["first", "# Title\ntext", "x", "print(1)\n2"]);
    assert!(notebook.cells().iter().all(|cell| cell["id"].is_string()));
    notebook.change(Some("intro"), CellChange::Delete).unwrap();
    assert_eq!(notebook.cells().len(), 3);
    let error = notebook.change(Some("intro"), CellChange::Delete).unwrap_err().to_string();
    assert!(
        error.starts_with("there is no cell intro. The cells are: ") && error.contains("calc"),
        "{error}"
    );
    assert!(
        notebook.change(None, CellChange::Delete).unwrap_err().to_string().contains("`cell_id` is required")
    );
    assert!(Notebook::parse(&notebook.write()).is_ok());
}

#[test]
fn cells_of_older_notebooks_are_numbered() {
    let text = r#"{"cells": [{"cell_type": "code", "source": "x", "outputs": []}], "nbformat": 4, "nbformat_minor": 2}"#;
    let mut notebook = Notebook::parse(text).unwrap();
    assert!(notebook.to_text().starts_with("--- Cell cell-0 (code) ---"));
    notebook.change(Some("cell-0"), CellChange::Insert { source: "y", kind: "code" }).unwrap();
    assert!(notebook.cells()[1].get("id").is_none());
}

#[test]
fn an_invalid_notebook_is_an_error() {
    for text in ["", "[]", "{}", r#"{"cells": 1}"#, "not json", "\u{feff}{"] {
        assert!(Notebook::parse(text).unwrap_err().to_string().starts_with("it is not a notebook"), "{text}");
    }
}

#[test]
fn nothing_else_changes() {
    let text = "{\n \"cells\": [],\n \"metadata\": {\n  \"b\": 1,\n  \"a\": 1.0\n },\n \"nbformat\": 4\n}\n";
    assert_eq!(Notebook::parse(text).unwrap().write(), text);
}
