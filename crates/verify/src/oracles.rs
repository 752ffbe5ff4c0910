//! Protected files: found by globs, stored in their accepted version, restored before checks run.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::shown_name;
use autonoe_files::{UntrustedDir, Visibility};
use autonoe_store::{
    AcceptError, AcceptedFile, CheckRegistry, CurrentFile, Dispute, Project, ProtectedPath, sha256_hex,
};
use ignore::WalkBuilder;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::blocking::blocking;
use crate::linked_directories::links_on_the_way;
use crate::namesakes::{Namesakes, namesakes_in};
use crate::protect_matcher::ProtectMatcher;
use crate::protect_pattern::{PatternProblem, ProtectPattern, loaded_in_place_of};
use crate::test_files::is_in_tests;

/// Maximum number of files that the globs of a project may match.
const MAX_FILES: usize = 5_000;

/// Files that match one of the globs of the project at `root`. Links are listed, not followed.
fn matching<'a>(
    root: &Path,
    globs: impl IntoIterator<Item = &'a String>,
    cancel: &CancellationToken,
) -> Result<BTreeSet<ProtectedPath>, Fault> {
    let mut by_top: BTreeMap<usize, Vec<ProtectPattern>> = BTreeMap::new();
    for glob in globs {
        let pattern = ProtectPattern::parse(glob).map_err(|problem| wrong_pattern(&problem))?;
        by_top.entry(pattern.up).or_default().push(pattern);
    }
    let mut found = BTreeSet::new();
    for (up, patterns) in by_top {
        if let Some(top) = root.ancestors().nth(up) {
            search(root, top, &patterns, &mut found, cancel)?;
        }
    }
    Ok(found)
}

/// What would be loaded in place of files, whatever pattern matches them, such as `judge` beside `judge.js`. Directories count for Python only,
/// which loads a package rather than a module.
fn loaded_in_place<'a>(
    files: impl Iterator<Item = &'a ProtectedPath>,
    tree: &Path,
) -> BTreeSet<ProtectedPath> {
    let mut by_directory: BTreeMap<PathBuf, Vec<(String, &'static [&'static str])>> = BTreeMap::new();
    for file in files {
        let path = file.at(tree);
        let name = path.file_name().and_then(OsStr::to_str).and_then(|name| name.rsplit_once('.'));
        if let (Some((stem, ending)), Some(directory)) = (name, path.parent()) {
            let ends = match ending {
                "json" if is_in_tests(&file.to_string()) => loaded_in_place_of("js"),
                _ => loaded_in_place_of(ending),
            };
            let of_directory = by_directory.entry(directory.to_owned()).or_default();
            of_directory.extend((!stem.is_empty() && !ends.is_empty()).then(|| (stem.to_owned(), ends)));
        }
    }
    let mut found = BTreeSet::new();
    for (directory, stems) in by_directory {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_loaded = |(stem, ends): &(String, &[&str])| match name.strip_prefix(stem.as_str()) {
                Some("") if is_directory => {
                    ends.contains(&".pyc") && entry.path().join("__init__.py").exists()
                }
                Some(end) if !is_directory => {
                    ends.contains(&end) || (end.ends_with(".so") && ends.contains(&".*.so"))
                }
                // It says which file of the directory is loaded.
                _ => name == "package.json" && stem == "index" && ends.contains(&".mjs"),
            };
            if stems.iter().any(is_loaded) {
                let path = if is_directory { entry.path().join("__init__.py") } else { entry.path() };
                found.insert(ProtectedPath::of(tree, &path));
            }
        }
    }
    found
}

