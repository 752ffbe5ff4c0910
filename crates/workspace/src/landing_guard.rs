//! What must not land without the user's word, although git could apply it: files that programs on the user's machine act on by themselves,
//! because of their names, or because a link or the user's own settings lead to them; and repositories within the repository.

use std::fs;
use std::path::{Path, PathBuf};

use crate::changed_file::ChangedFile;
use crate::hub::ListProtected;
use crate::landing::{LandingAttempt, LandingConsent};
use crate::landing_error::{LandingError, LandingRefusal};
use crate::named_paths::{NamedPaths, is_in};
use crate::project_files::{NOTE, SPEC};
use crate::self_acting::{acts_by_itself, names_a_driver};

/// Lists the files that any of the new commits touches.
const TOUCHED: &str = r#"export GIT_DIR="$2"
range=$5; [ -z "$4" ] || range=$4..$5
git log -m --format= --name-only -z --no-renames "$range""#;

/// Lists the links of the new commit, and the files named HEAD, which make a directory a repository; with their modes.
const LINKS_AND_HEADS: &str =
    r#"git --git-dir="$2" ls-tree -r -z "$5" | grep -zi -e '^120000' -e '[/	]HEAD$' || true"#;

/// Prints the new content of the file `$6`.
const CONTENT: &str = r#"git --git-dir="$2" cat-file blob "$5:$6""#;

/// Files in `.git` that show that the user is in the middle of something.
const IN_PROGRESS: [&str; 5] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

/// Prints what changes in the file `$6`, line by line.
const LINES: &str = r#"export GIT_DIR="$2"
old=$4; [ "$old" ] || exit 0
git diff --no-color --no-ext-diff --no-textconv -U0 "$old" "$5" -- "$6" | sed '1,/^@@/d'"#;

/// Lists files that the user has deleted and not committed.
const DELETED: &str = r#"cd "$1" && git --no-optional-locks diff-files -z --name-only --diff-filter=D"#;

const LINK: &str = "120000";
const GITLINK: &str = "160000";

/// How many links may follow each other.
const MAX_LINKS: usize = 8;

impl LandingAttempt<'_> {
    /// Refuses to land in the middle of what the user does.
    pub(crate) async fn check_user(&self, changed: &[ChangedFile]) -> Result<(), LandingError> {
        let directories = self.hub.repository().directories;
        let is_there = |name: &&str| directories.iter().any(|directory| directory.join(name).exists());
        if let Some(name) = IN_PROGRESS.into_iter().find(is_there) {
            return Err(LandingRefusal::InProgress(name.to_owned()).into());
        }
        if self.from.is_sparse {
            return Err(LandingRefusal::Files("your checkout has only some of the files".to_owned()).into());
        }
        if directories.iter().any(|directory| has_split_index(directory)) {
            let why = "your index is split; `git update-index --no-split-index` joins it";
            return Err(LandingRefusal::Files(why.to_owned()).into());
        }
        let deleted = self.succeed(DELETED, &[]).await?;
        let deleted: Vec<_> = deleted.split_terminator('\0').collect();
        match changed.iter().find(|file| deleted.contains(&file.path.as_str())) {
            Some(file) => {
                Err(LandingRefusal::Files(format!("you have deleted {} and not committed that", file.path))
                    .into())
            }
            None => Ok(()),
        }
    }

    /// Refuses files that must not land.
    pub(crate) async fn check_files(
        &self,
        changed: &[ChangedFile],
        consent: LandingConsent,
    ) -> Result<(), LandingError> {
        let links = changed.iter().filter(|file| file.mode == GITLINK);
        let links: Vec<_> = links.map(|file| file.path.clone()).collect();
        if !links.is_empty() {
            return Err(LandingRefusal::Gitlinks(links).into());
        }
        if !consent.protected {
            self.check_protected(changed)?;
        }
        if consent.self_acting {
            return Ok(());
        }
        let places = self.acting_places().await?;
        let mut found = Vec::new();
        for ChangedFile { path, mode, .. } in changed {
            let by_content = match path.rsplit('/').next() {
                Some(".gitattributes") => names_a_driver(&self.run(CONTENT, &[path]).await?.stdout),
                Some(".gitignore") => ignores_less(&self.run(LINES, &[path]).await?.stdout),
                _ => false,
            };
            let is_acting = acts_by_itself(path) || is_users_own(path) || places.contains(path, mode);
            if is_acting || by_content || self.shadows_a_program(path) {
                found.push(path.clone());
            }
        }
        // A later checkout of a commit in between would bring them.
        let touched = self.succeed(TOUCHED, &[]).await?;
        let touched = touched.split(['\0', '\n']).filter(|path| acts_by_itself(path) || is_users_own(path));
        found.extend(touched.map(str::to_owned));
        found.sort_unstable();
        found.dedup();
        match found.is_empty() {
            true => Ok(()),
            false => Err(LandingRefusal::SelfActing(found).into()),
        }
    }

    /// Refuses changes to files by which checks judge: only the user says how the work is judged.
    fn check_protected(&self, changed: &[ChangedFile]) -> Result<(), LandingError> {
        let Some(ListProtected(list)) = &self.hub.users.list_protected else { return Ok(()) };
        let protected = list()?;
        let is_protected = |file: &&ChangedFile| protected.contains(&self.from.top.join(&file.path));
        let files: Vec<_> = changed.iter().filter(is_protected).map(|file| file.path.clone()).collect();
        match files.is_empty() {
            true => Ok(()),
            false => Err(LandingRefusal::Protected(files).into()),
        }
    }

    /// Whether a file would come before, or instead of, another program of its name on the user's search path.
    fn shadows_a_program(&self, path: &str) -> bool {
        let search_path = self.hub.users.search_path.iter().map(PathBuf::as_path);
        shadows(Path::new(path), &self.from.top, search_path)
    }

    async fn acting_places(&self) -> Result<ActingPlaces, LandingError> {
        let repository = self.hub.repository();
        let named = NamedPaths::of(&repository, &self.from.top, self.hub.home());
        let listed = self.succeed(LINKS_AND_HEADS, &[]).await?;
        let listed: Vec<_> = listed.split_terminator('\0').filter_map(|line| line.split_once('\t')).collect();
        // The top has a .git, which comes first.
        let repositories = listed.iter().filter_map(|(_, path)| {
            let (directory, name) = path.rsplit_once('/')?;
            name.eq_ignore_ascii_case("HEAD").then(|| directory.to_owned())
        });
        let mut places = ActingPlaces { named, others: repositories.collect() };
        let mut links: Vec<_> =
            listed.iter().filter(|(entry, _)| entry.starts_with(LINK)).map(|(_, path)| *path).collect();
        for _ in 0..MAX_LINKS {
            let (acting, rest): (Vec<_>, Vec<_>) = links
                .into_iter()
                .partition(|link| acts_by_itself(link) || is_users_own(link) || places.contains(link, LINK));
            if acting.is_empty() {
                break;
            }
            for link in acting {
                let target = self.run(CONTENT, &[link]).await?.stdout;
                places.others.extend(within(link, &target));
            }
            links = rest;
        }
        Ok(places)
    }
}

