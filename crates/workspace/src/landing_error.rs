//! Why commits did not land.

use std::fmt;

use autonoe_core::fault::Fault;
use autonoe_core::file_names::list_names;

use crate::project_files::is_of_user_only;

/// The branch for which commits were made, while another one or none is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedBranch {
    There(String),
    /// It is checked out in another working tree.
    Elsewhere {
        branch: String,
        place: String,
    },
    /// The user has removed it.
    Gone(String),
    /// None was checked out then either.
    Unknown,
}

/// Since when the branch that the user named was known to have commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownSince {
    /// It had them when the run began.
    Begin,
    /// The run has brought them there.
    Landing,
}

/// Why the user's branch was left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingRefusal {
    /// HEAD names no branch.
    Detached { wanted: WantedBranch },
    /// The user has checked out another branch since.
    Switched { to: String, wanted: WantedBranch },
    /// The user's branch has other commits now.
    Moved,
    /// The user's branch does not have so many commits up to `begin`, on which they stand.
    Dropped { count: usize, begin: String, branch: String },
    /// The commits do not continue the one from which the workspace was made.
    Diverged,
    /// They conflict with the user's in these files.
    Conflict(Vec<String>),
    /// They have no commit in common with it.
    Unrelated,
    /// Nothing is committed on the branch that is checked out.
    Unborn,
    /// Files that act on the user's machine by themselves have changed.
    SelfActing(Vec<String>),
    /// Files by which checks judge have changed.
    Protected(Vec<String>),
    /// The file that only the user and the run edit has changed.
    UsersOwn(String),
    /// These deliverables, which the user's branch has, verified, have not passed with them.
    Broken(Vec<String>),
    /// Another reason, and files that act by themselves, of which a user who merges by hand should know.
    AndSelfActing { why: Box<Self>, files: Vec<String> },
    /// Another reason, while the user is in the middle of a merge or the like, as this file of `.git` shows: no other merge can begin.
    AndInProgress { why: Box<Self>, file: String },
    /// Repositories within the repository, of which only the name is committed.
    Gitlinks(Vec<String>),
    /// Files whose names are not UTF-8.
    Names(Vec<String>),
    /// The user is in the middle of a merge or the like; this file of `.git` shows it.
    InProgress(String),
    /// The run ended before anything that they belong to has passed.
    NotPassed,
    /// The same for a landing that needs checks.
    NotVerified,
    /// The run ended, and what is verified was not verified on the last of them.
    NotConfirmed,
    /// The user wants no landing.
    NotWanted,
    /// A file that would change has uncommitted changes, or something else prevents git from updating files.
    Files(String),
    /// The branch is locked by another git.
    Locked(String),
    /// The branch that the user named is checked out.
    CheckedOut { branch: String },
    /// The branch that the user named has other commits.
    Elsewhere { branch: String },
    /// The user has removed the branch that the user named.
    BranchGone { branch: String, since: KnownSince },
    /// The user has removed commits from it.
    BranchReset { branch: String, since: KnownSince },
}

/// Files that are named; the rest is counted.
const NAMED_FILES: usize = 20;

