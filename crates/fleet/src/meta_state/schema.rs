//! The tables of `meta_state.db`. Other programs know them by these names.

/// Version of the tables.
pub(super) const FORMAT: i64 = 1;

pub(super) const SCHEMA: &str = "
    CREATE TABLE meta_state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        number INTEGER NOT NULL,
        fleet TEXT NOT NULL,
        plan TEXT NOT NULL,
        strategy TEXT NOT NULL,
        started_at TEXT NOT NULL,
        completed_at TEXT,
        elapsed_seconds REAL NOT NULL DEFAULT 0,
        total_harnesses INTEGER NOT NULL,
        completed_harnesses INTEGER NOT NULL DEFAULT 0,
        failed_harnesses INTEGER NOT NULL DEFAULT 0,
        request TEXT,
        result_json TEXT
    );
    CREATE TABLE sub_harnesses (
        harness_id TEXT PRIMARY KEY,
        place INTEGER NOT NULL,
        pid INTEGER,
        process TEXT NOT NULL DEFAULT '',
        is_released INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        roadmap_path TEXT NOT NULL,
        working_dir TEXT NOT NULL DEFAULT '',
        cli TEXT NOT NULL,
        model TEXT NOT NULL,
        status TEXT NOT NULL,
        progress REAL NOT NULL DEFAULT 0,
        current_task TEXT,
        current_iteration INTEGER NOT NULL DEFAULT 0,
        tasks_completed INTEGER NOT NULL DEFAULT 0,
        tasks_failed INTEGER NOT NULL DEFAULT 0,
        checked_tasks INTEGER NOT NULL,
        error TEXT,
        request TEXT,
        registered_at TEXT NOT NULL,
        started_at TEXT,
        completed_at TEXT,
        parent_context TEXT,
        ended_as INTEGER,
        result_json TEXT
    );
    CREATE TABLE progress_log (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        harness_id TEXT NOT NULL,
        timestamp TEXT NOT NULL,
        progress REAL NOT NULL,
        current_task TEXT,
        message TEXT
    );
    CREATE TABLE coordination_events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        timestamp TEXT NOT NULL,
        event_type TEXT NOT NULL,
        harness_id TEXT,
        details TEXT NOT NULL
    );
    CREATE TABLE worktrees (
        harness_id TEXT PRIMARY KEY,
        branch_name TEXT NOT NULL,
        worktree_path TEXT NOT NULL,
        base_branch TEXT,
        created_at TEXT NOT NULL,
        merged_at TEXT,
        merge_commit TEXT,
        note TEXT
    );
    PRAGMA user_version = 1;
";
