//! Finds what would make git fail or hang in a project, by looking at its files. Git itself is not asked: it waits for a pipe,
//! and does not say which file it waits for.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_files::{FileKind, ReadError, find_regular, read_text};

use crate::repository::{CONFIG_LIMIT, Repository};

/// Files in a `.git` directory that every git command, or every commit, reads.
const READ_BY_GIT: [&str; 13] = [
    "HEAD",
    "index",
    "packed-refs",
    "commondir",
    "gitdir",
    "config.worktree",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
    "logs/HEAD",
    "ORIG_HEAD",
];

/// Files in working trees that git reads.
const READ_IN_TREE: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// Size in bytes above which git would not finish in time: it reads these files for nearly every command.
const MAX_TREE_FILE: u64 = 100 * 1024 * 1024;

/// Settings that name a file which git reads, by section and key.
const NAMED_IN_CONFIG: [(&str, &str); 4] =
    [("include", "path"), ("includeif", "path"), ("core", "excludesfile"), ("core", "attributesfile")];

/// Limits of the search through a working tree: directory entries and depth.
const MAX_ENTRIES: usize = 50_000;
const MAX_DEPTH: usize = 16;

/// Limit of the search through references, which is made often.
const MAX_REFERENCES: usize = 5_000;

/// A file because of which git cannot work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryProblem {
    pub path: PathBuf,
    /// A clause about "it", the file.
    pub why: String,
    /// A sentence.
    pub advice: String,
}

impl RepositoryProblem {
    /// The first problem of the repository around `root`; `None` if there is none, or no repository.
    pub fn find(root: &Path) -> Option<Self> {
        let repository = Repository::around(root);
        let top = repository.top(root);
        if let Some(problem) = broken_git(&root.join(".git")).or_else(|| broken_git(&top.join(".git"))) {
            return Some(problem);
        }
        if let Some((path, error)) = repository.unreadable_settings() {
            return Some(Self::unreadable(&path, &error));
        }
        let inside = repository.directories.iter().flat_map(|own| READ_BY_GIT.map(|name| own.join(name)));
        let named = repository.directories.iter().flat_map(|own| named_in_config(own));
        if let Some(problem) = inside.chain(named).find_map(|path| blocks(&path)) {
            return Some(problem);
        }
        let references =
            repository.directories.iter().flat_map(|own| ["refs", "logs"].map(|name| own.join(name)));
        let mut left = MAX_REFERENCES;
        if let Some(problem) =
            references.into_iter().find_map(|path| search(&path, MAX_DEPTH, &mut left, |_| true))
        {
            return Some(problem);
        }
        let trees = [top, root].into_iter().filter(|_| !repository.directories.is_empty());
        trees.flat_map(|tree| READ_IN_TREE.map(|name| tree.join(name))).find_map(|path| special(&path))
    }

    /// A file deeper in the working tree, or an object, for which git would wait. Takes long in a large project, so it is for when git did
    /// not finish, and for the doctor.
    pub fn search(root: &Path) -> Option<Self> {
        let repository = Repository::around(root);
        let objects = repository.directories.first().map(|shared| shared.join("objects"));
        let is_read = |name: &OsStr| READ_IN_TREE.iter().any(|read| name == *read);
        Self::find(root)
            .or_else(|| search(repository.top(root), MAX_DEPTH, &mut MAX_ENTRIES.clone(), is_read))
            .or_else(|| search(&objects?, MAX_DEPTH, &mut MAX_ENTRIES.clone(), |_| true))
    }

    fn unreadable(path: &Path, error: &ReadError) -> Self {
        Self { path: path.to_owned(), why: error.to_string(), advice: error.advice().to_owned() }
    }
}

