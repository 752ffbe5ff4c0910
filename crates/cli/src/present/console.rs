//! The console: permanent lines with one activity line below them.
//!
//! The activity line is drawn with a carriage return and an erase, as seed 000 has it, and only on a terminal. Every
//! write goes through one lock: erase the activity line, print, draw it again.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use autonoe_core::redact::{Redactor, SecretValues};
use console::{Style, Term, truncate_str};

use super::activity::ActivityState;

const REFRESH: Duration = Duration::from_secs(1);

const ERASE_LINE: &str = "\r\x1b[K";

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

/// Where ordinary lines go. Warnings, errors and hints always go to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    Out,
    /// Used when standard output carries JSON.
    Err,
}

/// The only writer to the terminal during a run.
pub struct Console {
    stream: OutputStream,
    redactor: Redactor,
    screen: Mutex<ScreenState>,
    closed: AtomicBool,
    on_closed: Box<dyn Fn(&io::Error) + Send + Sync>,
}

struct ScreenState {
    /// Whether the activity line may be drawn: standard error is a terminal and the console is not stopped.
    live: bool,
    /// Whether the activity line is on the screen now.
    shown: bool,
    activity: ActivityState,
}

impl Console {
    /// Redacts `secrets` and anything that looks like a secret from every line. Calls `on_closed` once when standard output can no longer
    /// be written.
    pub fn new(
        stream: OutputStream,
        secrets: &SecretValues,
        on_closed: impl Fn(&io::Error) + Send + Sync + 'static,
    ) -> Self {
        let screen = ScreenState {
            live: io::stderr().is_terminal(),
            shown: false,
            activity: ActivityState::default(),
        };
        Self {
            stream,
            redactor: Redactor::default().sharing(secrets),
            screen: Mutex::new(screen),
            closed: AtomicBool::new(false),
            on_closed: Box::new(on_closed),
        }
    }

    /// Refreshes the activity line every second for as long as the console lives.
    pub fn start(self: &Arc<Self>) {
        if !self.screen().live {
            return;
        }
        let console: Weak<Self> = Arc::downgrade(self);
        let refresher = std::thread::Builder::new().spawn(move || {
            while let Some(console) = console.upgrade() {
                console.screen().draw(&console.redactor);
                drop(console);
                std::thread::sleep(REFRESH);
            }
        });
        // If the thread cannot be started, the line is redrawn only when something happens.
        drop(refresher);
    }

    /// Removes the activity line for good.
    pub fn stop(&self) {
        let mut screen = self.screen();
        screen.erase();
        screen.live = false;
    }

    pub fn activity(&self, change: impl FnOnce(&mut ActivityState)) {
        let mut screen = self.screen();
        change(&mut screen.activity);
        screen.draw(&self.redactor);
    }

    /// Text must be redacted before it is truncated: half a secret is not recognized.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Prints a line above the activity line.
    pub fn line(&self, level: MessageLevel, text: &str) {
        let to_stderr = self.stream == OutputStream::Err
            || match level {
                MessageLevel::Debug | MessageLevel::Info | MessageLevel::Good | MessageLevel::Setback => {
                    false
                }
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
        let style = if to_stderr { style.for_stderr() } else { style.for_stdout() };
        let text = style.apply_to(self.redactor.text(text));
        self.print(|| match to_stderr {
            // There is nowhere left to report that standard error is closed.
            true => writeln!(io::stderr(), "{text}").or(Ok(())),
            false => writeln!(io::stdout(), "{text}"),
        });
    }

    /// Prints one line of JSON to standard output. The caller has redacted it: redacting serialized JSON could break its syntax.
    pub fn json_line(&self, text: &str) {
        self.print(|| writeln!(io::stdout(), "{text}"));
    }

    fn print(&self, write: impl FnOnce() -> io::Result<()>) {
        let mut screen = self.screen();
        screen.erase();
        let written = write();
        screen.draw(&self.redactor);
        drop(screen);
        if let Err(error) = written
            && !self.closed.swap(true, Ordering::SeqCst)
        {
            (self.on_closed)(&error);
        }
    }

    fn screen(&self) -> MutexGuard<'_, ScreenState> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ScreenState {
    fn draw(&mut self, redactor: &Redactor) {
        let line = self.activity.line();
        let line = redactor.text(&line);
        if !self.live || line.is_empty() {
            return self.erase();
        }
        let width = usize::from(Term::stderr().size().1).saturating_sub(1);
        let line = Style::new().for_stderr().cyan().apply_to(truncate_str(&line, width, "…")).to_string();
        let _ = write!(io::stderr(), "{ERASE_LINE}{line}");
        self.shown = true;
    }

    fn erase(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "{ERASE_LINE}");
            self.shown = false;
        }
    }
}
