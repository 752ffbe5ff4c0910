//! What must not land without the user's word, although git could apply it: files that programs on the user's machine act on by themselves,
//! because of their names, or because a link or the user's own settings lead to them; and repositories within the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_text};

use autonoe_core::fault::Fault;
use autonoe_core::file_names::shown_name;

use crate::changed_file::ChangedFile;
use crate::git_settings::{attribute_files, configured_drivers};
use crate::hub::ListProtected;
use crate::ignore_change::ignores_less;
use crate::inner_repositories::InnerRepositories;
use crate::landing::{LandingAttempt, LandingConsent};
use crate::landing_error::{LandingError, LandingRefusal, WantedBranch};
use crate::named_paths::NamedPaths;
use crate::project_files::{NOTE, SPEC, is_in};
use crate::search_path::SearchPath;
use crate::self_acting::acts_by_itself;
use crate::tree_links::TreeLinks;
use crate::users_attributes::UsersAttributes;

/// Lists the files that any of the new commits touches; a merge those that none of its parents has.
const TOUCHED: &str = r#"export GIT_DIR="$2"
range=$5; [ -z "$4" ] || range=$4..$5
git log -c --format= --name-only -z --no-renames "$range""#;

/// Lists the links of the new commit, and the files named HEAD, which may make a directory a repository; with their modes.
const LINKS_AND_HEADS: &str =
    r#"git --git-dir="$2" ls-tree -r -z "$5" | grep -zi -e '^120000' -e '[/	]HEAD$' || true"#;

/// Lists those of the objects `$6` and so on that git does not accept as the HEAD of a repository: they name neither a ref nor a commit. One that
/// cannot be read is not listed.
const INVALID_HEADS: &str = r#"export GIT_DIR="$2" LC_ALL=C; shift 5
four='[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]'
hash=$four$four$four$four$four$four$four$four$four$four
for object; do
    start=$(git cat-file blob "$object" | head -c 256)
    case $start in
        ref:* | $hash*) ;;
        '') [ "$(git cat-file -s "$object")" != 0 ] || echo "$object" ;;
        *) echo "$object" ;;
    esac
done"#;

/// Prints the objects `$6` and so on, each after a line with its size.
const OBJECTS: &str =
    r#"git=$2; shift 5; printf '%s\n' "$@" | git --git-dir="$git" cat-file --batch='%(objectsize)'"#;

/// Prints the new content of the file `$6`.
const CONTENT: &str = r#"git --git-dir="$2" cat-file blob "$5:$6""#;

/// Files in `.git` that show that the user is in the middle of something.
const IN_PROGRESS: [&str; 6] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply"];

/// Prints whether only some of the files are checked out, which the user may have set since the run began.
const IS_SPARSE: &str = r#"cd "$1" && git config --type=bool --default false core.sparseCheckout"#;

/// Prints the user's branch `$6`, with a blank and the working tree in which it is checked out.
const BRANCH: &str =
    r#"git -C "$1" for-each-ref --format='%(refname:lstrip=2) %(worktreepath)' "refs/heads/$6""#;

/// Prints the old content of the file `$6`.
const OLD_CONTENT: &str = r#"[ -z "$4" ] || git --git-dir="$2" cat-file blob "$4:$6" 2> /dev/null || true"#;

/// Lists new files that the user's patterns, which the file `$6` has, ignore: agents have added them by force. Git ends at a file that is beyond a
/// link of the user's, so all are looked at one by one then.
const IGNORED: &str = r#"cd "$1" || exit 3
export GIT_WORK_TREE="$1" GIT_DIR="$2" patterns="$6"; old=$4 new=$5
added() { git diff-tree -r -z --name-only --no-renames --diff-filter=A "$old" "$new"; }
ignored='git -c core.excludesFile="$patterns" check-ignore -z --no-index --stdin'
added | eval "$ignored" > "$patterns.found"
if [ $? -le 1 ]; then cat "$patterns.found"; else added | xargs -0 -r -n 1 sh -c "printf '%s\\0' \"\$1\" | $ignored" sh; fi
exit 0"#;

/// Lists files that the user has deleted and not committed.
const DELETED: &str = r#"cd "$1" && git --no-optional-locks diff-files -z --name-only --diff-filter=D"#;

const LINK: &str = "120000";
const GITLINK: &str = "160000";

/// The most links that are looked at.
const MAX_LINKS: usize = 4000;

/// The most files named HEAD that are read. All others count as those of repositories.
const MAX_HEADS: usize = 200;

