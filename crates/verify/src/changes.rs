//! The changes between two commits, for reviewing the work of agents.
//!
//! Agents can write the project's repository, and its settings and attributes could make git show less than
//! was changed. So git reads the objects from a repository of ours, which has neither, in a room without the
//! project.

use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_sandbox::{EgressRules, Repository, SessionSandbox};

use crate::checkout::{CheckoutFactory, borrow};
use crate::git;
use crate::repository_query::{CommitInfo, NoCommit, QueryError};

/// Limits for commits and for the diff in bytes.
const MAX_COMMITS: usize = 200;
const MAX_DIFF: u64 = 4 * 1024 * 1024;

/// Maximum output for lists of commits and files, in bytes.
const MAX_LIST: u64 = 1024 * 1024;

/// Maximum length of the diff in a briefing, in bytes.
const BRIEFING_BYTES: usize = 60_000;

/// Uses no external program and detects no renames.
const DIFF: [&str; 6] =
    ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--submodule=short"];

/// The changes between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Latest first.
    pub commits: Vec<Commit>,
    pub has_more_commits: bool,
    /// Changed files.
    pub files: Vec<FileChange>,
    /// As printed by git, without path prefixes.
    pub diff: String,
    /// Whether the diff is complete.
    pub is_whole: bool,
}

/// A commit in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Abbreviated.
    pub hash: String,
    pub subject: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Path in the repository.
    pub path: String,
    /// Lines added and removed; `None` for binary files.
    pub lines: Option<(u64, u64)>,
}

/// Why the changes are unknown.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    #[error(transparent)]
    NoCommit(#[from] NoCommit),
    #[error("commit {0} no longer exists")]
    Gone(String),
    #[error("git failed ({0})")]
    Git(String),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl CheckoutFactory {
    /// The changes after `base`, or ever, up to `head`, or to the last commit.
    pub async fn changes(&self, base: Option<&str>, head: Option<&str>) -> Result<Changes, ChangesError> {
        let repository = Repository::around(&self.root);
        let Some(objects) = self.objects(&repository)? else {
            return Err(NoCommit::NoRepository.into());
        };
        let query = self.query(&repository).map_err(|error| self.io_fault(&error))?;
        let info = query.commit(head.unwrap_or("HEAD")).await;
        query.session_sandbox.close().await;
        let CommitInfo { commit, format, .. } = info.map_err(|error| match (error, head) {
            (QueryError::Fault(fault), _) => ChangesError::Fault(fault),
            (QueryError::NoCommit(_), Some(head)) => ChangesError::Gone(head.to_owned()),
            (QueryError::NoCommit(why), None) => ChangesError::NoCommit(why),
        })?;
        let directory = self.directory().map_err(|error| self.io_fault(&error))?;
        let tree = directory.path().join("tree");
        borrow(&tree, &commit, &objects, &format).map_err(|error| self.io_fault(&error))?;
        let part = repository.above.as_ref().and_then(|above| self.root.strip_prefix(above).ok());
        let part = part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
        let room = self.session_sandbox(directory.path(), Some(&objects), &EgressRules::default());
        let changes = DiffReader { room: &room, tree: &tree, part: &part }.read(base, &commit).await;
        room.close().await;
        changes
    }

    /// A summary for a session: the files, and as much of the diff as fits.
    pub async fn changes_summary(&self, base: Option<&str>) -> Result<String, Fault> {
        let changes = match self.changes(base, None).await {
            Ok(changes) => changes,
            Err(ChangesError::Fault(fault)) => return Err(fault),
            Err(why) => return Ok(format!("The changes are unknown: {why}.\n")),
        };
        let what = base.map_or_else(|| "All commits".to_owned(), |base| format!("Changes since {base}"));
        let files = changes.files.iter().map(|file| match file.lines {
            Some((added, removed)) => format!("{} +{added} -{removed}\n", file.path),
            None => format!("{} (binary)\n", file.path),
        });
        let files: String = files.collect();
        let end = (0..=BRIEFING_BYTES.min(changes.diff.len()))
            .rev()
            .find(|end| changes.diff.is_char_boundary(*end));
        let diff = &changes.diff[..end.unwrap_or_default()];
        Ok(format!("## {what}\n\n```diff\n{files}\n{}\n```\n", diff.trim_end()))
    }
}

/// Runs git on a repository of ours.
struct DiffReader<'a> {
    room: &'a SessionSandbox,
    tree: &'a Path,
    /// Path of the project in its repository; empty if it is the root.
    part: &'a str,
}

impl DiffReader<'_> {
    async fn read(&self, base: Option<&str>, head: &str) -> Result<Changes, ChangesError> {
        let range = base.map_or_else(|| head.to_owned(), |base| format!("{base}..{head}"));
        let count = format!("-n{}", MAX_COMMITS + 1);
        let log = ["log", "--no-color", "--no-show-signature", "--format=%h%x09%s", &count, &range, "--"];
        let (commits, _) = self.git(&log, MAX_LIST).await?;
        let base = match base {
            Some(base) => base.to_owned(),
            None => {
                let (empty, _) = self.git(&["hash-object", "-t", "tree", "/dev/null"], MAX_LIST).await?;
                empty.trim().to_owned()
            }
        };
        let (include, exclude) = match self.part {
            "" => (".".to_owned(), ":(exclude,literal).autonoe".to_owned()),
            part => (format!(":(literal){part}"), format!(":(exclude,literal){part}/.autonoe")),
        };
        let between = [base.as_str(), head, "--", &include, &exclude];
        let (files, _) = self.git(&[&DIFF[..], &["--numstat"], &between].concat(), MAX_LIST).await?;
        let (diff, is_whole) =
            self.git(&[&DIFF[..], &["-U3", "--no-prefix"], &between].concat(), MAX_DIFF).await?;
        let mut commits: Vec<Commit> = commits
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(hash, subject)| Commit { hash: hash.to_owned(), subject: subject.to_owned() })
            .collect();
        let has_more_commits = commits.len() > MAX_COMMITS;
        commits.truncate(MAX_COMMITS);
        let files = files.lines().filter_map(file_change).collect();
        Ok(Changes { commits, has_more_commits, files, diff, is_whole })
    }

    /// The output and whether it is complete.
    async fn git(&self, arguments: &[&str], limit: u64) -> Result<(String, bool), ChangesError> {
        let git = git::program(self.room, "git").await?;
        let (code, output) = git::output_up_to(git.args(arguments).cwd(self.tree), limit).await?;
        // Truncating the output also kills git; that is not a failure.
        let is_whole = (output.len() as u64) < limit;
        match (code, is_whole) {
            (0, _) | (_, false) => Ok((output, is_whole)),
            (_, true) => Err(ChangesError::Git(output.lines().next().unwrap_or_default().trim().to_owned())),
        }
    }
}

/// `ADDED<tab>REMOVED<tab>PATH`.
fn file_change(line: &str) -> Option<FileChange> {
    let mut columns = line.splitn(3, '\t');
    let (added, removed, path) = (columns.next()?, columns.next()?, columns.next()?);
    let lines = added.parse().ok().zip(removed.parse().ok());
    Some(FileChange { path: path.to_owned(), lines })
}
