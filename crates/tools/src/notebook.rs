//! Jupyter notebooks: shows cells and outputs as text, and changes cells.

use serde_json::{Map, Value, json};

use crate::cap;

/// The number of characters shown of one output.
const MAX_OUTPUT_CHARS: usize = 5_000;

pub(crate) fn is_notebook(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".ipynb")
}

/// A parsed notebook. Changing a cell leaves everything else as it is.
#[derive(Debug)]
pub(crate) struct Notebook {
    json: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellChange<'a> {
    Replace {
        source: &'a str,
        kind: Option<&'a str>,
    },
    /// Inserts a new cell after the named one, or at the start if none is named.
    Insert {
        source: &'a str,
        kind: &'a str,
    },
    Delete,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NotebookError {
    #[error("it is not a notebook: {0}.")]
    Json(#[from] serde_json::Error),
    #[error("it is not a notebook: `cells` is missing or not a list.")]
    Cells,
    #[error("`cell_id` is required.")]
    NoCellId,
    #[error("there is no cell {id}. The cells are: {}.", known.join(", "))]
    UnknownCell { id: String, known: Vec<String> },
}

impl Notebook {
    pub(crate) fn parse(text: &str) -> Result<Self, NotebookError> {
        let json: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))?;
        match json {
            Value::Object(json) if json.get("cells").is_some_and(Value::is_array) => Ok(Self { json }),
            _ => Err(NotebookError::Cells),
        }
    }

    /// Serializes the notebook in Jupyter's own format.
    pub(crate) fn write(&self) -> String {
        let mut text = Vec::new();
        let indent = serde_json::ser::PrettyFormatter::with_indent(b" ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, indent);
        // Writing parsed JSON to memory cannot fail.
        let _ = serde::Serialize::serialize(&self.json, &mut serializer);
        String::from_utf8_lossy(&text).into_owned() + "\n"
    }

    fn cells(&self) -> &[Value] {
        self.json.get("cells").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn cells_mut(&mut self) -> Option<&mut Vec<Value>> {
        self.json.get_mut("cells").and_then(Value::as_array_mut)
    }

    /// All cells with their ids and outputs, as text.
    pub(crate) fn to_text(&self) -> String {
        let cells = self.cells().iter().enumerate().map(|(index, cell)| {
            let (id, kind) = (id_of(cell, index), kind_of(cell));
            let mut text = format!("--- Cell {id} ({kind}) ---\n{}\n", joined(&cell["source"]).trim_end());
            for output in cell["outputs"].as_array().into_iter().flatten() {
                let output = cap::truncate_line(output_text(output).trim_end(), MAX_OUTPUT_CHARS);
                text.push_str(&format!("--- Output of {id} ---\n{output}\n"));
            }
            text
        });
        cells.collect()
    }

    /// Changes a cell and returns a description. A cell has an id of its own or, in older notebooks, `cell-0` and so on.
    pub(crate) fn change(
        &mut self,
        id: Option<&str>,
        change: CellChange<'_>,
    ) -> Result<String, NotebookError> {
        let index = id.map(|id| self.find(id)).transpose()?;
        let has_cell_ids = self.has_cell_ids();
        let Some(cells) = self.cells_mut() else { return Err(NotebookError::Cells) };
        match change {
            CellChange::Insert { source, kind } => {
                let at = index.map_or(0, |index| index + 1);
                let mut cell = new_cell(kind, source);
                if has_cell_ids {
                    cell["id"] = format!("{:08x}", fastrand::u32(..)).into();
                }
                let id = id_of(&cell, at);
                cells.insert(at, cell);
                Ok(format!("inserted cell {id}"))
            }
            CellChange::Delete => {
                let index = index.ok_or(NotebookError::NoCellId)?;
                let cell = cells.remove(index);
                Ok(format!("deleted cell {}", id_of(&cell, index)))
            }
            CellChange::Replace { source, kind } => {
                let index = index.ok_or(NotebookError::NoCellId)?;
                let cell = &mut cells[index];
                if let Some(kind) = kind.filter(|kind| *kind != kind_of(cell)) {
                    let mut changed = new_cell(kind, source);
                    for kept in ["id", "metadata"] {
                        if let Some(value) = cell.get(kept) {
                            changed[kept] = value.clone();
                        }
                    }
                    *cell = changed;
                } else {
                    cell["source"] = lines(source);
                    if cell.get("outputs").is_some() {
                        // The outputs belong to the old source.
                        cell["outputs"] = json!([]);
                        cell["execution_count"] = Value::Null;
                    }
                }
                Ok(format!("replaced cell {}", id_of(cell, index)))
            }
        }
    }

    fn find(&self, id: &str) -> Result<usize, NotebookError> {
        let ids = || self.cells().iter().enumerate().map(|(index, cell)| id_of(cell, index));
        ids()
            .position(|known| known == id)
            .ok_or_else(|| NotebookError::UnknownCell { id: id.to_owned(), known: ids().take(50).collect() })
    }

    /// Whether the format is at least version 4.5, in which cells have ids.
    fn has_cell_ids(&self) -> bool {
        let number = |key: &str| self.json.get(key).and_then(Value::as_u64).unwrap_or(0);
        (number("nbformat"), number("nbformat_minor")) >= (4, 5)
    }
}

fn id_of(cell: &Value, index: usize) -> String {
    cell["id"].as_str().map_or_else(|| format!("cell-{index}"), str::to_owned)
}

fn kind_of(cell: &Value) -> &str {
    cell["cell_type"].as_str().unwrap_or("unknown")
}

fn new_cell(kind: &str, source: &str) -> Value {
    let mut cell = json!({ "cell_type": kind, "metadata": {}, "source": lines(source) });
    if kind == "code" {
        cell["execution_count"] = Value::Null;
        cell["outputs"] = json!([]);
    }
    cell
}

/// Notebooks store text as a list of lines with their line endings.
fn lines(text: &str) -> Value {
    text.split_inclusive('\n').collect()
}

/// Text that is stored as a string or as a list of strings.
fn joined(text: &Value) -> String {
    match text {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn output_text(output: &Value) -> String {
    match output["output_type"].as_str() {
        Some("stream") => joined(&output["text"]),
        Some("error") => {
            let (name, value) = (&output["ename"], &output["evalue"]);
            format!("{}: {}", name.as_str().unwrap_or("Error"), value.as_str().unwrap_or(""))
        }
        _ => {
            let data = output["data"].as_object();
            match data.and_then(|data| data.get("text/plain")) {
                Some(text) => joined(text),
                None => {
                    let kinds: Vec<_> = data.into_iter().flat_map(|data| data.keys().cloned()).collect();
                    format!("({})", kinds.join(", "))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
