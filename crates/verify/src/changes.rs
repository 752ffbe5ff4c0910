//! The changes between two commits, for reviewing the work of agents.
//!
//! Agents can write the project's repository, and its settings and attributes could make git show less than
//! was changed. So git reads the objects from a repository of ours, which has neither, in a room without the
//! project.

use autonoe_core::fault::Fault;
use autonoe_git::{GitRoom, Skeleton};

use crate::checkout::CheckoutFactory;
use crate::commit_source::CommitSource;
use crate::no_commit::NoCommit;

/// Limits for commits and for the diff in bytes.
const MAX_COMMITS: usize = 200;
const MAX_DIFF: u64 = 4 * 1024 * 1024;

/// Maximum output for lists of commits and files, in bytes.
const MAX_LIST: u64 = 1024 * 1024;

/// Maximum length of the diff in a briefing, in bytes.
const BRIEFING_BYTES: usize = 60_000;

/// Prints the commit `$2` of the repository `$1`, its hash format and the file `shallow`.
const COMMIT: &str = r#"cd "$1" && git rev-parse --verify --quiet "$2^{commit}" && git rev-parse --show-object-format || exit
shallow=$(git rev-parse --git-path shallow) && [ ! -f "$shallow" ] || cat "$shallow""#;

/// Prints the first `$1` bytes of what git prints.
const LIMITED: &str = r#"limit=$1; shift
git "$@" > .git/output; code=$?
head -c "$limit" .git/output; exit "$code""#;

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
        let Some(source) = self.source()? else {
            return Err(NoCommit::NoRepository.into());
        };
        let room = self.git_room(source.readable.iter().chain(&source.objects).cloned(), [])?;
        let changes = DiffReader { room: &room, source: &source }.read(base, head).await;
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
    room: &'a GitRoom,
    source: &'a CommitSource,
}

impl DiffReader<'_> {
    async fn read(&self, base: Option<&str>, head: Option<&str>) -> Result<Changes, ChangesError> {
        let wanted = head.unwrap_or(self.source.head);
        let found = self.room.run(COMMIT, [self.source.directory.as_os_str(), wanted.as_ref()]).await?;
        let mut parts = found.stdout.splitn(3, '\n');
        let (Some(commit), Some(format), shallow, 0) = (parts.next(), parts.next(), parts.next(), found.code)
        else {
            return Err(match (head, found.code) {
                (_, 127) => NoCommit::NoGit.into(),
                (Some(head), _) => ChangesError::Gone(head.to_owned()),
                (None, _) => NoCommit::NothingCommitted.into(),
            });
        };
        let shallow = shallow.filter(|shallow| !shallow.is_empty());
        let borrowed = &self.source.objects;
        let skeleton = Skeleton { format, branch: "none", borrowed, shallow, ..Skeleton::default() };
        let written = skeleton.write(&self.room.work().join(".git"));
        written.map_err(|error| ChangesError::Git(error.to_string()))?;
        self.compare(base, commit).await
    }

    async fn compare(&self, base: Option<&str>, head: &str) -> Result<Changes, ChangesError> {
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
        let part = self.source.part.trim_end_matches('/');
        let (include, exclude) = match part {
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

    /// At most `limit` bytes of the output, and whether that is all.
    async fn git(&self, arguments: &[&str], limit: u64) -> Result<(String, bool), ChangesError> {
        let limit = limit.to_string();
        let ran = self.room.run(LIMITED, [limit.as_str()].iter().chain(arguments)).await?;
        let is_whole = ran.stdout.len().to_string() != limit;
        match (ran.code, is_whole) {
            (0, _) | (_, false) => Ok((ran.stdout, is_whole)),
            (_, true) => Err(ChangesError::Git(ran.reason())),
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
