//! Every contract of seed 004's executor, progress, recovery, handle, state and alert sections, quoted, with what shows it. Those of many
//! harnesses at once are kept elsewhere.

mod alerts;
mod executor;
mod handle;
mod progress;
mod recovery;
mod state;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use autonoe_harness::alerts::{Alert, AlertType};
use autonoe_harness::roadmap::{Roadmap, Task};
use autonoe_harness::schedule::{TaskRecord, TaskStatus};
use jiff::Timestamp;

/// A quotation, and what shows that it is kept.
type Contract = (&'static str, fn());

/// With the number of quotations, so that none gets lost.
const SECTIONS: [(&str, usize, &[Contract]); 6] = [
    ("CLI Executor Interface", 20, executor::CONTRACTS),
    ("Progress Detection Interface", 13, progress::CONTRACTS),
    ("Recovery Strategy Interface", 10, recovery::CONTRACTS),
    ("HarnessHandle Interface", 27, handle::CONTRACTS),
    ("State Manager Interface", 14, state::CONTRACTS),
    ("Alert Manager Interface", 16, alerts::CONTRACTS),
];

/// Contracts of executors that need an agent: a quotation, and the test whose comment quotes it. Paths are below `crates`.
const ELSEWHERE: [(&str, &str, &str); 26] = [
    ("Implementations: CodexExecutor, GeminiExecutor, ClaudeExecutor", NAMES, "executors_are_backends"),
    ("Name of this CLI (codex, gemini, claude).", NAMES, "executors_are_backends"),
    ("Default model for this CLI.", NAMES, "executors_are_backends"),
    ("Execute a task using this CLI.", ROADMAPS, ORDER),
    ("task: The task to execute", ROADMAPS, ORDER),
    ("context: Optional context to include in prompt", ROADMAPS, ORDER),
    ("ExecutionResult with success/failure and output", ROADMAPS, ORDER),
    ("Return structured result", ROADMAPS, ORDER),
    ("model: Optional model override", AROUND, AGENT),
    ("model = model or self.default_model", AROUND, AGENT),
    ("cli: str = \"\"  # Override CLI for this task", AROUND, AGENT),
    ("Build CLI command with appropriate flags", AROUND, AGENT),
    ("Run command via subprocess", AROUND, AGENT),
    ("Capture stdout/stderr", AROUND, AGENT),
    ("Handle timeouts gracefully", AROUND, WORDS),
    ("timeout=task.timeout_minutes * 60", AROUND, WORDS),
    ("Detect obvious failures in output.", AROUND, WORDS),
    ("error:", AROUND, WORDS),
    ("failed:", AROUND, WORDS),
    ("exception:", AROUND, WORDS),
    ("traceback", AROUND, WORDS),
    ("fatal:", AROUND, WORDS),
    ("Verify if task was completed successfully.", ROADMAPS, RETRIED),
    ("Check success_criteria if defined", ROADMAPS, RETRIED),
    ("May re-run CLI to verify", ROADMAPS, RETRIED),
    ("Return boolean", ROADMAPS, RETRIED),
];

const NAMES: &str = "cli/src/backend_name.rs";
const ROADMAPS: &str = "cli/tests/it/harness.rs";
const AROUND: &str = "cli/tests/it/harness_files.rs";
const ORDER: &str = "tasks_run_in_the_order_of_their_dependencies_and_their_boxes_are_checked";
const RETRIED: &str = "a_task_that_fails_is_retried_then_blocked_and_what_waits_for_it_is_named";
const AGENT: &str = "a_task_names_its_agent_and_the_run_its_reviewer";
const WORDS: &str = "words_of_an_agent_decide_nothing_and_its_time_is_limited";

#[test]
fn every_contract_is_kept() {
    let mut broken = Vec::new();
    for (section, expected, contracts) in SECTIONS {
        let mut quoted = BTreeSet::new();
        for (quotation, check) in contracts {
            assert!(quoted.insert(quotation), "{section}: {quotation} is there twice");
            if std::panic::catch_unwind(check).is_err() {
                broken.push(format!("{section}: {quotation}"));
            }
        }
        assert_eq!(quoted.len(), expected, "{section}");
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn contracts_that_need_an_agent_are_quoted_by_a_test() {
    for (quotation, file, test) in ELSEWHERE {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
        let code = fs::read_to_string(path).unwrap();
        let (before, _) = code.split_once(&format!("fn {test}(")).unwrap_or_else(|| panic!("{file}: {test}"));
        let comment: Vec<&str> = before
            .lines()
            .rev()
            .skip_while(|line| line.trim_start().starts_with('#') || line.trim().is_empty())
            .take_while(|line| line.trim_start().starts_with("///"))
            .collect();
        let is_quoted = comment.iter().any(|line| line.contains(quotation));
        assert!(is_quoted, "{test} does not quote: {quotation}");
    }
}

fn task(lines: &str) -> Task {
    let text = format!("## Tasks\n- [ ] **cart**: Add a cart\n{lines}");
    Roadmap::parse(&text, &["claude", "codex"]).unwrap().tasks.remove(0)
}

fn record(status: TaskStatus) -> TaskRecord {
    TaskRecord { status, attempts: 1 }
}

fn alert(kind: AlertType, iteration: u32) -> Alert {
    Alert::new(kind, "Look.", iteration, Timestamp::UNIX_EPOCH)
}
