//! TodoWrite: the model's own list of what is to do, kept for the session.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::{Tool, ToolContext, ToolOutput, ToolSpec, args};

/// How many entries a list may have.
const MAX_ENTRIES: usize = 200;
/// How many characters an entry may have.
const MAX_ENTRY_CHARS: usize = 1_000;

/// The tool `TodoWrite`.
#[derive(Debug, Default)]
pub struct TodoWrite {
    list: Mutex<Vec<Entry>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The whole list, as it now is.
    todos: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Entry {
    /// What is to do, such as "Run the tests".
    content: String,
    /// How far it is.
    status: Status,
    /// What is being done, such as "Running the tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active_form: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Status {
    fn mark(self) -> char {
        match self {
            Self::Pending => ' ',
            Self::InProgress => '>',
            Self::Completed => 'x',
        }
    }
}

impl TodoWrite {
    fn write(&self, args: Value) -> Result<ToolOutput, Failure> {
        let Args { todos } = args::parse("TodoWrite", args)?;
        if todos.len() > MAX_ENTRIES {
            return Err(Failure::invalid(format!("`todos` may have at most {MAX_ENTRIES} entries.")));
        }
        for (index, entry) in todos.iter().enumerate() {
            let length = entry.content.chars().count();
            if entry.content.trim().is_empty() || length > MAX_ENTRY_CHARS {
                return Err(Failure::invalid(format!(
                    "`todos[{index}].content` must have between 1 and {MAX_ENTRY_CHARS} characters."
                )));
            }
        }
        let count = |status| todos.iter().filter(|entry| entry.status == status).count();
        let (pending, active, done) =
            (count(Status::Pending), count(Status::InProgress), count(Status::Completed));
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
impl Tool for TodoWrite {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "TodoWrite".to_owned(),
            description: "Keeps your list of what is to do in this session. Send the whole list each time; it replaces \
                          the one before. Useful for work of several steps: have one entry in_progress at a time, and \
                          mark it completed as soon as it is done."
                .to_owned(),
            input_schema: args::schema::<Args>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        self.write(args).unwrap_or_else(ToolOutput::from)
    }
}