/// The names of files, as far as they are named.
pub fn list_files(files: &[String]) -> String {
    let named = list_names(files.iter().take(NAMED_FILES));
    match files.len().saturating_sub(NAMED_FILES) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The beginning of a commit's hash.
fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Lists those that only the user and Autonoe write, and those that programs act on; `None` if there are none.
fn told_apart(files: &[String]) -> (Option<String>, Option<String>) {
    let (users, acting): (Vec<String>, Vec<String>) =
        files.iter().cloned().partition(|file| is_of_user_only(file));
    let listed = |files: Vec<String>| (!files.is_empty()).then(|| list_files(&files));
    (listed(users), listed(acting))
}

impl fmt::Display for LandingRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Detached { .. } => write!(f, "no branch is checked out"),
            Self::Switched { to, .. } => write!(f, "'{to}' is checked out now"),
            Self::Moved => write!(f, "your branch has moved since the run began"),
            Self::Dropped { count, begin, .. } => write!(
                f,
                "they stand on {count} commit(s) that your branch does not have, up to {}, and that would come with them",
                short(begin)
            ),
            Self::Diverged => write!(f, "they do not continue your branch as it is"),
            Self::Conflict(files) => write!(f, "they conflict with yours in {}", list_files(files)),
            Self::Unrelated => write!(f, "they have no commit in common with your branch"),
            Self::Unborn => {
                write!(
                    f,
                    "nothing is committed on the branch that is checked out, so they do not continue it"
                )
            }
            Self::SelfActing(files) => {
                let (users, acting) = told_apart(files);
                let acting = acting.map(|files| {
                    format!("programs on your machine would act on these files by themselves: {files}")
                });
                let users = users.map(|files| format!("only you and Autonoe write these files: {files}"));
                write!(f, "{}", acting.into_iter().chain(users).collect::<Vec<_>>().join("; "))
            }
            Self::AndSelfActing { why, files } => {
                let (users, acting) = told_apart(files);
                write!(f, "{why}; before you merge them, look at files")?;
                if let Some(files) = &acting {
                    write!(f, " that programs on your machine would act on by themselves: {files}")?;
                }
                match users {
                    Some(files) if acting.is_some() => {
                        write!(f, "; and at those that only you and Autonoe write: {files}")
                    }
                    Some(files) => write!(f, " that only you and Autonoe write: {files}"),
                    None => Ok(()),
                }
            }
            Self::Protected(files) => {
                write!(f, "they change files that your checks judge by: {}", list_files(files))
            }
            Self::UsersOwn(file) => write!(f, "they change {file}, which agents must not edit"),
            Self::Broken(ids) => {
                write!(f, "what was verified before has not passed with them: {}", list_files(ids))
            }
            Self::Gitlinks(paths) => {
                write!(
                    f,
                    "they contain repositories of their own, whose files are not committed: {}",
                    list_files(paths)
                )
            }
            Self::Names(files) => write!(f, "these names are not UTF-8: {}", list_files(files)),
            Self::InProgress(file) => write!(f, "you are in the middle of something (.git/{file})"),
            Self::AndInProgress { why, file } => {
                write!(f, "{why}; first finish or abort what you are in the middle of (.git/{file})")
            }
            Self::NotWanted => write!(f, "you asked for no landing"),
            Self::NotPassed => write!(f, "no further deliverable has passed with the last of them"),
            Self::NotVerified => write!(f, "no further deliverable was verified with the last of them"),
            Self::NotConfirmed => write!(f, "not all that is verified was verified on the last of them"),
            Self::Files(why) => write!(f, "your files cannot be updated: {why}"),
            Self::Locked(why) => write!(f, "your branch cannot be changed: {why}"),
            Self::CheckedOut { branch } => write!(f, "'{branch}' is checked out"),
            Self::Elsewhere { branch } => write!(f, "'{branch}' has commits that these do not continue"),
            Self::BranchGone { branch, since: KnownSince::Landing } => {
                write!(f, "'{branch}', on which commits of the run landed, is gone")
            }
            Self::BranchGone { branch, since: KnownSince::Begin } => {
                write!(f, "'{branch}', which was there when the run began, is gone")
            }
            Self::BranchReset { branch, since: KnownSince::Landing } => {
                write!(f, "'{branch}' no longer has the commits of the run that landed there")
            }
            Self::BranchReset { branch, since: KnownSince::Begin } => {
                write!(f, "'{branch}' no longer has the commits that it had when the run began")
            }
        }
    }
}

impl LandingRefusal {
    /// The files that are the reason, if the sentence does not name all of them.
    pub fn more_files(&self) -> &[String] {
        let files = match self {
            Self::AndInProgress { why, .. } => return why.more_files(),
            Self::Conflict(files)
            | Self::SelfActing(files)
            | Self::AndSelfActing { files, .. }
            | Self::Protected(files)
            | Self::Gitlinks(files)
            | Self::Names(files) => files,
            _ => return &[],
        };
        if files.len() > NAMED_FILES { files } else { &[] }
    }

    /// Whether it says already that the user is in the middle of something.
    pub(crate) fn is_in_progress(&self) -> bool {
        match self {
            Self::InProgress(_) => true,
            Self::AndSelfActing { why, .. } => why.is_in_progress(),
            _ => false,
        }
    }

    /// How the user gets the commits, which are on `branch`.
    pub fn advice(&self, branch: &str) -> String {
        self.advice_with(branch, "")
    }

