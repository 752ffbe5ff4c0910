//! The console: permanent lines with one activity line below them.
//!
//! The activity line is drawn with a carriage return and an erase, as seed 000 has it, and only on a terminal. The writer's thread
//! does all writing, so that a run never waits for whatever reads its output.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use autonoe_core::fault::Fault;
use autonoe_core::redact::{Redactor, SecretValues};
use autonoe_report::{escape_controls, escape_json, one_line};
use console::{Style, Term};
use jiff::Timestamp;
use serde_json::json;

use super::activity::{ActivityState, fitted};
use super::wrap::{width, wrapped};
use super::writer::{OutputStream, OutputWriter, stdout_fault};

const REFRESH: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageLevel {
    /// Shown only with more detail than usual.
    Debug,
    Info,
    Good,
    /// A failure that is part of normal work, such as a check that does not pass yet.
    Setback,
    Warning,
    Error,
    Hint,
}

/// What standard output carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Ordinary lines. Warnings, errors and hints always go to standard error.
    Text,
    /// JSON only; everything else goes to standard error.
    Json,
}

/// The only one who prints during a run.
pub struct Console {
    format: OutputFormat,
    redactor: Redactor,
    writer: OutputWriter,
    activity: Mutex<ConsoleActivity>,
}

struct ConsoleActivity {
    /// Whether the activity line may be drawn: standard error is a terminal and the run has not ended.
    live: bool,
    state: ActivityState,
}

impl Console {
    /// Redacts `secrets` and anything that looks like a secret from every line. Calls `on_closed` once when standard output can no longer
    /// be written.
    pub fn new(
        format: OutputFormat,
        secrets: &SecretValues,
        on_closed: impl Fn(&io::Error) + Send + 'static,
    ) -> Result<Self, Fault> {
        let lost_line = match format {
            OutputFormat::Text => lost_text,
            OutputFormat::Json => lost_json,
        };
        let live = io::stderr().is_terminal();
        Ok(Self {
            format,
            redactor: Redactor::default().sharing(secrets),
            writer: OutputWriter::start(lost_line, on_closed).map_err(|error| stdout_fault(&error))?,
            activity: Mutex::new(ConsoleActivity { live, state: ActivityState::default() }),
        })
    }

    /// Refreshes the activity line every second for as long as the console lives.
    pub fn start(self: &Arc<Self>) {
        if !self.lock_activity().live {
            return;
        }
        let console: Weak<Self> = Arc::downgrade(self);
        let refresher = std::thread::Builder::new().spawn(move || {
            while let Some(console) = console.upgrade() {
                console.activity(|_| {});
                drop(console);
                std::thread::sleep(REFRESH);
            }
        });
        // If the thread cannot be started, the line is redrawn only when something happens.
        drop(refresher);
    }

    /// Removes the activity line for good.
    pub fn end_activity(&self) {
        self.lock_activity().live = false;
        self.writer.bottom(None);
    }

    /// Removes the activity line and waits until everything is printed, but not long for output that nobody reads.
    pub fn stop(&self) {
        self.end_activity();
        // There is nobody to tell.
        let _ = self.writer.flush();
    }

    pub fn activity(&self, change: impl FnOnce(&mut ActivityState)) {
        let mut activity = self.lock_activity();
        change(&mut activity.state);
        if activity.live {
            let parts = activity.state.parts();
            // Before anything is cut: half a secret is not recognized.
            let parts: Vec<String> = parts.iter().map(|part| one_line(&self.redactor.text(part))).collect();
            self.writer.bottom((!parts.is_empty()).then(|| activity_line(&parts)));
        }
    }

    /// Text must be redacted before it is truncated: half a secret is not recognized.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Prints a line above the activity line.
    pub fn line(&self, level: MessageLevel, text: &str) {
        self.timed_line(level, "", text);
    }

