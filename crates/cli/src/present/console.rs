//! The console: log lines and the one activity line below them, which never collide.
//!
//! The activity line is drawn with a carriage return and an erase, as seed 000 has it, and only on a terminal. Every
//! write goes through one lock: erase the activity line, print, draw it again.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use autonoe_core::redact::Redactor;
use console::{Style, Term, truncate_str};

use super::activity::ActivityState;

/// How often the activity line is drawn anew.
const REFRESH: Duration = Duration::from_secs(1);

const ERASE_LINE: &str = "\r\x1b[K";

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Details, in debug mode only.
    Debug,
    /// What is going on.
    Info,
    /// Something that went well.
    Good,
    /// Something that did not, without being an error.
    Setback,
    /// Something to be noticed.
    Warning,
    /// Something that failed.
    Error,
    /// What to do about it.
    Hint,
}

/// Where ordinary lines go. Warnings and errors always go to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error, when standard output belongs to JSON.
    Err,
}

/// The one owner of the terminal.
pub struct Console {
    stream: Stream,
    redactor: Redactor,
    screen: Mutex<Screen>,
    closed: AtomicBool,
    on_closed: Box<dyn Fn(&io::Error) + Send + Sync>,
}

/// The activity line and whether it can be and is on the screen.
struct Screen {
    live: bool,
    shown: bool,
    activity: ActivityState,
}

impl Console {
    /// A console whose ordinary lines go to `stream`. Secrets are redacted of every line, `secrets` among them;
    /// `on_closed` is called once when standard output can no longer be written.
    pub fn new(
        stream: Stream,
        secrets: Vec<String>,
        on_closed: impl Fn(&io::Error) + Send + Sync + 'static,
    ) -> Self {
        let screen =
            Screen { live: io::stderr().is_terminal(), shown: false, activity: ActivityState::default() };
        Self {
            stream,
            redactor: Redactor::new(&secrets),
            screen: Mutex::new(screen),
            closed: AtomicBool::new(false),
            on_closed: Box::new(on_closed),
        }
    }

    /// Keeps the activity line up to date for as long as the console lives.
    pub fn start(self: &Arc<Self>) {
        if !self.screen().live {
            return;
        }
        let console: Weak<Self> = Arc::downgrade(self);
        let keeping = std::thread::Builder::new().spawn(move || {
            while let Some(console) = console.upgrade() {
                console.screen().draw(&console.redactor);
                drop(console);
                std::thread::sleep(REFRESH);
            }
        });
        // Without a thread for it the line is drawn only when something happens.
        drop(keeping);
    }

    /// Takes the activity line away for good.
    pub fn stop(&self) {
        let mut screen = self.screen();
        screen.erase();
        screen.live = false;
    }

    /// Changes what the activity line says.
    pub fn activity(&self, change: impl FnOnce(&mut ActivityState)) {
        let mut screen = self.screen();
        change(&mut screen.activity);
        screen.draw(&self.redactor);
    }

    /// What redacts secrets: anyone who cuts a text must have it redacted before.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Prints a line above the activity line.
    pub fn line(&self, level: Level, text: &str) {
        let to_stderr = self.stream == Stream::Err
            || match level {
                Level::Debug | Level::Info | Level::Good | Level::Setback => false,
                Level::Warning | Level::Error | Level::Hint => true,
            };
        let style = match level {
            Level::Debug => Style::new().dim(),
            Level::Info => Style::new(),
            Level::Good => Style::new().green(),
            Level::Setback => Style::new().yellow(),
            Level::Warning => Style::new().yellow(),
            Level::Error => Style::new().red(),
            Level::Hint => Style::new().cyan(),
        };
        let style = if to_stderr { style.for_stderr() } else { style.for_stdout() };
        let text = style.apply_to(self.redactor.text(text));
        self.print(|| match to_stderr {
            // Nobody can be told that standard error is gone.
            true => writeln!(io::stderr(), "{text}").or(Ok(())),
            false => writeln!(io::stdout(), "{text}"),
        });
    }

    /// Prints a line of JSON on standard output, which belongs to a program. Secrets must be out of it: in JSON text
    /// they cannot be redacted without harm.
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

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Screen {
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
