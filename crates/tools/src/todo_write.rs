//! The TodoWrite tool: the model's own to-do list, kept for the session.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args;
use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::output::ToolOutput;
use crate::tool::{Tool, ToolSpec};

/// The maximum number of entries.
const MAX_ENTRIES: usize = 200;
/// The maximum length of an entry, in characters.
const MAX_ENTRY_CHARS: usize = 1_000;

#[derive(Debug, Default)]
pub struct TodoWriteTool {
    list: Mutex<Vec<TodoItem>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct TodoWriteArgs {
    /// The complete updated list.
    todos: Vec<TodoItem>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TodoItem {
    /// What to do, such as "Run the tests".
    content: String,
    /// The progress of this entry.
    status: TodoStatus,
    /// The same in the present continuous, such as "Running the tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active_form: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

impl TodoStatus {
    fn mark(self) -> char {
        match self {
            Self::Pending => ' ',
            Self::InProgress => '>',
            Self::Completed => 'x',
        }
    }
}

impl TodoWriteTool {
    fn write(&self, args: Value) -> Result<ToolOutput, ToolFailure> {
        let TodoWriteArgs { todos } = args::parse("TodoWrite", args)?;
        if todos.len() > MAX_ENTRIES {
            return Err(ToolFailure::invalid(format!("`todos` may have at most {MAX_ENTRIES} entries.")));
        }
        for (index, entry) in todos.iter().enumerate() {
            let length = entry.content.chars().count();
            if entry.content.trim().is_empty() || length > MAX_ENTRY_CHARS {
                return Err(ToolFailure::invalid(format!(
                    "`todos[{index}].content` must have between 1 and {MAX_ENTRY_CHARS} characters."
                )));
            }
        }
        let count = |status| todos.iter().filter(|entry| entry.status == status).count();
        let (pending, active, done) =
            (count(TodoStatus::Pending), count(TodoStatus::InProgress), count(TodoStatus::Completed));
        let lines = todos
            .iter()
            .zip(1..)
            .map(|(entry, number)| format!("{number}. [{}] {}", entry.status.mark(), entry.content));
        let shown = match todos.len() {
            0 => "The list is empty.".to_owned(),
            _ => lines.collect::<Vec<_>>().join("\n"),
        };
        let output = ToolOutput::ok(shown)
            .titled(format!("{done} of {} done", todos.len()))
            .with("todos", json!(todos))
            .with("counts", json!({ "pending": pending, "in_progress": active, "completed": done }));
        *self.list.lock().unwrap_or_else(PoisonError::into_inner) = todos;
        Ok(output)
    }
}

#[async_trait]
impl Tool for TodoWriteTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "TodoWrite".to_owned(),
            description: "Keeps your to-do list for this session. Send the complete list each time; it replaces the \
                          previous one. Useful for work in several steps: have one entry in_progress at a time, and \
                          mark it completed as soon as it is done."
                .to_owned(),
            input_schema: args::schema::<TodoWriteArgs>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        self.write(args).unwrap_or_else(ToolOutput::from)
    }
}
