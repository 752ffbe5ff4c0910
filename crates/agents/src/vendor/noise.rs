//! What an agent prints beside its protocol. A few lines are shown; an agent that prints nothing else, such as a program that is
//! not an agent, fails instead of filling the screen and the journal.

use autonoe_core::fault::{Fault, FaultLayer};

/// How many are shown in a session.
const MAX_SHOWN: u32 = 5;

/// How many lines, and how many bytes in them, end a session.
const MAX_LINES: u32 = 10_000;
const MAX_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub(crate) enum ProtocolNoise {
    /// The beginning of a line that is not a message, and its length in bytes.
    Line { text: String, bytes: usize },
    /// The kind of a message that we do not know.
    UnknownMessage(String),
}

/// Counts the noise of a session.
#[derive(Debug, Default)]
pub(super) struct NoiseMeter {
    lines: u32,
    bytes: usize,
    shown: u32,
}

impl NoiseMeter {
    /// The warning to show, if there is one; fails if it is too much. `name` is the agent's.
    pub(super) fn count(&mut self, name: &str, noise: &ProtocolNoise) -> Result<Option<String>, Fault> {
        let (what, text, bytes) = match noise {
            ProtocolNoise::Line { text, bytes } => {
                ("printed a line that is not a protocol message", text, *bytes)
            }
            ProtocolNoise::UnknownMessage(kind) => {
                ("sent a message that autonoe does not know", kind, kind.len())
            }
        };
        self.lines += 1;
        self.bytes += bytes;
        if self.lines > MAX_LINES || self.bytes > MAX_BYTES {
            let message = format!(
                "{name} printed {} lines ({} bytes) that are not part of its protocol. The last one: {text}",
                self.lines, self.bytes
            );
            return Err(Fault::transient(FaultLayer::Agent, "agent_protocol", message).hint(
                "Check the agent's command: it must be an agent, and must print its logs on standard error.",
            ));
        }
        let is_blank = matches!(noise, ProtocolNoise::Line { text, .. } if text.is_empty());
        if is_blank || self.shown >= MAX_SHOWN {
            return Ok(None);
        }
        self.shown += 1;
        let more = if self.shown == MAX_SHOWN { " (More of these will not be shown.)" } else { "" };
        Ok(Some(format!("{name} {what}: {text}{more}")))
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINES, NoiseMeter, ProtocolNoise};

    #[test]
    fn a_few_lines_are_shown_and_too_many_are_a_fault() {
        let (mut meter, mut shown) = (NoiseMeter::default(), Vec::new());
        let line = ProtocolNoise::Line { text: "y".to_owned(), bytes: 1 };
        for _ in 0..MAX_LINES {
            shown.extend(meter.count("The agent 'yes'", &line).expect("not too many"));
        }
        assert_eq!(shown.len(), 5);
        assert_eq!(shown[0], "The agent 'yes' printed a line that is not a protocol message: y");
        assert!(shown[4].ends_with("(More of these will not be shown.)"), "{}", shown[4]);
        let fault = meter.count("The agent 'yes'", &line).expect_err("too many");
        assert!(fault.message.contains("'yes' printed 10001 lines") && fault.message.ends_with(": y"));
    }

    #[test]
    fn few_long_lines_are_too_much_and_blank_ones_are_not_shown() {
        let mut meter = NoiseMeter::default();
        let blank = ProtocolNoise::Line { text: String::new(), bytes: 0 };
        assert_eq!(meter.count("It", &blank).expect("not too many"), None);
        let long = || ProtocolNoise::Line { text: "x".repeat(200), bytes: 10_000_000 };
        meter.count("It", &long()).expect("not too many");
        let fault = meter.count("It", &long()).expect_err("too many");
        assert!(fault.message.contains("20000000 bytes") && fault.message.len() < 500, "{}", fault.message);
    }
}
