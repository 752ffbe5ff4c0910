//! Prints without a console: results to standard output, messages to standard error.

use std::io::{self, Write};

use autonoe_core::fault::Fault;
use autonoe_core::outcome::{RunOutcome, exit};
use autonoe_core::redact::Redactor;
use autonoe_report::{escape_controls, escape_json};
use clap::builder::StyledStr;

use super::messages;
use super::wrap::{width, wrapped};
use super::writer::{OutputStream, OutputWriter, stdout_fault};

/// Prints a fault that ends the program: the error, then the hint. A terminal would break its lines anywhere.
pub fn report_fault(fault: &Fault, redactor: &Redactor) {
    let red = ::console::Style::new().for_stderr().red().bold();
    let cyan = ::console::Style::new().for_stderr().cyan();
    let mut text = format!("{} {}", red.apply_to("error:"), shown(redactor, &fault.message));
    if let Some(hint) = &fault.hint {
        text = format!("{text}\n{} {}", cyan.apply_to("hint:"), shown(redactor, hint));
    }
    notice(&width(OutputStream::Err).map_or(text.clone(), |width| wrapped(&text, width).join("\n")));
}

/// Prints what is wrong with the arguments, or the help that they ask for, and ends the program.
pub fn exit_with_usage(error: &clap::Error) -> ! {
    if !error.use_stderr() || width(OutputStream::Err).is_none() {
        error.exit()
    }
    let text = error.render();
    let text = match ::console::colors_enabled_stderr() {
        true => text.ansi().to_string(),
        false => text.to_string(),
    };
    notice(text.trim_end());
    std::process::exit(error.exit_code())
}

fn shown(redactor: &Redactor, text: &str) -> String {
    escape_controls(&redactor.text(text))
}

/// Prints how a run ended that has no console yet.
pub fn report_end(outcome: &RunOutcome) {
    let (_, text, hint) = messages::ending(outcome);
    let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    notice(&escape_controls(&format!("{text}{hint}")));
}

pub fn warn(message: &str) {
    let yellow = ::console::Style::new().for_stderr().yellow().bold();
    notice(&format!("{} {}", yellow.apply_to("warning:"), escape_controls(message)));
}

/// Prints panics like every other message, so that they do not wait for a reader.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let trace = std::backtrace::Backtrace::capture();
        let trace = match trace.status() {
            std::backtrace::BacktraceStatus::Captured => format!("\n{trace}"),
            _ => String::new(),
        };
        notice(&format!("{panic}{trace}"));
    }));
}

/// Prints to standard error while there is no console. Does not wait long for a reader.
pub fn notice(text: &str) {
    let text =
        width(OutputStream::Err).map_or_else(|| text.to_owned(), |width| wrapped(text, width).join("\n"));
    match OutputWriter::start(|_, _| String::new(), |_| {}) {
        Ok(writer) => {
            writer.line(OutputStream::Err, format!("{text}\n"));
            // There is nobody to tell.
            let _ = writer.flush();
        }
        Err(_) => {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }
}

/// For a user who wants none (`NO_COLOR`), even where they would be forced.
pub fn disable_colours() {
    ::console::set_colors_enabled(false);
    ::console::set_colors_enabled_stderr(false);
}

/// In colour only on a terminal.
pub fn print_ansi(text: &StyledStr) {
    let colours = ::console::colors_enabled();
    print_unchanged(&if colours { text.ansi().to_string() } else { text.to_string() });
}

/// Prints text that may contain what agents, repositories and models wrote, and whose lines are not to be broken.
pub fn print_lines(text: &str) {
    print_unchanged(&escape_controls(text));
}

/// Like [`print_lines`]; on a terminal, tags at the beginning of lines are coloured and lines are broken between words.
pub fn print(text: &str) {
    let text = escape_controls(text);
    let width = width(OutputStream::Out);
    let lines = text.lines().flat_map(|line| match width {
        Some(width) => wrapped(line, width),
        None => vec![line.to_owned()],
    });
    let lines: String = lines.map(|line| format!("{}\n", coloured(&line))).collect();
    print_unchanged(&lines);
}

/// How a finding is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingMark {
    Good,
    Note,
    Bad,
}

/// Columns of a mark and the space after it.
const MARK_WIDTH: usize = 5;

/// One finding per line, with its mark; on a terminal in colour, with lines broken between words.
pub fn print_findings(findings: &[(FindingMark, String)]) {
    let width = width(OutputStream::Out).map(|width| width.saturating_sub(MARK_WIDTH));
    let mut text = String::new();
    for (mark, words) in findings {
        let (mark, colour) = match mark {
            FindingMark::Good => ("ok", ::console::Color::Green),
            FindingMark::Note => ("note", ::console::Color::Yellow),
            FindingMark::Bad => ("BAD", ::console::Color::Red),
        };
        let words = escape_controls(words);
        let lines = match width {
            Some(width) => wrapped(&words, width),
            None => words.lines().map(str::to_owned).collect(),
        };
        let padding = " ".repeat(MARK_WIDTH - mark.len());
        let mark = ::console::Style::new().fg(colour).apply_to(mark);
        text.push_str(&format!("{mark}{padding}"));
        text.push_str(&lines.join(&format!("\n{}", " ".repeat(MARK_WIDTH))));
        text.push('\n');
    }
    print_unchanged(&text);
}

/// A line with the tag at its beginning in colour.
fn coloured(line: &str) -> String {
    let tags = [
        ("[PASS]", ::console::Color::Green),
        ("[BLOCKED]", ::console::Color::Yellow),
        ("[OK]", ::console::Color::Green),
        ("[WARNING]", ::console::Color::Yellow),
        ("[PROBLEM]", ::console::Color::Red),
    ];
    let found = tags.into_iter().find(|(tag, _)| line.starts_with(tag));
    match found {
        Some((tag, colour)) => {
            format!("{}{}", ::console::Style::new().fg(colour).apply_to(tag), &line[tag.len()..])
        }
        None => line.to_owned(),
    }
}

/// Clears a terminal; nothing elsewhere.
pub fn clear_screen() {
    let terminal = ::console::Term::stdout();
    if terminal.is_term() {
        // Ignored: the text is below the old one then.
        let _ = terminal.clear_screen();
    }
}

/// Prints JSON, or lines of it.
pub fn print_json(json: &str) {
    print_unchanged(&escape_json(json));
}

/// Prints to standard output and exits on failure: silently if the reader closed the pipe, but with an error code, since the output is
/// incomplete.
pub fn print_unchanged(text: &str) {
    print_bytes(text.as_bytes());
}

/// Like [`print_unchanged`], for what is not text.
pub fn print_bytes(bytes: &[u8]) {
    if let Err(error) = write(bytes) {
        if error.kind() != io::ErrorKind::BrokenPipe {
            report_fault(&stdout_fault(&error), &Redactor::new(&[]));
        }
        std::process::exit(i32::from(exit::ERROR));
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}