    /// `options` are for `autonoe land`.
    fn advice_with(&self, branch: &str, options: &str) -> String {
        let merge = format!("git merge --no-overwrite-ignore {branch}");
        let land = format!("`autonoe land{options}`");
        let accept = |option: &str| {
            format!(
                "`autonoe diff` shows them, `autonoe land {option}{options}` lands them on the branch that is checked out"
            )
        };
        match self {
            Self::SelfActing(_) => accept("--accept-self-acting"),
            Self::Protected(_) => accept("--accept-protected"),
            Self::UsersOwn(_) => {
                format!("`autonoe diff` shows them, {land} lands them on the branch that is checked out")
            }
            Self::Broken(_) => {
                format!("they land once it has passed again, or with {land} as they are")
            }
            Self::AndSelfActing { why, .. } => why.advice_with(branch, " --accept-self-acting"),
            Self::AndInProgress { why, .. } => why.advice_with(branch, options),
            Self::Unrelated => format!("{merge} --allow-unrelated-histories"),
            Self::Detached { wanted } | Self::Switched { wanted, .. } => match wanted {
                WantedBranch::There(wanted) => format!("git switch {wanted}, then {land}"),
                WantedBranch::Elsewhere { branch: wanted, place } => {
                    format!("in {place}, where '{wanted}' is checked out: {merge}")
                }
                WantedBranch::Gone(wanted) => format!(
                    "'{wanted}', for which they are, is gone: check out another branch for them, then {land}; or to have it again with them: git branch {wanted} {branch}"
                ),
                WantedBranch::Unknown => format!("check out a branch for them, then {land}"),
            },
            Self::Unborn => format!("check out the branch that they are for, then {land}"),
            Self::Dropped { begin, branch: users, .. } => format!(
                "to get them without those: git rebase --onto {users} {} {branch} && git switch {users} && {merge}; to get all of them: {merge}",
                short(begin)
            ),
            Self::Files(_) | Self::Locked(_) => {
                format!("when that is out of the way, {land} lands them on the branch that is checked out")
            }
            // What is finished is a commit that they do not continue.
            Self::InProgress(_) => format!("abort it, then {land}; or finish it, then {merge}"),
            Self::Moved
            | Self::Diverged
            | Self::Conflict(_)
            | Self::Gitlinks(_)
            | Self::Names(_)
            | Self::NotPassed
            | Self::NotVerified
            | Self::NotConfirmed
            | Self::NotWanted => merge,
            Self::CheckedOut { branch: named } => format!("where '{named}' is checked out: {merge}"),
            Self::Elsewhere { branch: named } | Self::BranchReset { branch: named, .. } => {
                format!("git switch {named} && {merge}")
            }
            Self::BranchGone { branch: named, .. } => format!("git branch {named} {branch}"),
        }
    }
}

/// Why a landing did not happen.
pub(crate) enum LandingError {
    Refused(LandingRefusal),
    Failed(Fault),
}

impl From<Fault> for LandingError {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl From<LandingRefusal> for LandingError {
    fn from(refusal: LandingRefusal) -> Self {
        Self::Refused(refusal)
    }
}

#[cfg(test)]
mod tests {
    use super::{LandingRefusal, WantedBranch, list_files};

    #[test]
    fn names_stay_in_their_line() {
        let files: Vec<String> = (0..22).map(|number| format!("{number}\n[LANDED]")).collect();
        let listed = list_files(&files);
        assert!(listed.starts_with("0[U+000A][LANDED], 1[U+000A]"), "{listed}");
        assert!(listed.ends_with("19[U+000A][LANDED] and 2 more"), "{listed}");
        let why = LandingRefusal::SelfActing(files);
        assert!(!why.to_string().contains('\n'));
        assert_eq!(why.more_files().len(), 22);
        assert!(LandingRefusal::SelfActing(vec!["a".to_owned(); 20]).more_files().is_empty());
    }

    #[test]
    fn files_of_the_user_are_told_from_those_that_act() {
        let files = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>();
        let users = files(&["a/.autonoe/status.json (ignored by git)", "SPEC.md"]);
        let both = files(&[".autonoe/status.json", ".envrc"]);
        let and = |files| LandingRefusal::AndSelfActing { why: Box::new(LandingRefusal::Moved), files };
        for (why, expected) in [
            (
                LandingRefusal::SelfActing(users.clone()),
                "only you and Autonoe write these files: a/.autonoe/status.json (ignored by git), SPEC.md",
            ),
            (
                LandingRefusal::SelfActing(both.clone()),
                "programs on your machine would act on these files by themselves: .envrc; only you and Autonoe write these files: .autonoe/status.json",
            ),
            (
                and(users),
                "your branch has moved since the run began; before you merge them, look at files that only you and Autonoe write: a/.autonoe/status.json (ignored by git), SPEC.md",
            ),
            (
                and(both),
                "your branch has moved since the run began; before you merge them, look at files that programs on your machine would act on by themselves: .envrc; and at those that only you and Autonoe write: .autonoe/status.json",
            ),
        ] {
            assert_eq!(why.to_string(), expected);
        }
    }

    #[test]
    fn the_branch_for_which_commits_are_is_named() {
        for (wanted, advice) in [
            (WantedBranch::There("main".to_owned()), "git switch main, then `autonoe land`"),
            (
                WantedBranch::Gone("main".to_owned()),
                "'main', for which they are, is gone: check out another branch for them, then `autonoe land`; or to have it again with them: git branch main b",
            ),
            (WantedBranch::Unknown, "check out a branch for them, then `autonoe land`"),
        ] {
            assert_eq!(LandingRefusal::Detached { wanted: wanted.clone() }.advice("b"), advice);
            assert_eq!(LandingRefusal::Switched { to: "other".to_owned(), wanted }.advice("b"), advice);
        }
    }
}