/// `top`: where the patterns begin.
fn search(
    root: &Path,
    top: &Path,
    patterns: &[ProtectPattern],
    found: &mut BTreeSet<ProtectedPath>,
    cancel: &CancellationToken,
) -> Result<(), Fault> {
    let set = ProtectMatcher::of(patterns).map_err(|error| wrong_pattern(&error.into()))?;
    // Skips directories that no glob can match, since a project may be large.
    let prefixes: Vec<PathBuf> =
        patterns.iter().map(|pattern| top.join(pattern.literal_prefix().collect::<PathBuf>())).collect();
    let (of_top, loaded) = (top.to_owned(), set.clone());
    let may_contain = move |path: &Path| {
        prefixes.iter().any(|prefix| prefix.starts_with(path) || path.starts_with(prefix))
            || path.strip_prefix(&of_top).is_ok_and(|path| loaded.is_match(path))
    };
    let ours = [root.join(".git"), root.join(".autonoe"), top.join(".git")];
    let walk = WalkBuilder::new(top)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| may_contain(entry.path()) && ours.iter().all(|path| path != entry.path()))
        .build();
    for entry in walk.filter_map(Result::ok) {
        if cancel.is_cancelled() {
            return Err(Fault::transient(
                FaultLayer::System,
                "cancelled",
                "The search for files was cancelled.",
            ));
        }
        if entry.file_type().is_none_or(|kind| kind.is_dir()) {
            continue;
        }
        if entry.path().strip_prefix(top).is_ok_and(|path| set.is_match(path)) {
            found.insert(ProtectedPath::of(root, entry.path()));
        }
        if found.len() > MAX_FILES {
            let message = format!("The `protect` globs match more than {MAX_FILES} files.");
            return Err(Fault::permanent(FaultLayer::Config, "oracle", message)
                .hint("Let `protect` match the tests and their helpers, not build output."));
        }
    }
    Ok(())
}

/// Directories to which nothing may be added, in the project at `root`.
pub(crate) fn protected_directories(globs: &BTreeSet<String>, root: &Path) -> Vec<PathBuf> {
    let patterns = globs.iter().filter_map(|glob| ProtectPattern::parse(glob).ok());
    let paths = patterns.filter_map(|pattern| Some(pattern.closed_path()?.at(root)));
    paths.filter(|path| path.is_dir() && !path.is_symlink()).collect()
}

/// Those of the files, with absolute paths, that are accepted in the project at `root`, or that its patterns protect.
pub fn protected_among(
    registry: &CheckRegistry,
    root: &Path,
    files: &[PathBuf],
) -> Result<HashSet<PathBuf>, Fault> {
    let accepted: HashSet<PathBuf> = registry.paths_at(root).into_iter().collect();
    let mut found: HashSet<PathBuf> = files.iter().filter(|file| accepted.contains(*file)).cloned().collect();
    for glob in &registry.globs {
        let pattern = ProtectPattern::parse(glob).map_err(|problem| wrong_pattern(&problem))?;
        let Some(top) = root.ancestors().nth(pattern.up) else { continue };
        let set = ProtectMatcher::of(std::slice::from_ref(&pattern))
            .map_err(|error| wrong_pattern(&error.into()))?;
        let is_matched = |file: &&PathBuf| file.strip_prefix(top).is_ok_and(|below| set.is_match(below));
        found.extend(files.iter().filter(is_matched).cloned());
    }
    Ok(found)
}

fn wrong_pattern(problem: &PatternProblem) -> Fault {
    Fault::permanent(FaultLayer::Config, "oracle", format!("A check cannot be used: {problem}."))
}

/// Whether a file is only what would be loaded in place of what a glob matches.
fn is_shadow(glob: &str, file: &ProtectedPath) -> bool {
    let matcher = ProtectPattern::parse(glob).ok().and_then(|pattern| ProtectMatcher::of(&[pattern]).ok());
    matcher.is_some_and(|matcher| matcher.is_shadow(file.to_string().trim_start_matches("../").as_ref()))
}

/// Whether a glob protects a file.
pub(crate) fn is_protected_by(glob: &str, file: &str) -> bool {
    let matcher = ProtectPattern::parse(glob).ok().and_then(|pattern| ProtectMatcher::of(&[pattern]).ok());
    matcher.is_some_and(|matcher| matcher.is_match(file.trim_start_matches("../")))
}

/// Whose check protects files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protector {
    User,
    Builder,
}

impl Protector {
    pub(crate) fn of(check: &Check) -> Self {
        match check.origin {
            CheckOrigin::Proposed => Self::Builder,
            CheckOrigin::User | CheckOrigin::Spec | CheckOrigin::Roadmap => Self::User,
        }
    }
}

