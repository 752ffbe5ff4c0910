//! What the rooms of checks show outside of their checkouts: nothing that agents can write, and no place in which a program under test could
//! put something for its judge to find.

use std::path::{Path, PathBuf};

use autonoe_files::real_place;
use autonoe_sandbox::{Bounds, RoomConfig, SandboxLayer};
use autonoe_store::UserConfig;

use crate::environment::Environment;

/// Lets checks read the toolchain and the user's `read`, without the user's `write` in them and what a link in `written`, where agents may
/// write, leads to.
pub fn show_only_what_is_fixed(
    room: &mut RoomConfig,
    environment: &Environment,
    user: &UserConfig,
    written: &[PathBuf],
) {
    let toolchain = environment.toolchain();
    let hidden = real_places(&user.sandbox.write, written);
    let mut read = real_places(&[toolchain.read.as_slice(), &user.sandbox.read].concat(), written);
    read.retain(|path| !is_within(path, &hidden));
    (room.bounds.read, room.bounds.hidden) = (read, hidden);
    if room.sandbox.layer() == SandboxLayer::None {
        return;
    }
    // What a variable names but the room does not have could be created in it.
    let bounds = &room.bounds;
    let named: Vec<&str> = toolchain.env.iter().map(|(name, _)| name.as_str()).collect();
    room.env.retain_mut(|(name, value)| match name.as_str() {
        "PATH" => {
            *value = search_path(value, bounds);
            true
        }
        name if named.contains(&name) => {
            let real = fixed_path(value, bounds);
            real.map(|real| *value = real).is_some()
        }
        _ => true,
    });
}

/// The directories of a search path that the room has and that nobody in it can change.
fn search_path(path: &str, bounds: &Bounds) -> String {
    let mut entries: Vec<String> = Vec::new();
    for entry in path.split(':').filter_map(|entry| fixed_path(entry, bounds)) {
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries.join(":")
}

/// The path without links, since only that one is in the room.
fn fixed_path(path: &str, bounds: &Bounds) -> Option<String> {
    let real = Path::new(path).canonicalize().ok()?;
    (bounds.has_read_only(&real) && !is_within(&real, &bounds.hidden)).then(|| real.display().to_string())
}

fn real_places(places: &[PathBuf], written: &[PathBuf]) -> Vec<PathBuf> {
    places.iter().filter_map(|place| real_place(place, written).ok()).collect()
}

fn is_within(path: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}
