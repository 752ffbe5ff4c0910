//! What was committed between two commits: for anyone who looks at the work of others.
//!
//! Who is looked at has written the project's repository, and its settings and attributes can make git show less than was
//! changed. So git looks at the objects from a repository of ours, which has none of either, and the project is not there.

use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_sandbox::{EgressRules, Repository, SessionSandbox};

use crate::checkout::{CheckoutFactory, borrow};
use crate::git;
use crate::inquiry::Answer;

/// How many commits are named, and how much of the differences is read.
const MAX_COMMITS: usize = 200;
const MAX_DIFF: u64 = 4 * 1024 * 1024;

/// How much git may say of commits and files.
const MAX_LIST: u64 = 1024 * 1024;

/// How much of the differences a session is told.
const TOLD_BYTES: usize = 60_000;

/// The differences as they are: nobody's program makes them, and nothing is taken for something else.
const DIFF: [&str; 6] =
    ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--submodule=short"];

/// What was committed between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The commits, the newest first.
    pub commits: Vec<Commit>,
    /// Whether there are more of them.
    pub has_more_commits: bool,
    /// The files that are not the same.
    pub files: Vec<FileChange>,
    /// The differences, as git tells them, without prefixes to the paths.
    pub diff: String,
    /// Whether these are all differences.
    pub is_whole: bool,
}

/// A commit in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The beginning of its hash.
    pub hash: String,
    /// Its subject.
    pub subject: String,
}

/// How much a file was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path in the repository.
    pub path: String,
    /// Lines that were added and taken out; none if it is not a text.
    pub lines: Option<(u64, u64)>,
}

impl CheckoutFactory {
    /// What was committed after `base`, or ever, up to `head`, or to now. An error that is not a fault says why it cannot be told.
    pub async fn changes(
        &self,
        base: Option<&str>,
        head: Option<&str>,
    ) -> Result<Result<Changes, String>, Fault> {
        let repository = Repository::around(&self.root);
        let Some(objects) = self.objects(&repository)? else {
            return Ok(Err("there is no git repository".to_owned()));
        };
        let inquiry = self.inquiry(&repository).map_err(|error| self.io_fault(&error))?;
        let answer = inquiry.about(head.unwrap_or("HEAD")).await;
        inquiry.session_sandbox.close().await;
        let Answer { commit, format, .. } = match answer? {
            Ok(answer) => answer,
            Err(_) if head.is_some() => {
                return Ok(Err(format!("commit {} is no longer there", head.unwrap_or_default())));
            }
            Err(why) => return Ok(Err(why.to_owned())),
        };
        let directory = self.directory().map_err(|error| self.io_fault(&error))?;
        let tree = directory.path().join("tree");
        borrow(&tree, &commit, &objects, &format).map_err(|error| self.io_fault(&error))?;
        let part = repository.above.as_ref().and_then(|above| self.root.strip_prefix(above).ok());
        let part = part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
        let room = self.session_sandbox(directory.path(), Some(&objects), &EgressRules::default());
        let told = Teller { room: &room, tree: &tree, part: &part }.tell(base, &commit).await;
        room.close().await;
        told
    }

    /// The same, up to now, as text for a session: the files, and as much of the differences as is of use to it.
    pub async fn told_changes(&self, base: Option<&str>) -> Result<String, Fault> {
        let changes = match self.changes(base, None).await? {
            Ok(changes) => changes,
            Err(why) => return Ok(format!("What was changed is not known: {why}.\n")),
        };
        let what = base.map_or_else(
            || "All that is committed".to_owned(),
            |base| format!("What was committed since {base}"),
        );
        let files = changes.files.iter().map(|file| match file.lines {
            Some((added, removed)) => format!("{} +{added} -{removed}\n", file.path),
            None => format!("{} (not a text)\n", file.path),
        });
        let files: String = files.collect();
        let end =
            (0..=TOLD_BYTES.min(changes.diff.len())).rev().find(|end| changes.diff.is_char_boundary(*end));
        let diff = &changes.diff[..end.unwrap_or_default()];
        Ok(format!("## {what}\n\n```diff\n{files}\n{}\n```\n", diff.trim_end()))
    }
}

/// Has git tell about a repository of ours.
struct Teller<'a> {
    room: &'a SessionSandbox,
    tree: &'a Path,
    /// The project's place in its repository; empty if it is all of it.
    part: &'a str,
}

impl Teller<'_> {
    async fn tell(&self, base: Option<&str>, head: &str) -> Result<Result<Changes, String>, Fault> {
        let range = base.map_or_else(|| head.to_owned(), |base| format!("{base}..{head}"));
        let count = format!("-n{}", MAX_COMMITS + 1);
        let log = ["log", "--no-color", "--no-show-signature", "--format=%h%x09%s", &count, &range, "--"];
        let (commits, _) = match self.git(&log, MAX_LIST).await? {
            Ok(told) => told,
            Err(why) => return Ok(Err(why)),
        };
        let base = match base {
            Some(base) => base.to_owned(),
            None => match self.git(&["hash-object", "-t", "tree", "/dev/null"], MAX_LIST).await? {
                Ok((empty, _)) => empty.trim().to_owned(),
                Err(why) => return Ok(Err(why)),
            },
        };
        let (own, ours) = match self.part {
            "" => (".".to_owned(), ":(exclude,literal).autonoe".to_owned()),
            part => (format!(":(literal){part}"), format!(":(exclude,literal){part}/.autonoe")),
        };
        let between = [base.as_str(), head, "--", &own, &ours];
        let (files, _) = match self.git(&[&DIFF[..], &["--numstat"], &between].concat(), MAX_LIST).await? {
            Ok(told) => told,
            Err(why) => return Ok(Err(why)),
        };
        let (diff, is_whole) =
            match self.git(&[&DIFF[..], &["-U3", "--no-prefix"], &between].concat(), MAX_DIFF).await? {
                Ok(told) => told,
                Err(why) => return Ok(Err(why)),
            };
        let mut commits: Vec<Commit> = commits
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(hash, subject)| Commit { hash: hash.to_owned(), subject: subject.to_owned() })
            .collect();
        let has_more_commits = commits.len() > MAX_COMMITS;
        commits.truncate(MAX_COMMITS);
        let files = files.lines().filter_map(file_change).collect();
        Ok(Ok(Changes { commits, has_more_commits, files, diff, is_whole }))
    }

    /// What git says, and whether that is all; or why it says nothing.
    async fn git(&self, arguments: &[&str], limit: u64) -> Result<Result<(String, bool), String>, Fault> {
        let git = git::program(self.room, "git").await?;
        let (code, said) = git::said_up_to(git.args(arguments).cwd(self.tree), limit).await?;
        // What is cut off ends git too, and that is not its failure.
        let is_whole = (said.len() as u64) < limit;
        Ok(match (code, is_whole) {
            (0, _) | (_, false) => Ok((said, is_whole)),
            (_, true) => {
                let words = said.lines().next().unwrap_or_default().trim();
                Err(format!("git cannot tell ({words})"))
            }
        })
    }
}

/// `ADDED<tab>TAKEN OUT<tab>PATH`.
fn file_change(line: &str) -> Option<FileChange> {
    let mut columns = line.splitn(3, '\t');
    let (added, removed, path) = (columns.next()?, columns.next()?, columns.next()?);
    let lines = added.parse().ok().zip(removed.parse().ok());
    Some(FileChange { path: path.to_owned(), lines })
}
