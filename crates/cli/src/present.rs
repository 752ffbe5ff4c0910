//! Output for people. One owner of the terminal prints permanent lines above a single activity line.

mod activity;
mod console;
mod json;
mod messages;
mod presenter;
mod print;
mod signal_notice;
mod time;
mod writer;

pub use console::{Console, MessageLevel, OutputFormat};
pub use json::JsonSink;
pub use messages::{
    beginning, ci_files, cut, debug_line, hook_files, landing, left_out, short, status_tag, unseen,
};
pub use presenter::{Presenter, Verbosity};
pub use print::{
    notice, print, print_ansi, print_json, print_unchanged, report_end, report_fault, report_panics, warn,
};
pub use signal_notice::SignalNotice;
pub use time::local_time;
