//! What a file name pattern of the shell matches on disk, so that each match can be judged like a literal path.
//!
//! A pattern's text no longer tells which of its characters were quoted, so that more may be listed than bash matches,
//! but never less.

use std::fs::FileType;
use std::path::{Path, PathBuf};

/// The most directory entries that are looked at for one pattern.
const MAX_ENTRIES: usize = 5000;

/// A path that a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobMatch {
    pub path: PathBuf,
    /// Whether it is a link itself.
    pub is_link: bool,
}

/// The paths that a pattern matches, also through links; `None` if there are too many entries to look at.
pub fn glob_matches(directory: &Path, pattern: &str) -> Option<Vec<GlobMatch>> {
    let start = if pattern.starts_with('/') { Path::new("/") } else { directory };
    let mut left = MAX_ENTRIES;
    let mut found = vec![GlobMatch { path: start.to_owned(), is_link: false }];
    for segment in pattern.split('/').filter(|segment| !segment.is_empty()) {
        let mut deeper = Vec::new();
        for GlobMatch { path, .. } in &found {
            match is_pattern(segment) {
                true => deeper.extend(entries(path, segment, &mut left)?),
                false => deeper.extend(literal_entry(path, segment)),
            }
        }
        found = deeper;
    }
    Some(found)
}

/// The entries of a directory that match one segment, with `.` and `..`, which some versions of bash match too.
fn entries(directory: &Path, segment: &str, left: &mut usize) -> Option<Vec<GlobMatch>> {
    let mut found: Vec<GlobMatch> = [".", ".."]
        .into_iter()
        .filter(|name| segment_matches(segment, name))
        .map(|name| GlobMatch { path: directory.join(name), is_link: false })
        .collect();
    for entry in directory.read_dir().into_iter().flatten().flatten() {
        *left = left.checked_sub(1)?;
        if segment_matches(segment, &entry.file_name().to_string_lossy()) {
            let is_link = entry.file_type().as_ref().is_ok_and(FileType::is_symlink);
            found.push(GlobMatch { path: entry.path(), is_link });
        }
    }
    Some(found)
}

fn literal_entry(directory: &Path, name: &str) -> Option<GlobMatch> {
    let path = directory.join(name);
    let metadata = path.symlink_metadata().ok()?;
    Some(GlobMatch { is_link: metadata.is_symlink(), path })
}

fn is_pattern(segment: &str) -> bool {
    segment.contains(['*', '?', '['])
}

/// Whether a segment may match a name. What follows `[` matches everything. Only a literal dot matches a leading one.
pub fn segment_matches(segment: &str, name: &str) -> bool {
    if name.starts_with('.') && !segment.starts_with('.') {
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
            Some('*') => {
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
    pattern[at..].iter().all(|character| *character == '*')
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
