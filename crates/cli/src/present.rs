//! What a person sees. One owner of the terminal: log lines stay, the activity line passes.

mod activity;
mod console;
mod json;
mod presenter;
mod words;

pub use activity::local_time;
pub use console::{Console, Level, Stream};
pub use json::JsonSink;
pub use presenter::{Detail, Presenter};
pub use words::{assurance, cost, cut, debug_line, ending, passed, status_tag};

use std::io::Write;

use autonoe_core::fault::Fault;
use autonoe_core::redact::Redactor;
use clap::builder::StyledStr;

/// Prints a fault that ends the program: what happened, then what to do.
pub fn report_fault(fault: &Fault, redactor: &Redactor) {
    let red = ::console::Style::new().for_stderr().red().bold();
    let cyan = ::console::Style::new().for_stderr().cyan();
    let _ = writeln!(std::io::stderr(), "{} {}", red.apply_to("error:"), redactor.text(&fault.message));
    if let Some(hint) = &fault.hint {
        let _ = writeln!(std::io::stderr(), "{} {}", cyan.apply_to("hint:"), redactor.text(hint));
    }
}

/// Prints styled help, with colour only on a terminal.
pub fn print_ansi(text: &StyledStr) {
    let colours = ::console::colors_enabled();
    print(&if colours { text.ansi().to_string() } else { text.to_string() });
}

/// Prints text on standard output. A reader that went away ends us quietly.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(i32::from(autonoe_core::outcome::exit::DONE));
    }
}
