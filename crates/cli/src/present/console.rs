//! The console: log lines and the one activity line below them, which never collide.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use console::Style;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::activity::ActivityState;

/// How often the activity line is drawn anew.
const REFRESH: Duration = Duration::from_secs(1);

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Details, in debug mode only.
    Debug,
    /// What is going on.
    Info,
    /// Something to be noticed.
    Warning,
    /// Something that failed.
    Error,
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
    bar: ProgressBar,
    activity: Arc<Mutex<ActivityState>>,
    closed: AtomicBool,
    on_closed: Box<dyn Fn() + Send + Sync>,
}

impl Console {
    /// A console whose ordinary lines go to `stream`. `on_closed` is called once when nobody reads them any more.
    pub fn new(stream: Stream, on_closed: impl Fn() + Send + Sync + 'static) -> Self {
        let activity = Arc::new(Mutex::new(ActivityState::default()));
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target).with_style(style(&activity));
        Self { stream, bar, activity, closed: AtomicBool::new(false), on_closed: Box::new(on_closed) }
    }

    /// Begins to show the activity line.
    pub fn start(&self) {
        self.bar.enable_steady_tick(REFRESH);
    }

    /// Takes the activity line away for good.
    pub fn stop(&self) {
        self.bar.finish_and_clear();
    }

    /// Changes what the activity line says.
    pub fn activity(&self, change: impl FnOnce(&mut ActivityState)) {
        change(&mut self.activity.lock().unwrap_or_else(PoisonError::into_inner));
        self.bar.tick();
    }

    /// Prints a line above the activity line.
    pub fn line(&self, level: Level, text: &str) {
        let to_stderr = self.stream == Stream::Err || matches!(level, Level::Warning | Level::Error);
        let style = match level {
            Level::Debug => Style::new().dim(),
            Level::Info => Style::new(),
            Level::Warning => Style::new().yellow(),
            Level::Error => Style::new().red(),
        };
        let style = if to_stderr { style.for_stderr() } else { style.for_stdout() };
        self.bar.suspend(|| {
            if to_stderr {
                let _ = writeln!(io::stderr(), "{}", style.apply_to(text));
            } else {
                let written = writeln!(io::stdout(), "{}", style.apply_to(text));
                self.notice(written);
            }
        });
    }

    /// Prints raw text on standard output, which belongs to a program.
    pub fn raw_line(&self, text: &str) {
        self.bar.suspend(|| {
            let written = writeln!(io::stdout(), "{text}");
            self.notice(written);
        });
    }

    fn notice(&self, written: io::Result<()>) {
        if written.is_err() && !self.closed.swap(true, Ordering::SeqCst) {
            (self.on_closed)();
        }
    }
}

fn style(activity: &Arc<Mutex<ActivityState>>) -> ProgressStyle {
    let activity = Arc::clone(activity);
    let draw = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
        let state = activity.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = write!(out, "{}", Style::new().for_stderr().cyan().apply_to(state.line()));
    };
    ProgressStyle::with_template("{activity}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("activity", draw)
}