impl LandingAttempt<'_> {
    /// Why nothing lands while no branch is checked out: a rebase and the like check out none.
    pub(crate) async fn without_branch(&self) -> Result<LandingRefusal, Fault> {
        Ok(match self.in_progress() {
            Some(file) => LandingRefusal::InProgress(file),
            None => LandingRefusal::Detached { wanted: self.wanted_branch().await? },
        })
    }

    /// The branch that was checked out when the commits were made.
    pub(crate) async fn wanted_branch(&self) -> Result<WantedBranch, Fault> {
        let Some(wanted) = self.from.branch.clone() else { return Ok(WantedBranch::Unknown) };
        let found = self.run(BRANCH, &[&wanted]).await?.stdout;
        let place = found.lines().find_map(|line| line.strip_prefix(&format!("{wanted} ")));
        Ok(match place {
            Some("") => WantedBranch::There(wanted),
            Some(place) => WantedBranch::Elsewhere { branch: wanted, place: place.to_owned() },
            None => WantedBranch::Gone(wanted),
        })
    }

    /// The file of `.git` that shows that the user is in the middle of something.
    pub(crate) fn in_progress(&self) -> Option<String> {
        let directories = self.hub.repository().directories;
        let is_there = |name: &&str| directories.iter().any(|directory| directory.join(name).exists());
        IN_PROGRESS.into_iter().find(is_there).map(str::to_owned)
    }

    /// Refuses to land in the middle of what the user does.
    pub(crate) async fn check_user(&self, changed: &[ChangedFile]) -> Result<(), LandingError> {
        if let Some(file) = self.in_progress() {
            return Err(LandingRefusal::InProgress(file).into());
        }
        let directories = self.hub.repository().directories;
        if self.succeed(IS_SPARSE, &[]).await?.trim() == "true" {
            let why =
                "your checkout has only some of the files; `git sparse-checkout disable` checks out all";
            return Err(LandingRefusal::Files(why.to_owned()).into());
        }
        if directories.iter().any(|directory| has_split_index(directory)) {
            let why = "your index is split; `git update-index --no-split-index` joins it";
            return Err(LandingRefusal::Files(why.to_owned()).into());
        }
        let deleted = self.succeed(DELETED, &[]).await?;
        let deleted: Vec<_> = deleted.split_terminator('\0').collect();
        // The commits may contain that very deletion.
        match changed.iter().find(|file| !file.is_deletion() && deleted.contains(&file.path.as_str())) {
            Some(file) => Err(LandingRefusal::Files(format!(
                "you have deleted {} and not committed that",
                shown_name(&file.path)
            ))
            .into()),
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
        self.check_links(changed).await?;
        if !consent.protected {
            self.check_protected(changed)?;
        }
        if consent.self_acting {
            return Ok(());
        }
        let acting = self.acting_files(changed).await?;
        if acting.is_empty() { Ok(()) } else { Err(LandingRefusal::SelfActing(acting).into()) }
    }

    /// Refuses links that no disk can have as they are committed: git would write others.
    async fn check_links(&self, changed: &[ChangedFile]) -> Result<(), LandingError> {
        let links: Vec<&ChangedFile> = changed.iter().filter(|file| file.mode == LINK).collect();
        for links in links.chunks(MAX_LINKS) {
            let objects: Vec<&str> = links.iter().map(|link| link.hash.as_str()).collect();
            if !self.succeed(OBJECTS, &objects).await?.contains('\0') {
                continue;
            }
            for link in links {
                if self.succeed(OBJECTS, &[&link.hash]).await?.contains('\0') {
                    let name = shown_name(&link.path);
                    let why = format!("{name} is a link to a name with a NUL byte, which no disk can have");
                    return Err(LandingRefusal::Files(why).into());
                }
            }
        }
        Ok(())
    }

    /// Those that act on the user's machine by themselves.
    pub(crate) async fn acting_files(&self, changed: &[ChangedFile]) -> Result<Vec<String>, Fault> {
        let places = self.acting_places().await?;
        let directories = places.named.program_directories();
        let search_path = SearchPath::of(&self.hub.users, &self.from.top, directories, &places.links);
        let repositories = InnerRepositories::of(&self.from.top, &self.hub.repository().directories);
        let mut found = Vec::new();
        for file in changed {
            let ChangedFile { path, mode, .. } = file;
            let by_content = match path.rsplit('/').next() {
                Some(".gitattributes") => self.changes_a_driver(path).await?,
                Some(".gitignore") => self.ignores_less(path).await?,
                Some("rust-toolchain" | "rust-toolchain.toml") => {
                    mode == LINK || names_a_directory(&self.run(CONTENT, &[path]).await?.stdout)
                }
                _ => false,
            };
            let is_acting = acts_by_itself(path) || is_users_own(path) || places.contains(path, mode);
            let is_acting = is_acting || repositories.contain(path);
            if is_acting || by_content || search_path.is_changed_by(file) {
                found.push(path.clone());
            }
        }
        found.extend(self.added_by_force().await?);
        // A later checkout of a commit in between would bring them.
        let touched = self.succeed(TOUCHED, &[]).await?;
        // A line break is before the names of some commits.
        let touched = touched.split('\0').map(|path| path.trim_start_matches('\n'));
        let touched = touched.filter(|path| acts_by_itself(path) || is_users_own(path));
        found.extend(touched.map(str::to_owned));
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Refuses changes to files by which checks judge: only the user says how the work is judged.
    fn check_protected(&self, changed: &[ChangedFile]) -> Result<(), LandingError> {
        let Some(ListProtected(list)) = &self.hub.users.list_protected else { return Ok(()) };
        let paths: Vec<_> = changed.iter().map(|file| self.from.top.join(&file.path)).collect();
        let protected = list(&paths)?;
        let is_protected = |file: &&ChangedFile| protected.contains(&self.from.top.join(&file.path));
        let files: Vec<_> = changed.iter().filter(is_protected).map(|file| file.path.clone()).collect();
        match files.is_empty() {
            true => Ok(()),
            false => Err(LandingRefusal::Protected(files).into()),
        }
    }

    /// Whether a change of attributes lets git run another program of the user's, or none where it did.
    async fn changes_a_driver(&self, path: &str) -> Result<bool, Fault> {
        let (old, new) =
            (self.run(OLD_CONTENT, &[path]).await?.stdout, self.run(CONTENT, &[path]).await?.stdout);
        let mut macros = self.run(OLD_CONTENT, &[".gitattributes"]).await?.stdout;
        for file in attribute_files(&self.hub.repository(), &self.from.top, &self.hub.users) {
            macros.push('\n');
            macros.push_str(&read_text(&file, SETTINGS_LIMIT).ok().flatten().unwrap_or_default());
        }
        let configured = configured_drivers(&self.hub.repository(), &self.hub.users);
        Ok(UsersAttributes::new(&macros, configured).are_changed(&old, &new))
    }

    /// Whether a change of a `.gitignore` takes something out of what was ignored: the user's secrets in ignored files would count as files
    /// of the project.
    async fn ignores_less(&self, path: &str) -> Result<bool, Fault> {
        let (old, new) =
            (self.run(OLD_CONTENT, &[path]).await?.stdout, self.run(CONTENT, &[path]).await?.stdout);
        // Those of the directories above count there too, and the user's own.
        let mut elsewhere = String::new();
        for directory in Path::new(path).ancestors().skip(2) {
            let above = directory.join(".gitignore").display().to_string();
            elsewhere.push_str(&self.run(OLD_CONTENT, &[&above]).await?.stdout);
            elsewhere.push('\n');
        }
        elsewhere.push_str(&self.hub.users_ignore_patterns()?);
        Ok(ignores_less(&old, &new, &elsewhere))
    }

    /// What the user would later put into such a file is meant to stay out of commits.
    async fn added_by_force(&self) -> Result<Vec<String>, Fault> {
        if self.from.commit.is_none() {
            return Ok(Vec::new());
        }
        let patterns = self.hub.write_users_ignore_patterns(&self.work())?;
        let listed = self.succeed(IGNORED, &[&patterns.display().to_string()]).await?;
        // What the user has there would be overwritten, which is another reason.
        let is_free = |path: &&str| self.from.top.join(path).symlink_metadata().is_err();
        let listed = listed.split_terminator('\0').filter(is_free);
        Ok(listed.map(|path| format!("{path} (ignored by git)")).collect())
    }

    async fn acting_places(&self) -> Result<ActingPlaces, Fault> {
        let repository = self.hub.repository();
        let named = NamedPaths::of(&repository, &self.from.top, &self.hub.users);
        let listed = self.succeed(LINKS_AND_HEADS, &[]).await?;
        let listed: Vec<_> = listed.split_terminator('\0').filter_map(|line| line.split_once('\t')).collect();
        let others = self.committed_repositories(&listed).await?;
        let mut places = ActingPlaces { named, others, links: TreeLinks::default() };
        let links: Vec<_> =
            listed.iter().filter(|(entry, _)| entry.starts_with(LINK)).take(MAX_LINKS).collect();
        if !links.is_empty() {
            let hashes: Vec<&str> =
                links.iter().filter_map(|(entry, _)| entry.split_whitespace().nth(2)).collect();
            let targets = self.succeed(OBJECTS, &hashes).await?;
            let paths = links.iter().map(|(_, path)| *path);
            places.links = TreeLinks::new(paths.zip(objects(&targets)));
            places.follow();
        }
        Ok(places)
    }

    /// The directories of the new commit that git takes for repositories. `listed` has what [`LINKS_AND_HEADS`] lists.
    async fn committed_repositories(&self, listed: &[(&str, &str)]) -> Result<Vec<String>, Fault> {
        // The top has a .git, which comes first.
        let heads = listed.iter().filter_map(|(entry, path)| {
            let (directory, name) = path.rsplit_once('/')?;
            name.eq_ignore_ascii_case("HEAD").then_some((*entry, directory))
        });
        let (links, files): (Vec<_>, Vec<_>) = heads.partition(|(entry, _)| entry.starts_with(LINK));
        let object = |entry: &'_ str| entry.split_whitespace().nth(2).unwrap_or_default().to_owned();
        let read: BTreeSet<String> = files.iter().map(|(entry, _)| object(entry)).take(MAX_HEADS).collect();
        let invalid = match read.is_empty() {
            true => String::new(),
            false => {
                let objects: Vec<&str> = read.iter().map(String::as_str).collect();
                self.succeed(INVALID_HEADS, &objects).await?
            }
        };
        let is_invalid = |entry: &str| invalid.lines().any(|line| line == object(entry));
        let files = files.into_iter().filter(|(entry, _)| !is_invalid(entry));
        Ok(links.into_iter().chain(files).map(|(_, directory)| directory.to_owned()).collect())
    }
}

/// The contents that [`OBJECTS`] prints.
fn objects(printed: &str) -> impl Iterator<Item = &str> {
    let mut rest = printed;
    std::iter::from_fn(move || {
        let (size, after) = rest.split_once('\n')?;
        let content = after.get(..size.trim().parse().ok()?)?;
        rest = after[content.len()..].strip_prefix('\n').unwrap_or_default();
        Some(content)
    })
}

/// Whether a path is a file that only the user writes, of this project or of another part of the repository. As a link it would show agents
/// what it leads to.
fn is_users_own(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| [SPEC, NOTE].contains(&name))
}

