//! The project's own files for agents, such as AGENTS.md: context for the model, never configuration for us.

use std::path::Path;

use autonoe_files::read_start;

const GUIDES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Longer files are cut.
const MAX_GUIDE_BYTES: u64 = 32 * 1024;

/// The project's guides, to be appended to the prompt; empty if there are none.
pub(crate) fn read(root: &Path) -> String {
    let mut text = String::new();
    let mut included: Vec<String> = Vec::new();
    for name in GUIDES {
        let Some(guide) = guide(root, name) else {
            continue;
        };
        // Many projects have the same file under both names.
        if !included.contains(&guide) {
            text.push_str(&format!(
                "\n\nThe project's {name}, for your information:\n<guide>\n{guide}\n</guide>"
            ));
            included.push(guide);
        }
    }
    text
}

/// Reads one guide. A link that leads out of the project is ignored.
fn guide(root: &Path, name: &str) -> Option<String> {
    let path = root.join(name).canonicalize().ok()?;
    if !path.starts_with(root) {
        return None;
    }
    let (bytes, length) = read_start(&path, MAX_GUIDE_BYTES).ok()??;
    let more = length - bytes.len() as u64;
    // Drops a character that was cut in two.
    let whole = match std::str::from_utf8(&bytes) {
        Err(error) if more > 0 && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        Ok(_) | Err(_) => &bytes,
    };
    let text = String::from_utf8_lossy(whole);
    let text = text.trim();
    let note =
        if more > 0 { format!("\n… {more} more bytes; read {name} for them.") } else { String::new() };
    (!text.is_empty()).then(|| format!("{text}{note}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{MAX_GUIDE_BYTES, read};

    #[test]
    fn guides_are_read_once_and_only_from_the_project() {
        let dir = tempfile::tempdir().expect("directory");
        let root = dir.path().join("project");
        fs::create_dir(&root).expect("made");
        let root = root.canonicalize().expect("there");
        assert_eq!(read(&root), "");
        fs::write(root.join("AGENTS.md"), "Use tabs.\n").expect("written");
        symlink("AGENTS.md", root.join("CLAUDE.md")).expect("linked");
        assert_eq!(read(&root).matches("Use tabs.").count(), 1);
        fs::write(dir.path().join("outside"), "secret").expect("written");
        fs::remove_file(root.join("CLAUDE.md")).expect("removed");
        symlink(dir.path().join("outside"), root.join("CLAUDE.md")).expect("linked");
        assert!(!read(&root).contains("secret"));
    }

    #[test]
    fn a_long_guide_is_cut_with_a_note() {
        let dir = tempfile::tempdir().expect("directory");
        let root = dir.path().canonicalize().expect("there");
        fs::write(root.join("AGENTS.md"), "ä".repeat(MAX_GUIDE_BYTES as usize)).expect("written");
        let text = read(&root);
        assert!(text.contains("more bytes; read AGENTS.md"));
        assert!((text.len() as u64) < MAX_GUIDE_BYTES + 200);
    }
}