/// Whether only a proposed check protects a file, or would.
pub(crate) fn is_builders(registry: &CheckRegistry, file: &ProtectedPath) -> bool {
    let matches = |glob: &String| {
        let pattern = ProtectPattern::parse(glob).ok();
        let set = pattern.and_then(|pattern| ProtectMatcher::of(std::slice::from_ref(&pattern)).ok());
        set.is_some_and(|set| set.is_match(file.to_string()))
    };
    match registry.files.contains_key(file) {
        true => registry.builders_files.contains(file),
        false => registry.builders_globs.iter().any(matches),
    }
}

/// Accepts the files of new globs in `root`, a clean checkout or what the user decided about. Returns what is missing: globs that match
/// nothing, and files that cannot be accepted, with the reason.
pub(crate) fn freeze(
    registry: &mut CheckRegistry,
    project: &Project,
    root: &Path,
    globs: &[String],
    protector: Protector,
    now: Timestamp,
    cancel: &CancellationToken,
) -> Result<Vec<String>, Fault> {
    let mut missing = Vec::new();
    let mut left: VecDeque<String> = globs.iter().flat_map(|glob| through_link(root, glob)).collect();
    while let Some(glob) = left.pop_front() {
        let is_new = registry.globs.insert(glob.clone());
        // What a builder has chosen becomes the user's, as it is now.
        let is_taken_over = protector == Protector::User && registry.builders_globs.remove(&glob);
        if !is_new && !is_taken_over {
            continue;
        }
        if is_new && protector == Protector::Builder {
            registry.builders_globs.insert(glob.clone());
        }
        let mut files = matching(root, [&glob], cancel)?;
        if files.iter().all(|file| is_shadow(&glob, file)) {
            registry.globs.remove(&glob);
            registry.builders_globs.remove(&glob);
            missing.push(glob.clone());
        }
        let beside = loaded_in_place(files.iter(), root);
        files.extend(beside);
        registry.namesakes.extend(namesakes_in(root, &Namesakes::of(files.iter()), cancel));
        for file in files {
            let is_taken_over = protector == Protector::User && registry.builders_files.remove(&file);
            if registry.files.contains_key(&file) && !is_taken_over {
                continue;
            }
            // An agent has added it under another pattern, and the user has not decided.
            if registry.disputes.contains_key(&file) {
                continue;
            }
            let known: BTreeSet<_> = registry.files.keys().cloned().collect();
            match registry.accept(project, root, &file, now) {
                Ok(()) => {
                    accept_way(registry, project, root, &file, now)?;
                    if protector == Protector::Builder {
                        let new = registry.files.keys().filter(|file| !known.contains(file));
                        registry.builders_files.extend(new.cloned().collect::<Vec<_>>());
                    }
                    left.extend(linked_directory(root, &file));
                }
                Err(AcceptError::Unreadable(error)) => {
                    missing.push(format!("{file} ({error}; {})", error.advice()));
                }
                Err(AcceptError::Fault(fault)) => return Err(fault),
            }
        }
    }
    Ok(missing)
}

/// A pattern; or, if it begins with a directory that is a link, the link and the pattern where it leads.
fn through_link(root: &Path, glob: &str) -> Vec<String> {
    let unchanged = vec![glob.to_owned()];
    let (Ok(pattern), Ok(real)) = (ProtectPattern::parse(glob), root.canonicalize()) else {
        return unchanged;
    };
    let mut link = PathBuf::new();
    for (number, name) in pattern.literal_prefix().enumerate() {
        link.push(name);
        if pattern.up > 0 || !root.join(&link).is_symlink() {
            continue;
        }
        let target = root.join(&link).canonicalize().ok();
        let target = target.filter(|target| target.is_dir());
        let inside = target.and_then(|target| Some(target.strip_prefix(&real).ok()?.to_str()?.to_owned()));
        let rest: Vec<_> = pattern.glob.split('/').skip(number + 1).collect();
        return match (inside, link.to_str()) {
            // The links beyond it are accepted with it.
            (Some(inside), Some(link)) if !rest.is_empty() => {
                vec![globset::escape(link), format!("{}/{}", globset::escape(&inside), rest.join("/"))]
            }
            _ => unchanged,
        };
    }
    unchanged
}

