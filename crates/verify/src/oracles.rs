//! The files that checks judge by: found by globs, kept as they were accepted, put back where they are judged by.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, Layer};
use autonoe_files::read_bytes_beneath;
use autonoe_store::{CheckBook, Dispute, MAX_FILE_BYTES, Project, sha256_hex};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;
use jiff::Timestamp;

/// How many files the globs of a project may name.
const MAX_FILES: usize = 5_000;

/// The files below `root` that one of the globs names, by their paths from there. Links are named, not followed.
pub(crate) fn matching<'a>(
    root: &Path,
    globs: impl IntoIterator<Item = &'a String>,
) -> Result<BTreeSet<String>, Fault> {
    // A name that is not text is nobody's to accept.
    let found = named(root, globs)?.into_iter().filter_map(|path| path.into_os_string().into_string().ok());
    Ok(found.collect())
}

fn named<'a>(root: &Path, globs: impl IntoIterator<Item = &'a String>) -> Result<Vec<PathBuf>, Fault> {
    let globs: Vec<&String> = globs.into_iter().collect();
    let set = glob_set(globs.iter().copied())?;
    let mut found = Vec::new();
    if set.is_empty() {
        return Ok(found);
    }
    let is_ours = |name: &std::ffi::OsStr| name == ".git" || name == ".autonoe";
    // A project may hold a great many files that no glob can name.
    let beginnings: Vec<PathBuf> = globs.iter().map(|glob| beginning(glob)).collect();
    let top = root.to_owned();
    let may_hold = move |path: &Path| {
        let path = path.strip_prefix(&top).unwrap_or(path);
        beginnings.iter().any(|beginning| beginning.starts_with(path) || path.starts_with(beginning))
    };
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            may_hold(entry.path()) && (entry.depth() != 1 || !is_ours(entry.file_name()))
        })
        .build();
    for entry in walk.filter_map(Result::ok) {
        if entry.file_type().is_none_or(|kind| kind.is_dir()) {
            continue;
        }
        let Ok(path) = entry.path().strip_prefix(root) else {
            continue;
        };
        if set.is_match(path) {
            found.push(path.to_owned());
        }
        if found.len() > MAX_FILES {
            let message = format!("The checks protect more than {MAX_FILES} files.");
            return Err(Fault::lasting(Layer::Config, "oracle", message)
                .hint("Let `protect` name the tests and their helpers, not what is built."));
        }
    }
    Ok(found)
}

/// The directories and the name that a glob begins with, up to its first wildcard.
fn beginning(glob: &str) -> PathBuf {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let is_wild = |part: &&str| part.contains(['*', '?', '[', '{', '\\']);
    glob.split('/').take_while(|part| !is_wild(part)).collect()
}

fn glob_set<'a>(globs: impl IntoIterator<Item = &'a String>) -> Result<GlobSet, Fault> {
    let mut set = GlobSetBuilder::new();
    let wrong = |error: globset::Error| {
        Fault::lasting(Layer::Config, "oracle", format!("A check protects what is not a pattern: {error}."))
    };
    for glob in globs {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        set.add(GlobBuilder::new(glob).literal_separator(true).build().map_err(wrong)?);
        // A directory is all that is in it.
        let inside = format!("{}/**", glob.trim_end_matches('/'));
        set.add(GlobBuilder::new(&inside).literal_separator(true).build().map_err(wrong)?);
    }
    set.build().map_err(wrong)
}

/// Accepts the files of globs that are new, as they are now. Returns the globs that name nothing.
pub(crate) fn freeze(
    book: &mut CheckBook,
    project: &Project,
    globs: &[String],
    now: Timestamp,
) -> Result<Vec<String>, Fault> {
    let mut missing = Vec::new();
    for glob in globs {
        if !book.globs.insert(glob.clone()) {
            continue;
        }
        let files = matching(project.root(), [glob])?;
        if files.is_empty() {
            book.globs.remove(glob);
            missing.push(glob.clone());
        }
        for file in files {
            if !book.files.contains_key(&file) {
                book.accept(project, &file, now)?;
            }
        }
    }
    Ok(missing)
}

/// Finds the files below `root` that are not as they were accepted, those among them that nobody accepted, and those that are gone.
pub(crate) fn differences(book: &CheckBook, root: &Path) -> Result<Vec<(String, Option<String>)>, Fault> {
    let found = matching(root, &book.globs)?;
    // What is not an ordinary file is not as it was accepted, whatever it is.
    let now = |file: &str| {
        let content = read_bytes_beneath(root, Path::new(file), MAX_FILE_BYTES).ok()?;
        Some(sha256_hex(&content))
    };
    let all = found.iter().chain(book.files.keys()).collect::<BTreeSet<_>>();
    let differing = all.into_iter().filter_map(|file| {
        let now = now(file);
        let accepted = book.files.get(file).map(|accepted| accepted.sha256.clone());
        let is_there = fs::symlink_metadata(root.join(file)).is_ok();
        (now != accepted || (is_there && now.is_none())).then(|| (file.clone(), now))
    });
    Ok(differing.collect())
}

/// Notes what differs in the working tree. Returns what was not known yet.
pub(crate) fn dispute(book: &mut CheckBook, root: &Path, now: Timestamp) -> Result<Vec<String>, Fault> {
    let differing = differences(book, root)?;
    let before = std::mem::take(&mut book.disputes);
    let mut new = Vec::new();
    for (file, sha256) in differing {
        let known = before.get(&file).filter(|dispute| dispute.sha256 == sha256);
        if known.is_none() {
            new.push(file.clone());
        }
        let dispute = known.cloned().unwrap_or(Dispute { sha256, at: now });
        book.disputes.insert(file, dispute);
    }
    Ok(new)
}

/// Puts the accepted files into a tree where nothing runs, and takes away what nobody accepted.
pub(crate) fn put_back(book: &CheckBook, project: &Project, tree: &Path) -> Result<(), Fault> {
    let wrong = |file: &str, error: &io::Error| {
        let message = format!("{file} cannot be put back into the checkout: {error}.");
        Fault::passing(Layer::System, "oracle", message)
    };
    for file in named(tree, &book.globs)? {
        if file.to_str().is_none_or(|file| !book.files.contains_key(file)) {
            fs::remove_file(tree.join(&file)).map_err(|error| wrong(&file.to_string_lossy(), &error))?;
        }
    }
    for (file, accepted) in &book.files {
        let content = book.content(project, accepted)?;
        write_within(tree, file, &content, accepted.executable).map_err(|error| wrong(file, &error))?;
    }
    Ok(())
}

/// Writes a file below `tree` whatever the tree has in its place.
pub(crate) fn write_within(tree: &Path, file: &str, content: &[u8], executable: bool) -> io::Result<()> {
    let path = tree.join(file);
    directory_within(tree, Path::new(file).parent().unwrap_or(Path::new("")))?;
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&path)?,
        Ok(_) => fs::remove_file(&path)?,
        Err(_) => {}
    }
    fs::write(&path, content)?;
    set_mode(&path, if executable { 0o755 } else { 0o644 })
}

/// The directory below `tree` that has this path. What is none on the way to it, a link above all, gives way to one.
pub(crate) fn directory_within(tree: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut directory = PathBuf::from(tree);
    for component in path.components() {
        directory.push(component);
        match fs::symlink_metadata(&directory) {
            Ok(metadata) if metadata.is_dir() => continue,
            Ok(_) => fs::remove_file(&directory)?,
            Err(_) => {}
        }
        fs::create_dir(&directory)?;
    }
    Ok(directory)
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}
