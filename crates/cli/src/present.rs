//! What a person sees. One owner of the terminal: log lines stay, the activity line passes.

mod activity;
mod console;
mod json;
mod moment;
mod presenter;
mod screen;
mod words;

pub use console::{Console, Level, Stream};
pub use json::JsonSink;
pub use moment::local_time;
pub use presenter::{Detail, Presenter};
pub use screen::Screen;
pub use words::{assurance, cost, cut, debug_line, ending, passed, status_tag};

use std::io::{self, Write};

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use clap::builder::StyledStr;

/// Prints a fault that ends the program: what happened, then what to do.
pub fn report_fault(fault: &Fault, redactor: &Redactor) {
    let red = ::console::Style::new().for_stderr().red().bold();
    let cyan = ::console::Style::new().for_stderr().cyan();
    let _ = writeln!(io::stderr(), "{} {}", red.apply_to("error:"), redactor.text(&fault.message));
    if let Some(hint) = &fault.hint {
        let _ = writeln!(io::stderr(), "{} {}", cyan.apply_to("hint:"), redactor.text(hint));
    }
}

/// Says something to a person while there is no console yet.
pub fn notice(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Warns of something, beside what a command prints.
pub fn warn(message: &str) {
    let yellow = ::console::Style::new().for_stderr().yellow().bold();
    let _ = writeln!(io::stderr(), "{} {message}", yellow.apply_to("warning:"));
}

/// Prints styled help, with colour only on a terminal.
pub fn print_ansi(text: &StyledStr) {
    let colours = ::console::colors_enabled();
    print(&if colours { text.ansi().to_string() } else { text.to_string() });
}

/// Prints text on standard output. A reader that went away ends us quietly, but not as if all had been told.
pub fn print(text: &str) {
    if let Err(error) = write(text) {
        if error.kind() != io::ErrorKind::BrokenPipe {
            report_fault(&unwritten(&error), &Redactor::new(&[]));
        }
        std::process::exit(i32::from(exit::ERROR));
    }
}

/// Prints on standard output what somebody asked for and waits for.
pub fn print_answer(text: &str) -> Result<(), Fault> {
    write(text).map_err(|error| unwritten(&error))
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

fn unwritten(error: &io::Error) -> Fault {
    Fault::lasting(Layer::System, "output", format!("Standard output cannot be written: {error}."))
        .hint("Keep what reads it open, or let it go to a file on a disk with room.")
}