/// Whether a path is a file that only the user writes, of this project or of another part of the repository. As a link it would show agents
/// what it leads to.
fn is_users_own(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| [SPEC, NOTE].contains(&name))
}

/// Whether a change of a `.gitignore` takes something out of it: the user's secrets in ignored files would count as files of the project.
fn ignores_less(lines: &str) -> bool {
    let is_pattern = |rest: &str| !rest.trim().is_empty() && !rest.starts_with('#');
    lines.lines().any(|line| line.starts_with("+!") || line.strip_prefix('-').is_some_and(is_pattern))
}

fn has_split_index(git: &Path) -> bool {
    let mut entries = fs::read_dir(git).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex."))
}

/// Files and directories that act by themselves, whatever their names.
struct ActingPlaces {
    named: NamedPaths,
    others: Vec<String>,
}

impl ActingPlaces {
    fn contains(&self, path: &str, mode: &str) -> bool {
        self.named.contains(path, mode) || self.others.iter().any(|place| is_in(path, place))
    }
}

/// Where in the tree a link leads; `None` if it leads out.
fn within(link: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" if parts.is_empty() => return None,
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    (!target.starts_with('/') && !parts.is_empty()).then(|| parts.join("/"))
}

/// An entry that is not absolute leads from wherever the user stands.
fn shadows<'a>(path: &Path, top: &Path, search_path: impl Iterator<Item = &'a Path>) -> bool {
    let file = top.join(path);
    let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else {
        return false;
    };
    let (outside, inside): (Vec<_>, Vec<_>) =
        search_path.partition(|entry| entry.is_absolute() && !entry.starts_with(top));
    let is_on_path = |entry: &Path| match entry.strip_prefix(".").unwrap_or(entry) {
        entry if entry.is_absolute() => entry == directory,
        entry => directory.ends_with(entry),
    };
    inside.into_iter().any(is_on_path) && outside.into_iter().any(|entry| entry.join(name).exists())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ignores_less, shadows, within};

    #[test]
    fn a_gitignore_may_only_grow() {
        for lines in ["-.env\n", "+a\n+!.env\n", "@@ -1 +1 @@\n-*.key\n+*.pem"] {
            assert!(ignores_less(lines), "{lines}");
        }
        for lines in ["+/target\n+# .env\n", "-# a comment\n-\n", ""] {
            assert!(!ignores_less(lines), "{lines}");
        }
    }

    #[test]
    fn links_lead_to_places_of_the_tree() {
        for (link, target, place) in [
            (".vscode", "cfg", Some("cfg")),
            ("a/.vscode", "../cfg/x", Some("cfg/x")),
            ("a/b/.envrc", "./../c", Some("a/c")),
            (".vscode", "../out", None),
            (".vscode", "/etc", None),
        ] {
            assert_eq!(within(link, target).as_deref(), place, "{link} {target}");
        }
    }

    #[test]
    fn a_program_on_the_search_path_is_shadowed_only_by_its_name() {
        let top = Path::new("/project");
        let path = ["tools", "./scripts", "/project/.venv/bin", "/usr/bin", "/bin"].map(Path::new);
        for (file, expected) in [
            (".venv/bin/sh", true),
            (".venv/bin/our-own", false),
            ("tools/sh", true),
            ("deep/tools/sh", true),
            ("scripts/sh", true),
            ("src/sh", false),
            ("sh", false),
        ] {
            assert_eq!(shadows(Path::new(file), top, path.into_iter()), expected, "{file}");
        }
    }
}