    /// Prints a line with a time in front, which may be empty.
    pub fn timed_line(&self, level: MessageLevel, time: &str, text: &str) {
        let is_for_stderr = match level {
            MessageLevel::Debug | MessageLevel::Info | MessageLevel::Good | MessageLevel::Setback => false,
            MessageLevel::Warning | MessageLevel::Error | MessageLevel::Hint => true,
        };
        let style = match level {
            MessageLevel::Debug => Style::new().dim(),
            MessageLevel::Info => Style::new(),
            MessageLevel::Good => Style::new().green(),
            MessageLevel::Setback => Style::new().yellow(),
            MessageLevel::Warning => Style::new().yellow(),
            MessageLevel::Error => Style::new().red(),
            MessageLevel::Hint => Style::new().cyan(),
        };
        let (stream, style) = match is_for_stderr || self.format == OutputFormat::Json {
            true => (OutputStream::Err, style.for_stderr()),
            false => (OutputStream::Out, style.for_stdout()),
        };
        let text = escape_controls(&self.redactor.text(text));
        let time = if time.is_empty() { String::new() } else { format!("{time} ") };
        let lines = match width(stream) {
            Some(width) => wrapped(&text, width.saturating_sub(time.len()).max(MIN_WIDTH)),
            None => vec![text],
        };
        let dim = if stream == OutputStream::Err { Style::new().for_stderr() } else { Style::new() }.dim();
        let indent = " ".repeat(time.len());
        for (index, line) in lines.iter().enumerate() {
            let time = if index == 0 { dim.apply_to(time.as_str()) } else { dim.apply_to(indent.as_str()) };
            // Whole lines in colour are hard to read on a light background; what is dim is dim as a whole.
            let coloured = match (level, index) {
                (MessageLevel::Debug, _) => line.len(),
                (_, 0) => tag_length(line),
                (_, _) => 0,
            };
            let (tag, rest) = line.split_at(coloured);
            self.writer.line(stream, format!("{time}{}{rest}\n", style.apply_to(tag)));
        }
    }

    /// Prints one line of JSON to standard output. The caller has redacted it: redacting serialized JSON could break its syntax.
    pub fn json_line(&self, text: &str) {
        self.writer.line(OutputStream::Out, format!("{}\n", escape_json(text)));
    }

    /// Prints a result to standard output; a failure is the caller's.
    pub fn answer(&self, text: String) -> Result<(), Fault> {
        // A file or a program gets it unchanged.
        let text = if io::stdout().is_terminal() { escape_controls(&text) } else { text };
        self.writer.line(OutputStream::Out, text);
        self.writer.flush().map_err(|error| stdout_fault(&error))
    }

    fn lock_activity(&self) -> MutexGuard<'_, ConsoleActivity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Columns of text at least, however narrow the terminal is.
const MIN_WIDTH: usize = 20;

/// The activity line, less prominent than the lines that stay, and not wider than the terminal.
fn activity_line(parts: &[String]) -> String {
    let width = usize::from(Term::stderr().size().1).saturating_sub(1);
    Style::new().for_stderr().dim().apply_to(fitted(parts, width)).to_string()
}

/// Bytes of what a line begins with and is known by: `[PASS]`, `Warning:`. 0 if there is nothing like that.
fn tag_length(line: &str) -> usize {
    let in_brackets = || {
        let (tag, _) = line.strip_prefix('[')?.split_once(']')?;
        tag.chars().all(|c| c.is_ascii_uppercase() || c == ' ').then_some(tag.len() + 2)
    };
    let word = ["Warning:", "error:", "hint:"].into_iter().find(|word| line.starts_with(word));
    word.map(str::len).or_else(in_brackets).unwrap_or(0)
}

fn lost_text(_: OutputStream, count: u64) -> String {
    format!("({count} line(s) are missing here, since the output was not read.)\n")
}

fn lost_json(stream: OutputStream, count: u64) -> String {
    match stream {
        OutputStream::Out => {
            format!("{}\n", json!({ "at": Timestamp::now(), "type": "output_lost", "lines": count }))
        }
        OutputStream::Err => lost_text(stream, count),
    }
}

#[cfg(test)]
mod tests {
    use super::tag_length;

    #[test]
    fn only_the_tag_of_a_line_is_coloured() {
        for (line, tag) in [
            ("[PASS] thing A (A)", "[PASS]"),
            ("[NOT LANDED] diverged", "[NOT LANDED]"),
            ("Warning: the sandbox is disabled", "Warning:"),
            ("error: no key", "error:"),
            ("hint: set one", "hint:"),
            ("All achievable deliverables passed.", ""),
            ("[redacted] is not a tag", ""),
            ("[PASS", ""),
            ("", ""),
        ] {
            assert_eq!(&line[..tag_length(line)], tag, "{line}");
        }
    }
}