/// The pattern for everything in the directory of the project that a link leads to.
fn linked_directory(root: &Path, file: &ProtectedPath) -> Option<String> {
    let path = file.at(root);
    let target = path.is_symlink().then(|| path.canonicalize().ok())??;
    let inside = target.strip_prefix(root.canonicalize().ok()?).ok()?.to_str()?;
    (target.is_dir() && !inside.is_empty()).then(|| format!("{}/**", globset::escape(inside)))
}

/// Accepts all links that an accepted link leads through, and the file at the end, if they are the project's.
fn accept_way(
    registry: &mut CheckRegistry,
    project: &Project,
    root: &Path,
    file: &ProtectedPath,
    now: Timestamp,
) -> Result<(), Fault> {
    let is_link = registry.files.get(file).is_some_and(|accepted| accepted.link);
    let (true, Ok(root)) = (is_link, root.canonicalize()) else {
        return Ok(());
    };
    let (top, _) = file.within(&root);
    let target = file.at(&root).canonicalize().ok();
    let target = target.filter(|target| target.is_file() && target.starts_with(top));
    for path in links_on_the_way(top, &file.at(&root)).into_iter().chain(target) {
        let path = ProtectedPath::of(&root, &path);
        if registry.files.contains_key(&path) {
            continue;
        }
        match registry.accept(project, &root, &path, now) {
            Err(AcceptError::Fault(fault)) => return Err(fault),
            Ok(()) | Err(AcceptError::Unreadable(_)) => {}
        }
    }
    Ok(())
}

/// Directories in which test runners keep what they remember. Nothing in them is believed, and checkouts do not have them.
const CACHES: [&str; 2] = ["__pycache__", ".pytest_cache"];

fn is_cached(file: &str) -> bool {
    file.split('/').any(|part| CACHES.contains(&part))
}

/// Protected files that are not as the user has accepted them, with the hash of their content; `None` if they are gone.
pub(crate) type ChangedFiles = Vec<(ProtectedPath, Option<String>)>;

/// Files below `root` that differ from their accepted version, are not accepted at all, or are gone.
pub(crate) fn differences(
    registry: &CheckRegistry,
    root: &Path,
    cancel: &CancellationToken,
) -> Result<ChangedFiles, Fault> {
    let mut found = matching(root, &registry.globs, cancel)?;
    found.extend(loaded_in_place(registry.files.keys(), root));
    found.retain(|file| !is_cached(&file.to_string()));
    let all = found.iter().chain(registry.files.keys()).collect::<BTreeSet<_>>();
    let differing = all.into_iter().filter_map(|file| {
        // A directory or a pipe differs.
        let current = CurrentFile::read(root, file).ok();
        let is_same = match (&current, registry.files.get(file)) {
            (Some(current), Some(accepted)) => current.is(accepted),
            (None, None) => fs::symlink_metadata(file.at(root)).is_err(),
            (Some(_), None) | (None, Some(_)) => false,
        };
        (!is_same).then(|| (file.clone(), current.map(|current| sha256_hex(&current.content))))
    });
    Ok(differing.collect())
}

/// Records what differs in the working tree or in the commit. Returns the files that did not differ before.
pub(crate) fn record_disputes(
    registry: &mut CheckRegistry,
    differing: ChangedFiles,
    now: Timestamp,
) -> Vec<ProtectedPath> {
    let before = std::mem::take(&mut registry.disputes);
    let mut new = Vec::new();
    for (file, sha256) in differing {
        let known = before.get(&file).filter(|dispute| dispute.sha256 == sha256);
        if known.is_none() {
            new.push(file.clone());
        }
        let dispute = known.cloned().unwrap_or(Dispute { sha256, at: now });
        registry.disputes.insert(file, dispute);
    }
    new
}

/// What became of a disputed file and what checks do until the user decides, as words that follow its name.
pub fn describe_dispute(registry: &CheckRegistry, file: &ProtectedPath) -> &'static str {
    let is_gone = registry.disputes.get(file).is_some_and(|dispute| dispute.sha256.is_none());
    match registry.files.contains_key(file) {
        false => "was added, and there is no accepted version of it; checks do not see it until you decide",
        true if is_gone => "was removed; checks use the accepted version until you decide",
        true => "differs from the accepted version, which checks use until you decide",
    }
}

