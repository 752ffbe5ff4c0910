//! How much of an output is kept and quoted.

use autonoe_sandbox::{CapturedOutput, OutputLimits};

/// How much of an output is kept.
pub(super) const OUTPUT_LIMITS: OutputLimits = OutputLimits { head: 32 * 1024, tail: 32 * 1024 };

/// The most lines and characters quoted of standard error.
const QUOTED_LINES: usize = 5;
const QUOTED_CHARS: usize = 500;

/// The last lines that a program printed, on one line; `None` if it printed nothing.
pub(super) fn last_lines(printed: &CapturedOutput) -> Option<String> {
    let text = printed.text();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let quoted = lines[lines.len().saturating_sub(QUOTED_LINES)..].join(" | ");
    let left_out = quoted.chars().count().saturating_sub(QUOTED_CHARS);
    (!quoted.is_empty()).then(|| quoted.chars().skip(left_out).collect())
}