/// What is wrong with a `.git` that exists, but is not a repository.
fn broken_git(git: &Path) -> Option<RepositoryProblem> {
    git.symlink_metadata().ok()?;
    let problem = |why: String| {
        let advice = "Repair or remove it, or move the project elsewhere; `git status` there says more.";
        Some(RepositoryProblem { path: git.to_owned(), why, advice: advice.to_owned() })
    };
    match find_regular(git) {
        Err(ReadError::NotRegular(FileKind::Directory)) => {
            let head = git.join("HEAD").symlink_metadata();
            if let Err(error) = &head
                && error.kind() == io::ErrorKind::PermissionDenied
            {
                let advice = "Change its permissions so that you can open it: `chmod u+rwx .git`.".to_owned();
                let why = "you are not allowed to open it (permission denied)".to_owned();
                return Some(RepositoryProblem { path: git.to_owned(), why, advice });
            }
            let is_repository = head.is_ok();
            // `git init` fills an empty directory.
            let is_empty = fs::read_dir(git).is_ok_and(|mut entries| entries.next().is_none());
            if is_repository || is_empty {
                None
            } else {
                problem("it is not a repository: it has no HEAD".to_owned())
            }
        }
        Err(ReadError::Io(error)) => problem(format!("it cannot be opened ({error})")),
        Err(error) => problem(error.to_string()),
        Ok(None) => problem("it is a symbolic link to something that does not exist".to_owned()),
        Ok(Some(_)) => match read_text(git, CONFIG_LIMIT) {
            Err(error) => problem(error.to_string()),
            Ok(text) => match text.as_deref().and_then(|text| text.strip_prefix("gitdir:")) {
                None => problem("it is a file without a line `gitdir: DIRECTORY`".to_owned()),
                Some(named) => {
                    let named = named.trim();
                    let target = git.parent()?.join(named);
                    match target.join("HEAD").symlink_metadata() {
                        Ok(_) => None,
                        Err(_) => {
                            problem(format!("it names the directory '{named}', which is not a repository"))
                        }
                    }
                }
            },
        },
    }
}

/// A file for which git would wait, or that never ends. Follows links, as git does in its own directory.
fn blocks(path: &Path) -> Option<RepositoryProblem> {
    match find_regular(path) {
        Err(ReadError::NotRegular(FileKind::Directory)) | Err(ReadError::Io(_)) | Ok(_) => None,
        Err(error) => Some(RepositoryProblem::unreadable(path, &error)),
    }
}

/// Like [`blocks`], for files in working trees, where git does not follow links. They may also be too large.
fn special(path: &Path) -> Option<RepositoryProblem> {
    let metadata = path.symlink_metadata().ok().filter(|metadata| !metadata.is_symlink())?;
    if metadata.is_file() && metadata.len() > MAX_TREE_FILE {
        return Some(RepositoryProblem::unreadable(path, &ReadError::TooLarge { limit: MAX_TREE_FILE }));
    }
    blocks(path)
}

fn named_in_config(directory: &Path) -> Vec<PathBuf> {
    let text = read_text(&directory.join("config"), CONFIG_LIMIT).ok().flatten().unwrap_or_default();
    let (mut section, mut found) = (String::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.split([']', ' ', '"', '.']).next().unwrap_or_default().to_lowercase();
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.rsplit(']').next().unwrap_or_default().trim().to_lowercase();
        let value = value.trim().trim_matches('"');
        if NAMED_IN_CONFIG.contains(&(section.as_str(), key.as_str())) && !value.starts_with('~') {
            found.push(directory.join(value));
        }
    }
    found
}

