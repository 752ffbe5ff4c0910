//! Output for people. One owner of the terminal prints permanent lines above a single activity line.

mod activity;
mod activity_words;
mod console;
mod end_text;
mod event_log;
mod json;
mod messages;
mod plan_text;
mod presenter;
mod print;
mod signal_notice;
mod table;
mod time;
mod transcript;
mod wrap;
mod writer;

pub use console::{Console, MessageLevel, OutputFormat};
pub use end_text::end_text;
pub use event_log::{EventLog, EventLogReader, LoggedEvent, runs as logged_runs};
pub use json::JsonSink;
pub use messages::{
    beginning, ci_files, cut, debug_line, filtered_files, hook_files, landed, left_out, not_landed, short,
    status_tag, unseen,
};
pub use plan_text::{CostEstimate, plan_text};
pub use presenter::{LineTimes, Presenter, Verbosity};
pub use print::{
    FindingMark, clear_screen, disable_colours, exit_with_usage, notice, print, print_ansi, print_bytes,
    print_findings, print_json, print_lines, print_unchanged, report_end, report_fault, report_panics, warn,
};
pub use signal_notice::SignalNotice;
pub use table::table;
pub use time::local_time;
pub use transcript::{TranscriptFilter, transcript};
