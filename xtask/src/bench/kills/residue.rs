//! What a journey leaves behind: processes, files, locks, and what is on record.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::bench::project::BenchProject;
use crate::result::Result;

/// How long what was started may take to be gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// What there is at the end of a journey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The committed files with their contents.
    tree: String,
    /// Files of the project and of the state, without what has a name of its own each time.
    files: BTreeSet<String>,
    /// Files that git leaves when it is stopped in the middle of something.
    locks: Vec<String>,
    /// What is on record.
    record: Vec<(String, String)>,
}

impl Remains {
    /// What is not as it should be; `self` is how it is when nobody stops a run.
    pub fn differences(&self, found: &Self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.tree != found.tree {
            wrong.push(format!("the tree is not the same: {} instead of {}", found.tree, self.tree));
        }
        wrong.extend(found.files.difference(&self.files).map(|path| format!("left behind: {path}")));
        wrong.extend(self.files.difference(&found.files).map(|path| format!("missing: {path}")));
        wrong.extend(found.locks.iter().map(|path| format!("a lock is left: {path}")));
        for (expected, (question, answer)) in self.record.iter().zip(&found.record) {
            if expected.1 != *answer {
                wrong.push(format!("{question}: {answer} instead of {}", expected.1));
            }
        }
        wrong
    }
}

/// Looks at everything.
pub fn remains(place: &BenchProject) -> Result<Remains> {
    let output = place
        .command("git".as_ref())
        .args(["ls-tree", "-r", "HEAD"])
        .stdout(std::process::Stdio::piped())
        .output()?;
    let tree = String::from_utf8_lossy(&output.stdout).replace('\n', "; ");
    let mut files = BTreeSet::new();
    let is_ours = |path: &Path| !path.starts_with(place.root().join(".git"));
    for root in [place.root(), place.home().join(".local/state/autonoe")] {
        list(&root, &is_ours, &mut |path| {
            files.insert(normal(path.strip_prefix(&root).unwrap_or(path)));
        });
    }
    let mut locks = Vec::new();
    list(&place.root().join(".git"), &|_| true, &mut |path| {
        if path.extension().is_some_and(|extension| extension == "lock") {
            locks.push(path.display().to_string());
        }
    });
    Ok(Remains { tree, files, locks, record: record(place)? })
}

/// Every path below a directory that `wanted` lets in.
fn list(directory: &Path, wanted: &dyn Fn(&Path) -> bool, found: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if !wanted(&path) {
            continue;
        }
        found(&path);
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&path, wanted, found);
        }
    }
}

/// A path without what is different in each project or each run: what it is called after the project, numbers, the contents of
/// vendors' own directories and of repositories, and what the database has beside it while it is open.
fn normal(path: &Path) -> String {
    let parts = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let mut normal = Vec::new();
    for part in parts {
        let is_vendors = ["home", "outputs", "tmp", "hub.git", "base", "workspaces"].contains(&part.as_str());
        let is_hash =
            part.len() >= 8 && part.chars().filter(char::is_ascii_hexdigit).count() * 2 > part.len();
        normal.push(if is_hash { "#".to_owned() } else { part });
        if is_vendors {
            normal.push("…".to_owned());
            break;
        }
    }
    let path = normal.join("/");
    path.trim_end_matches("-wal").trim_end_matches("-shm").to_owned()
}

/// What must be on record exactly once, however often the run was stopped.
fn record(place: &BenchProject) -> Result<Vec<(String, String)>> {
    const QUESTIONS: [(&str, &str); 6] = [
        ("the journal is whole", "PRAGMA integrity_check"),
        ("runs that have not ended", "SELECT COUNT(*) FROM runs WHERE ended_at IS NULL"),
        ("status changes that did not happen", "SELECT COUNT(*) FROM status_writes WHERE applied = 0"),
        (
            "deliverables that passed, each once",
            "SELECT group_concat(deliverable || ' ' || times) FROM (SELECT deliverable, COUNT(*) AS times FROM status_changes
             WHERE new = 'passed' AND previous IS NOT 'passed' GROUP BY deliverable ORDER BY deliverable)",
        ),
        (
            "deliverables that were verified, each once",
            "SELECT group_concat(deliverable || ' ' || times) FROM (SELECT deliverable, COUNT(*) AS times FROM verified
             GROUP BY deliverable ORDER BY deliverable)",
        ),
        (
            "sessions numbered twice",
            "SELECT COUNT(*) FROM (SELECT 1 FROM sessions GROUP BY run, number HAVING COUNT(*) > 1)",
        ),
    ];
    let journal = open(place).ok_or("there is no journal")?;
    QUESTIONS
        .iter()
        .map(|(question, query)| {
            let answer = journal.query_row(query, [], |row| row.get::<_, rusqlite::types::Value>(0))?;
            Ok(((*question).to_owned(), format!("{answer:?}")))
        })
        .collect()
}

/// Whether a run is on record.
pub fn has_begun(place: &BenchProject) -> bool {
    open(place).is_some_and(|journal| {
        journal
            .query_row("SELECT COUNT(*) FROM plans", [], |row| row.get::<_, i64>(0))
            .is_ok_and(|count| count > 0)
    })
}

/// Whether the newest run came to its end and got that on record.
pub fn is_done(place: &BenchProject) -> bool {
    let query =
        "SELECT COALESCE(json_extract(report, '$.exit_code') = 0, 0) FROM runs ORDER BY id DESC LIMIT 1";
    open(place).is_some_and(|journal| journal.query_row(query, [], |row| row.get(0)).unwrap_or(false))
}

/// How the newest run ended, as far as it is on record.
pub fn last_outcome(place: &BenchProject) -> String {
    let query = "SELECT COALESCE(report, 'no report') FROM runs ORDER BY id DESC LIMIT 1";
    let report =
        open(place).and_then(|journal| journal.query_row(query, [], |row| row.get::<_, String>(0)).ok());
    report.unwrap_or_else(|| "nothing on record".to_owned())
}

fn open(place: &BenchProject) -> Option<Connection> {
    let journal: PathBuf = place.store_project().ok()?.journal_file();
    Connection::open_with_flags(journal, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()
}

/// What still runs in a directory, once there was time to end.
pub fn processes(directory: &Path) -> impl Iterator<Item = String> {
    let begun = Instant::now();
    loop {
        let left = running(directory);
        if left.is_empty() || begun.elapsed() > PATIENCE {
            return left.into_iter();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn running(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let inside = entries
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory)));
    let named = inside.map(|entry| {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        format!("{} {command}", entry.file_name().to_string_lossy())
    });
    named.collect()
}
