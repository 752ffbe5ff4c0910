//! What each session has cost, and for which deliverables.

use std::collections::HashMap;

use autonoe_core::attempt::deliverable_of_step;
use rusqlite::{Connection, Result};

/// A session with its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionCost {
    pub run: i64,
    /// Number within the run, from 1.
    pub number: u32,
    pub started_at: String,
    pub instruction: String,
    pub backend: String,
    pub model: String,
    /// `None` if a price is unknown.
    pub usd: Option<f64>,
    /// How long it took; 0 while it runs, and if its process was killed.
    pub seconds: f64,
    /// Deliverables whose status changed in it, or those of the next session of the run that changed one or was begun for one: until
    /// then, the agents worked on that. Empty if no session after it changed one, and for planning and reviewing.
    pub deliverables: Vec<String>,
}

const COSTS: &str = "
    SELECT s.run, s.number, s.started_at, s.instruction, s.backend, s.model,
           CASE WHEN COUNT(c.id) > COUNT(c.usd) THEN NULL ELSE COALESCE(SUM(c.usd), 0) END,
           COALESCE(s.duration_seconds, 0)
    FROM sessions s LEFT JOIN costs c ON c.run = s.run AND c.session = s.number
    GROUP BY s.run, s.number ORDER BY s.run, s.number";

/// Instructions that concern all deliverables.
const OF_THE_WHOLE: [&str; 4] = ["initializer", "sync", "verify", "review"];

const CHANGED: &str = "
    SELECT DISTINCT s.run, s.number, c.deliverable
    FROM status_changes c
    JOIN status_writes w ON w.id = c.write
    JOIN sessions s ON s.run = w.run AND w.at >= s.started_at AND (s.ended_at IS NULL OR w.at <= s.ended_at)
    WHERE c.previous IS NOT NULL";

/// All sessions, oldest first.
pub(super) fn session_costs(db: &Connection) -> Result<Vec<SessionCost>> {
    let mut changed: HashMap<(i64, u32), Vec<String>> = HashMap::new();
    let mut statement = db.prepare(CHANGED)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        changed.entry((row.get(0)?, row.get(1)?)).or_default().push(row.get(2)?);
    }
    let mut statement = db.prepare(COSTS)?;
    let sessions = statement.query_map([], |row| {
        Ok(SessionCost {
            run: row.get(0)?,
            number: row.get(1)?,
            started_at: row.get(2)?,
            instruction: row.get(3)?,
            backend: row.get(4)?,
            model: row.get(5)?,
            usd: row.get(6)?,
            seconds: row.get(7)?,
            deliverables: Vec::new(),
        })
    })?;
    let mut sessions: Vec<SessionCost> = sessions.collect::<Result<_>>()?;
    let mut next: Option<(i64, Vec<String>)> = None;
    for session in sessions.iter_mut().rev() {
        // A session that was begun for one, perhaps at the same time as others.
        let step =
            ["coding ", "comparison "].iter().find_map(|phase| session.instruction.strip_prefix(phase));
        if let Some(step) = step {
            session.deliverables = vec![deliverable_of_step(step).to_owned()];
            next = Some((session.run, session.deliverables.clone()));
            continue;
        }
        if let Some(ids) = changed.remove(&(session.run, session.number)) {
            session.deliverables.clone_from(&ids);
            next = Some((session.run, ids));
        } else if let Some((run, ids)) = &next
            && *run == session.run
            && !OF_THE_WHOLE.contains(&session.instruction.as_str())
        {
            session.deliverables.clone_from(ids);
        }
    }
    Ok(sessions)
}