fn has_split_index(git: &Path) -> bool {
    let mut entries = fs::read_dir(git).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex."))
}

/// Files and directories that act by themselves, whatever their names.
struct ActingPlaces {
    named: NamedPaths,
    others: Vec<String>,
    /// The links of the new commit.
    links: TreeLinks,
}

impl ActingPlaces {
    /// Adds where links lead: those that act by themselves, those in the way of what is named, and those into the repository's own files.
    fn follow(&mut self) {
        let links = &self.links;
        let leads_to_git = |path: &str| {
            let ways = links.ways_of(path);
            ways.iter().flat_map(|way| way.split('/')).any(|part| part.eq_ignore_ascii_case(".git"))
        };
        let acting: Vec<&str> = links
            .paths()
            .filter(|path| acts_by_itself(path) || is_users_own(path) || leads_to_git(path))
            .collect();
        for link in acting {
            self.others.extend(links.ways_of(link));
        }
        self.named.follow(links);
    }

    fn contains(&self, path: &str, mode: &str) -> bool {
        self.named.contains(path, mode) || self.others.iter().any(|place| is_in(path, place))
    }
}

/// Whether a file for rustup may name a directory, whose programs would then be run: no name of a toolchain has a slash, and a key can be
/// written with escapes.
fn names_a_directory(text: &str) -> bool {
    let values = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    values.into_iter().any(|line| line.contains(['/', '\\']) || line.contains("path"))
}

#[cfg(test)]
mod tests {
    use super::objects;

    #[test]
    fn objects_are_told_apart_by_their_sizes() {
        assert_eq!(objects("2\nab\n0\n\n3\nc\nd\n").collect::<Vec<_>>(), ["ab", "", "c\nd"]);
        assert_eq!(objects("abc missing\n").count(), 0);
    }
}
