//! What a file name pattern of the shell matches on disk, so that each match can be judged like a literal path.
//!
//! A pattern's text no longer tells which of its characters were quoted, so that more may be listed than bash matches,
//! but never less. [`UNKNOWN`] in a pattern stands for any part of a name, also for a leading dot.

use std::fs::FileType;
use std::path::{Path, PathBuf};

use crate::possible_values::UNKNOWN;

/// The most directory entries that are looked at for one pattern.
const MAX_ENTRIES: usize = 5000;

/// A path that a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobMatch {
    pub path: PathBuf,
    /// Whether it is a link itself.
    pub is_link: bool,
    /// Whether it may be somewhere else than below the directory: by a link, or by `..`.
    pub may_lead_out: bool,
}

impl GlobMatch {
    fn below(parent: &Self, name: impl AsRef<Path>, is_link: bool) -> Self {
        let leads = parent.may_lead_out || is_link || name.as_ref() == "..";
        Self { path: parent.path.join(name), is_link, may_lead_out: leads }
    }
}

/// The paths that a pattern matches, also through links; `None` if there are too many entries to look at.
pub fn glob_matches(directory: &Path, pattern: &str) -> Option<Vec<GlobMatch>> {
    let start = if pattern.starts_with('/') { Path::new("/") } else { directory };
    let mut left = MAX_ENTRIES;
    let is_absolute = pattern.starts_with('/');
    let mut found = vec![GlobMatch { path: start.to_owned(), is_link: false, may_lead_out: is_absolute }];
    for segment in pattern.split('/').filter(|segment| !segment.is_empty()) {
        let mut deeper = Vec::new();
        for parent in &found {
            match is_pattern(segment) {
                true => deeper.extend(entries(parent, segment, &mut left)?),
                false => deeper.extend(literal_entry(parent, segment)),
            }
        }
        found = deeper;
    }
    Some(found)
}

/// The entries of a directory that match one segment, with `.` and `..`, which some versions of bash match too.
fn entries(parent: &GlobMatch, segment: &str, left: &mut usize) -> Option<Vec<GlobMatch>> {
    let mut found: Vec<GlobMatch> = [".", ".."]
        .into_iter()
        .filter(|name| !segment.contains(UNKNOWN) && segment_matches(segment, name))
        .map(|name| GlobMatch::below(parent, name, false))
        .collect();
    for entry in parent.path.read_dir().into_iter().flatten().flatten() {
        *left = left.checked_sub(1)?;
        if segment_matches(segment, &entry.file_name().to_string_lossy()) {
            let is_link = entry.file_type().as_ref().is_ok_and(FileType::is_symlink);
            found.push(GlobMatch::below(parent, entry.file_name(), is_link));
        }
    }
    Some(found)
}

fn literal_entry(parent: &GlobMatch, name: &str) -> Option<GlobMatch> {
    let metadata = parent.path.join(name).symlink_metadata().ok()?;
    Some(GlobMatch::below(parent, name, metadata.is_symlink()))
}

fn is_pattern(segment: &str) -> bool {
    segment.contains(['*', '?', '[', UNKNOWN])
}

/// Whether a segment may match a name. What follows `[` matches everything. Only a literal dot matches a leading one.
pub fn segment_matches(segment: &str, name: &str) -> bool {
    if name.starts_with('.') && !segment.starts_with(['.', UNKNOWN]) {
        return false;
    }
    let open = segment.find('[').unwrap_or(segment.len());
    let mut pattern: Vec<char> = segment[..open].chars().collect();
    if open < segment.len() {
        pattern.push('*');
    }
    matches_characters(&pattern, &name.chars().collect::<Vec<char>>())
}

fn matches_characters(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut reached) = (0, 0);
    // Where the last star stands, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while reached < name.len() {
        match pattern.get(at) {
            Some(&('*' | UNKNOWN)) => {
                star = Some((at, reached));
                at += 1;
            }
            Some(character) if *character == '?' || *character == name[reached] => {
                at += 1;
                reached += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                reached = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|character| ['*', UNKNOWN].contains(character))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{glob_matches, segment_matches};

    #[test]
    fn a_segment_matches_at_least_what_bash_matches() {
        for (segment, matching, other) in [
            ("*.js", &["a.js", ".js"][..1], &["a.ts", ".a.js"][..]),
            ("a?c*", &["abc", "abcd"], &["ac", "xabc"]),
            ("*a*b", &["ab", "xaxb", "aab"], &["ba", "b"]),
            ("[l]nk", &["lnk"], &[".lnk"]),
            ("a[b", &["a[b", "ab"], &["b"]),
            (".?", &["..", ".a"], &[".", "a", ".ab"]),
            (".*", &[".", "..", ".git"], &["a"]),
            ("?", &["a"], &[".", "ab"]),
        ] {
            assert!(matching.iter().all(|name| segment_matches(segment, name)), "{segment}");
            assert!(!other.iter().any(|name| segment_matches(segment, name)), "{segment}");
        }
    }

    #[test]
    fn matches_are_found_through_links() {
        let home = tempfile::TempDir::new().expect("temporary directory");
        let root = home.path();
        fs::create_dir_all(root.join("src/sub")).expect("made");
        fs::write(root.join("src/sub/a"), "").expect("written");
        symlink("src", root.join("link")).expect("linked");
        let paths = |pattern: &str| {
            let matches = glob_matches(root, pattern).expect("few entries");
            let mut paths: Vec<_> = matches.iter().map(|entry| entry.path.clone()).collect();
            paths.sort();
            paths
        };
        assert_eq!(paths("l*/sub/?"), [root.join("link/sub/a")]);
        assert_eq!(paths("[a-z]*"), [root.join("link"), root.join("src")]);
        assert_eq!(paths("src/*/"), [root.join("src/sub")]);
        assert_eq!(paths("x*"), [""; 0].map(std::path::PathBuf::from));
    }
}