/// The first special file among those that are read.
fn search(
    directory: &Path,
    depth: usize,
    left: &mut usize,
    is_read: impl Fn(&OsStr) -> bool + Copy,
) -> Option<RepositoryProblem> {
    let mut below = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        *left = left.checked_sub(1)?;
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        if kind.is_dir() && name != ".git" {
            below.push(entry.path());
        } else if is_read(&name)
            && !kind.is_file()
            && let Some(problem) = special(&entry.path())
        {
            return Some(problem);
        }
    }
    below.iter().filter(|_| depth > 0).find_map(|directory| search(directory, depth - 1, left, is_read))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::RepositoryProblem;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("directory");
        let root = directory.path().canonicalize().expect("real").join("project");
        fs::create_dir_all(root.join("sub")).expect("directory");
        (directory, root)
    }

    fn init(root: &Path) {
        for name in ["info", "objects/info", "objects/ab", "logs/refs/heads", "refs/heads/deep"] {
            fs::create_dir_all(root.join(".git").join(name)).expect("directory");
        }
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
        fs::write(root.join(".git/config"), "[core]\n\tbare = false\n").expect("written");
    }

    fn pipe(path: &Path) {
        let _ = fs::remove_file(path);
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("pipe");
    }

    #[test]
    fn a_git_that_is_not_a_repository_is_described() {
        for (words, make) in [
            (
                "names the directory '/nonexistent'",
                &(|git: &Path| fs::write(git, "gitdir: /nonexistent\n").expect("written")) as &dyn Fn(&Path),
            ),
            ("without a line `gitdir:", &|git| fs::write(git, "hello\n").expect("written")),
            ("it is a named pipe", &|git| pipe(git)),
            ("cannot be opened", &|git| symlink(".git", git).expect("link")),
            ("cannot be opened", &|git| {
                symlink(".git", git.with_file_name("other")).expect("link");
                symlink("other", git).expect("link");
            }),
            ("something that does not exist", &|git| symlink("nowhere", git).expect("link")),
            ("it has no HEAD", &|git| fs::create_dir_all(git.join("objects")).expect("directory")),
        ] {
            let (_directory, root) = project();
            make(&root.join(".git"));
            let problem = RepositoryProblem::find(&root).expect(words);
            assert_eq!(problem.path, root.join(".git"));
            assert!(problem.why.contains(words), "{problem:?}");
        }
        let (_directory, root) = project();
        assert_eq!(RepositoryProblem::find(&root), None, "no repository");
        fs::create_dir(root.join(".git")).expect("directory");
        assert_eq!(RepositoryProblem::find(&root), None, "an empty directory");
        fs::remove_dir(root.join(".git")).expect("removed");
        init(&root);
        assert_eq!(RepositoryProblem::find(&root), None);
        assert_eq!(RepositoryProblem::find(&root.join("sub")), None);
    }

    #[test]
    fn a_git_that_may_not_be_opened_is_described() {
        if rustix::process::geteuid().is_root() {
            return;
        }
        let (_directory, root) = project();
        init(&root);
        let git = root.join(".git");
        fs::set_permissions(&git, fs::Permissions::from_mode(0o000)).expect("changed");
        let problem = RepositoryProblem::find(&root).expect("a problem");
        fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("changed");
        assert!(problem.why.contains("permission denied") && problem.advice.contains("chmod"), "{problem:?}");
    }

    #[test]
    fn a_huge_ignore_file_is_named() {
        let (_directory, root) = project();
        init(&root);
        let file = fs::File::create(root.join(".gitignore")).expect("file");
        file.set_len(2 << 30).expect("grown");
        let problem = RepositoryProblem::find(&root).expect("a problem");
        assert_eq!(problem.path, root.join(".gitignore"));
        assert!(problem.why.contains("larger than 100 MiB"), "{problem:?}");
        assert_eq!(problem.advice, "Make it smaller.");
    }

    #[test]
    fn a_pipe_that_git_reads_is_named() {
        for name in [
            ".git/index",
            ".git/HEAD",
            ".git/packed-refs",
            ".git/commondir",
            ".git/info/exclude",
            ".git/refs/heads/main",
            ".git/refs/heads/deep/er",
            ".git/logs/refs/heads/main",
            ".gitignore",
            ".git/config",
        ] {
            let (_directory, root) = project();
            init(&root);
            pipe(&root.join(name));
            for project in [&root, &root.join("sub")] {
                let problem = RepositoryProblem::find(project).expect(name);
                assert_eq!(problem.path, root.join(name));
                assert_eq!(problem.why, "it is a named pipe, not a regular file");
            }
        }
    }

    #[test]
    fn a_pipe_that_the_settings_include_is_named() {
        for (text, name) in [
            ("[include]\n\tpath = more\n", ".git/more"),
            ("[includeIf \"gitdir:/\"] path = \"more\"\n", ".git/more"),
            ("[Core]\n\texcludesFile = ../ignored\n", ".git/../ignored"),
        ] {
            let (_directory, root) = project();
            init(&root);
            fs::write(root.join(".git/config"), text).expect("written");
            assert_eq!(RepositoryProblem::find(&root), None, "a missing file does no harm");
            pipe(&root.join(name));
            assert_eq!(RepositoryProblem::find(&root).expect(text).path, root.join(name));
        }
    }

    #[test]
    fn a_pipe_deep_in_the_working_tree_is_found_by_a_search() {
        let (_directory, root) = project();
        init(&root);
        fs::create_dir_all(root.join("sub/deeper")).expect("directory");
        let file = root.join("sub/deeper/.gitignore");
        symlink("/dev/zero", &file).expect("link");
        assert_eq!(RepositoryProblem::search(&root), None, "git does not follow links there");
        pipe(&file);
        assert_eq!(RepositoryProblem::find(&root), None);
        assert_eq!(RepositoryProblem::search(&root).expect("found").path, file);
        fs::remove_file(file).expect("removed");
        pipe(&root.join(".git/objects/ab/cdef"));
        assert_eq!(RepositoryProblem::find(&root), None);
        assert_eq!(RepositoryProblem::search(&root).expect("found").path, root.join(".git/objects/ab/cdef"));
    }
}
