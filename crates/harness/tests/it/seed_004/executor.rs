//! CLI Executor Interface: tasks, prompts and results. What starts agents is shown where they are started, see [`super::ELSEWHERE`].

use std::path::Path;
use std::time::Duration;

use autonoe_harness::control::HarnessDirectory;
use autonoe_harness::schedule::TaskStatus;
use autonoe_harness::state_view::{Execution, StateManager};
use jiff::Timestamp;
use rusqlite::Connection;

use super::{Contract, record, task};

pub const CONTRACTS: &[Contract] = &[
    ("id: str", || assert_eq!(task("").id.as_str(), "cart")),
    ("description: str", || assert_eq!(task("").description, "Add a cart")),
    ("goal: str", || {
        assert_eq!(task("").goal, "Add a cart");
        assert_eq!(task("  - goal: A cart that works\n").goal, "A cart that works");
    }),
    ("success_criteria: Optional[str] = None", || {
        assert_eq!(task("").success_criteria, None);
        assert_eq!(task("  - success: it works\n").success_criteria.as_deref(), Some("it works"));
    }),
    ("timeout_minutes: int = 30", || assert_eq!(task("").timeout, Duration::from_secs(30 * 60))),
    ("cwd: Optional[Path] = None", || {
        assert_eq!(task("").cwd, Path::new("./"));
        assert_eq!(task("  - cwd: ./Sub\n").cwd, Path::new("./Sub"));
    }),
    ("cli: str = \"\"  # Override CLI for this task", || {
        assert!(task("").cli.is_empty());
        assert_eq!(task("  - cli: codex\n").cli, ["codex"]);
    }),
    ("model: str = \"\"  # Override model for this task", || {
        assert_eq!(task("").model, None);
        assert_eq!(task("  - model: best\n").model.as_deref(), Some("best"));
    }),
    ("sections = [f\"## Goal\\n{task.goal}\"]", || {
        assert_eq!(task("").prompt(None), "## Goal\nAdd a cart");
    }),
    ("sections.append(f\"## Context\\n{context}\")", || {
        assert_eq!(task("").prompt(Some("x")), "## Goal\nAdd a cart\n\n## Context\nx");
    }),
    ("sections.append(f\"## Success Criteria\\n{task.success_criteria}\")", || {
        assert_eq!(task("  - success: ok\n").prompt(None), "## Goal\nAdd a cart\n\n## Success Criteria\nok");
    }),
    ("return \"\\n\\n\".join(sections)", the_prompt_has_the_sections_in_order),
    ("success: bool", a_session_is_an_execution),
    ("output: str", a_session_is_an_execution),
    ("error: Optional[str] = None", a_session_is_an_execution),
    ("duration_seconds: float = 0.0", a_session_is_an_execution),
    ("conversation_id: Optional[str] = None  # For multi-turn", a_session_is_an_execution),
    ("error=result.stderr if result.returncode != 0 else None", a_session_is_an_execution),
    ("if context:", || assert!(!task("").prompt(Some("")).contains("## Context"))),
    ("if task.success_criteria:", || assert!(!task("").prompt(None).contains("## Success Criteria"))),
];

fn the_prompt_has_the_sections_in_order() {
    let prompt = task("  - success: ok\n").prompt(Some("x"));
    assert_eq!(prompt, "## Goal\nAdd a cart\n\n## Context\nx\n\n## Success Criteria\nok");
}

/// The fields of a result are those of an attempt.
fn a_session_is_an_execution() {
    let project = tempfile::tempdir().unwrap();
    let harness = HarnessDirectory::create(project.path(), "main").unwrap();
    let (state, _) = StateManager::open(&harness).unwrap();
    state.init_harness(Path::new("ROADMAP.md"), Timestamp::UNIX_EPOCH).unwrap();
    state.save_task(&task(""), record(TaskStatus::InProgress)).unwrap();
    let failed = Execution {
        task_id: "cart",
        attempt: 1,
        success: false,
        output: "I could not.",
        error: Some("a check failed"),
        duration: Duration::from_millis(2500),
    };
    let passed = Execution { attempt: 2, success: true, output: "Done.", error: None, ..failed.clone() };
    for execution in [&failed, &passed] {
        state.log_execution(execution, Timestamp::UNIX_EPOCH).unwrap();
    }
    let db = Connection::open(harness.path().join("state.db")).unwrap();
    let mut rows = db
        .prepare("SELECT success, output, error, duration_seconds FROM execution_log ORDER BY attempt")
        .unwrap();
    let rows: Vec<(bool, String, Option<String>, f64)> = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let expected = [
        (false, "I could not.".to_owned(), Some("a check failed".to_owned()), 2.5),
        (true, "Done.".to_owned(), None, 2.5),
    ];
    assert_eq!(rows, expected);
    let conversation: Option<String> =
        db.query_row("SELECT conversation_id FROM tasks", [], |row| row.get(0)).unwrap();
    assert_eq!(conversation, None, "each session begins a new conversation");
}
