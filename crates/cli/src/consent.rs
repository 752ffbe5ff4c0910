//! The user's consent to what a repository widens: asked on a terminal, refused where nobody can answer.

use std::io::{BufRead, IsTerminal, Write};

use autonoe_core::fault::{Fault, Layer};
use autonoe_store::config::AgentConfig;
use autonoe_store::{Project, Widening};

/// Makes sure, before a run, that the user has agreed to what the repository widens.
pub fn ensure_trusted(project: &Project, config: &AgentConfig) -> Result<(), Fault> {
    let Some(widening) = Widening::of(config).filter(|widening| !widening.is_trusted(project)) else {
        return Ok(());
    };
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr(), "{}", shown(&widening));
        if agreed() {
            return widening.trust(project);
        }
    }
    Err(not_trusted(&widening))
}

/// What is widened, for a person to read.
pub fn shown(widening: &Widening) -> String {
    let lines: Vec<String> = widening.lines.iter().map(|line| format!("  {line}\n")).collect();
    format!(".autonoe/agent.json widens what agents may do:\n{}", lines.concat())
}

/// Asks on the terminal; anything but yes is no, and so is nobody there to answer.
pub fn agreed() -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    let _ = write!(std::io::stderr(), "Agree to this? [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The fault of a run that the user has not agreed to.
pub fn not_trusted(widening: &Widening) -> Fault {
    let what = widening.lines.join("; ");
    Fault::lasting(
        Layer::Config,
        "not_trusted",
        format!(".autonoe/agent.json widens what agents may do and you have not agreed to it ({what})."),
    )
    .hint("Look at it, then run `autonoe trust`, or take it out of the file.")
}
