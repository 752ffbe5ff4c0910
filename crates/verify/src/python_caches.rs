//! Where Python looks for modules in a compiled form, beside their sources. A variable says that it should look elsewhere, but `python3 -E` and
//! programs with an environment of their own do not read it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_files::remove_tree;

/// Empties these directories beside protected files, and returns them: nothing may be put there. Nothing runs here now.
pub(crate) fn empty_caches(protected: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let sources = protected.iter().filter(|file| file.extension().is_some_and(|ending| ending == "py"));
    let caches = sources.filter_map(|file| Some(file.parent()?.join("__pycache__")));
    let caches: BTreeSet<PathBuf> = caches.filter(|cache| cache.parent().is_some_and(Path::is_dir)).collect();
    for cache in &caches {
        match cache.symlink_metadata() {
            Ok(found) if !found.is_dir() => fs::remove_file(cache)?,
            Ok(_) => remove_tree(cache)?,
            Err(_) => {}
        }
        fs::create_dir(cache)?;
    }
    Ok(caches.into_iter().collect())
}
