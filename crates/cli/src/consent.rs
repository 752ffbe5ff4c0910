//! Asks the user to approve permissions that a repository's configuration adds. Without a terminal the answer is no.

use std::io::{BufRead, IsTerminal, Write};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_report::escape_controls;
use autonoe_store::config::AgentConfig;
use autonoe_store::{Project, Widening};

pub const APPROVE: &str = "Approve?";

/// Fails unless the user has approved, or approves now, what the repository's configuration adds.
pub fn ensure_trusted(project: &Project, config: &AgentConfig) -> Result<(), Fault> {
    let Some(widening) = Widening::of(config, project).filter(|widening| !widening.is_trusted(project))
    else {
        return Ok(());
    };
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr(), "{}", escape_controls(&describe(&widening)));
        if ask(APPROVE) {
            return widening.trust(project);
        }
    }
    Err(not_trusted(&widening))
}

pub fn describe(widening: &Widening) -> String {
    let lines: Vec<String> = widening.lines.iter().map(|line| format!("  {line}\n")).collect();
    format!(".autonoe/agent.json asks for these additional permissions:\n{}", lines.concat())
}

/// Anything but `y` or `yes` is a no, and so is a missing terminal.
pub fn ask(question: &str) -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    let _ = write!(std::io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

pub fn not_trusted(widening: &Widening) -> Fault {
    let what = widening.lines.join("; ");
    Fault::permanent(
        FaultLayer::Config,
        "not_trusted",
        format!(".autonoe/agent.json asks for permissions that you have not approved ({what})."),
    )
    .hint("Review them and run `autonoe trust`, or remove them from the file.")
}
