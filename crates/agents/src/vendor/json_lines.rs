//! A program that communicates in lines of JSON.

use std::io;

use autonoe_sandbox::{BoundedLines, Launch, PipedProgram};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::unix::pipe;

use super::noise::ProtocolNoise;

/// Lines that are not messages are cut to this length.
const MAX_NOISE_CHARS: usize = 200;

pub(crate) struct JsonLineProcess {
    pub program: PipedProgram,
    lines: Lines<BufReader<BoundedLines<pipe::Receiver>>>,
    input: Option<pipe::Sender>,
}

#[derive(Debug)]
pub(crate) enum ProcessOutput {
    Message(Value),
    /// A line that is not a JSON object, cut to [`MAX_NOISE_CHARS`].
    Noise(ProtocolNoise),
    /// The output is closed.
    End,
}

impl JsonLineProcess {
    pub(crate) fn start(launch: Launch) -> io::Result<Self> {
        let (program, (output, input)) = PipedProgram::start(launch)?;
        Ok(Self { program, lines: BufReader::new(output).lines(), input: Some(input) })
    }

    /// Write errors are ignored: a program that has closed its input is reported by the end of its output.
    pub(crate) async fn send(&mut self, message: &Value) {
        if let Some(input) = &mut self.input {
            let mut line = message.to_string();
            line.push('\n');
            let _ = input.write_all(line.as_bytes()).await;
        }
    }

    /// Sends plain text and closes the input.
    pub(crate) async fn send_text_and_close(&mut self, text: &str) {
        if let Some(mut input) = self.input.take() {
            let _ = input.write_all(text.as_bytes()).await;
        }
    }

    /// The next output. Cancel safe.
    pub(crate) async fn next(&mut self) -> ProcessOutput {
        // A line that is too long or not UTF-8 ends the communication.
        let Ok(Some(line)) = self.lines.next_line().await else {
            return ProcessOutput::End;
        };
        match serde_json::from_str(&line) {
            Ok(message @ Value::Object(_)) => ProcessOutput::Message(message),
            Ok(_) | Err(_) => {
                let text = line.trim().chars().take(MAX_NOISE_CHARS).collect();
                ProcessOutput::Noise(ProtocolNoise::Line { text, bytes: line.len() })
            }
        }
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }
}
