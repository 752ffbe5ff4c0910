//! `autonoe harness run --dry-run`

use std::num::NonZeroUsize;

use autonoe_core::duration::format as format_duration;
use autonoe_harness::roadmap::{Roadmap, Task};
use autonoe_harness::schedule::{Next, Schedule, TaskRecord, TaskStatus};
use autonoe_harness::task_plan::prompt_text;
use serde_json::{Value, json};

/// The tasks in the order in which they would run if each succeeded.
fn in_order(roadmap: &Roadmap) -> Vec<&Task> {
    let (mut schedule, mut tasks) = (Schedule::new(roadmap), Vec::new());
    while let Next::Run(id) = schedule.next() {
        tasks.extend(roadmap.task(id.as_str()));
        schedule.set(id.as_str(), TaskRecord { status: TaskStatus::Completed, attempts: 1 });
    }
    tasks
}

/// An object for each task, as a line of `--json`.
pub fn as_json(roadmap: &Roadmap) -> Vec<Value> {
    let line = |(place, task): (usize, &Task)| {
        json!({
            "type": "task_planned",
            "place": place + 1,
            "task": task.id.as_str(),
            "description": task.description,
            "phase": task.phase,
            "depends": task.depends.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
            "attempts": task.attempts(),
            "max_iterations": task.max_iterations,
            "timeout_seconds": task.timeout.as_secs(),
            "checks": task.checks.iter().map(|check| check.command.as_str()).collect::<Vec<_>>(),
            "success": task.success_criteria,
            "prompt": prompt(roadmap, task),
        })
    };
    in_order(roadmap).into_iter().enumerate().map(line).collect()
}

/// The same with their prompts, for people.
pub fn as_text(roadmap: &Roadmap, growth: Option<NonZeroUsize>) -> String {
    let done = roadmap.tasks.iter().filter(|task| task.done).count();
    let mut text = format!(
        "{}: {} task(s), {done} done. No model is called, and nothing is marked as done.\n",
        roadmap.name,
        roadmap.tasks.len()
    );
    for (place, task) in in_order(roadmap).into_iter().enumerate() {
        text.push_str(&show(roadmap, task, place + 1));
    }
    if let Some(limit) = growth {
        text.push_str(&format!("\nThen an agent proposes at most {limit} further task(s), which run too.\n"));
    } else if !roadmap.growth.is_empty() {
        text.push_str("\n`## Growth Mode` is not used without --growth.\n");
    }
    text
}

fn show(roadmap: &Roadmap, task: &Task, place: usize) -> String {
    let phase = task.phase.as_ref().map(|phase| format!(" ({phase})")).unwrap_or_default();
    let sessions = match task.max_iterations {
        Some(limit) => format!("{limit} session(s)"),
        None => "any number of sessions".to_owned(),
    };
    let mut text = format!(
        "\n=== {place}. {}{phase} ===\nAt most {} attempt(s), each of {sessions} and {}.\n",
        task.id,
        task.attempts(),
        format_duration(task.timeout)
    );
    if !task.depends.is_empty() {
        let depends: Vec<&str> = task.depends.iter().map(|id| id.as_str()).collect();
        text.push_str(&format!("After {}.\n", depends.join(", ")));
    }
    let decides = match (task.checks.len(), &task.success_criteria) {
        (0, Some(_)) => "Decided by a reviewer.".to_owned(),
        (0, None) => "Decided by its agent, since it has neither checks nor criteria.".to_owned(),
        (count, _) => format!("Decided by {count} check(s)."),
    };
    text.push_str(&format!("{decides}\n--- prompt ---\n{}\n---\n", prompt(roadmap, task)));
    text
}

fn prompt(roadmap: &Roadmap, task: &Task) -> String {
    prompt_text(roadmap, task, |id| Some(format!("(what the session of {id} says last)")))
}