/// The same as a clause, with what the user can do.
pub(crate) fn dispute_clause(registry: &CheckRegistry, file: &ProtectedPath) -> String {
    let (name, what) = (shown_name(&file.to_string()), describe_dispute(registry, file));
    format!("it {what}: `autonoe checks accept {name}` or `autonoe checks reject {name}`")
}

/// Protected files that are not as they were restored, or were added, in a tree where nothing runs any more.
pub(crate) async fn changed_in(root: &Path, registry: &CheckRegistry) -> Result<Vec<String>, Fault> {
    let (root, registry) = (root.to_owned(), registry.clone());
    let differing = blocking(move |cancel| differences(&registry, &root, cancel)).await?;
    Ok(differing.into_iter().map(|(file, _)| file.to_string()).collect())
}

/// What shows that a file was changed, moved or replaced, even if that was undone: nobody can set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    inode: u64,
    changed: (i64, i64),
}

/// The stamps of the accepted files in a checkout. Where one is missing or new, it was changed.
pub(crate) fn stamps(root: &Path, registry: &CheckRegistry) -> BTreeMap<ProtectedPath, FileStamp> {
    let stamp = |file: &ProtectedPath| {
        let metadata = file.at(root).symlink_metadata().ok()?;
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Some((file.clone(), FileStamp { inode: metadata.ino(), changed }))
    };
    registry.files.keys().filter_map(stamp).collect()
}

/// The accepted links that lead elsewhere than when they were accepted, although they are restored: a directory on the way may have become
/// a link. `None` if there are none.
pub(crate) fn turned_links(root: &Path, registry: &CheckRegistry) -> Option<Vec<String>> {
    let is_turned = |(file, accepted): &(&ProtectedPath, &AcceptedFile)| {
        accepted.leads_to.is_some() && file.leads_to(root) != accepted.leads_to
    };
    let turned: Vec<String> =
        registry.files.iter().filter(is_turned).map(|(file, _)| file.to_string()).collect();
    (!turned.is_empty()).then_some(turned)
}

/// Restores the accepted files in a checkout.
pub(crate) async fn restore_in(
    root: &Path,
    registry: &CheckRegistry,
    project: &Project,
) -> Result<(), Fault> {
    let (registry, project, tree) = (registry.clone(), project.clone(), root.to_owned());
    blocking(move |cancel| restore(&registry, &project, &tree, cancel)).await
}

/// Restores the accepted files in a tree where nothing runs, and removes files that are not accepted.
fn restore(
    registry: &CheckRegistry,
    project: &Project,
    tree: &Path,
    cancel: &CancellationToken,
) -> Result<(), Fault> {
    let wrong = |file: &ProtectedPath, error: &io::Error| {
        let name = shown_name(&file.to_string());
        let message = format!("{name} cannot be restored in the checkout: {error}.");
        Fault::transient(FaultLayer::System, "oracle", message)
    };
    let mut found = matching(tree, &registry.globs, cancel)?;
    found.extend(loaded_in_place(registry.files.keys(), tree));
    for file in found.iter().filter(|file| !registry.files.contains_key(file)) {
        fs::remove_file(file.at(tree)).map_err(|error| wrong(file, &error))?;
    }
    for (file, accepted) in &registry.files {
        let content = registry.content(project, accepted)?;
        write_within(tree, file, &content, accepted).map_err(|error| wrong(file, &error))?;
    }
    Ok(())
}

/// Replaces whatever exists at the path.
pub(crate) fn write_within(
    tree: &Path,
    file: &ProtectedPath,
    content: &[u8],
    accepted: &AcceptedFile,
) -> io::Result<()> {
    let (top, below) = file.within(tree);
    let path = top.join(below);
    UntrustedDir::open(top)?.create(below.parent().unwrap_or(Path::new("")), Visibility::Everyone)?;
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&path)?,
        Ok(_) => fs::remove_file(&path)?,
        Err(_) => {}
    }
    if accepted.link {
        return symlink(OsStr::from_bytes(content), &path);
    }
    fs::write(&path, content)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(if accepted.executable { 0o755 } else { 0o644 }))
}
