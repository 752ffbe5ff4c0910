//! Talking with a program in lines of JSON.

use std::io;

use autonoe_sandbox::{BoundedLines, Launch, Program};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::unix::pipe;

/// How much of a line that is not a message is told.
const MAX_NOISE_CHARS: usize = 200;

/// A program and the lines to and from it.
pub(crate) struct JsonLineProcess {
    pub program: Program,
    lines: Lines<BufReader<BoundedLines<pipe::Receiver>>>,
    input: Option<pipe::Sender>,
}

/// What a program said.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    /// A message.
    Message(Value),
    /// A line that is none, or the beginning of it.
    Noise(String),
    /// Nothing more will come.
    End,
}

impl JsonLineProcess {
    /// Starts the program.
    pub(crate) fn start(launch: Launch) -> io::Result<Self> {
        let (program, (output, input)) = Program::start(launch)?;
        Ok(Self { program, lines: BufReader::new(output).lines(), input: Some(input) })
    }

    /// Says something. A program that does not listen any more will be heard to end.
    pub(crate) async fn say(&mut self, message: &Value) {
        if let Some(input) = &mut self.input {
            let mut line = message.to_string();
            line.push('\n');
            let _ = input.write_all(line.as_bytes()).await;
        }
    }

    /// Gives it a text, and nothing after it.
    pub(crate) async fn give(&mut self, text: &str) {
        if let Some(mut input) = self.input.take() {
            let _ = input.write_all(text.as_bytes()).await;
        }
    }

    /// The next thing that it says. Cancel safe.
    pub(crate) async fn hear(&mut self) -> Heard {
        loop {
            // A line that cannot be read, for it has no end or is not text, is the end of the conversation.
            let Ok(Some(line)) = self.lines.next_line().await else {
                return Heard::End;
            };
            if line.trim().is_empty() {
                continue;
            }
            return match serde_json::from_str(&line) {
                Ok(message @ Value::Object(_)) => Heard::Message(message),
                Ok(_) | Err(_) => Heard::Noise(line.chars().take(MAX_NOISE_CHARS).collect()),
            };
        }
    }

    /// Closes its input: there is nothing more to say.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }
}
