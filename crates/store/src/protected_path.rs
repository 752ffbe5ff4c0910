//! The path of a protected file. Git allows any bytes in names, JSON and messages do not.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A path relative to the project's directory; for a file beside it in the same repository, it begins with `..`. As text, a byte that is not UTF-8 is `\xff`, so that it can be stored, shown and typed; reading the
/// text gives the same path again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ProtectedPath(PathBuf);

impl ProtectedPath {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The path of the file `file`, if the project is at `root`; both are absolute.
    pub fn of(root: &Path, file: &Path) -> Self {
        let relative = root.ancestors().enumerate().find_map(|(up, above)| {
            let below = file.strip_prefix(above).ok()?;
            Some(std::iter::repeat_n("..", up).collect::<PathBuf>().join(below))
        });
        Self(relative.unwrap_or_else(|| file.to_owned()))
    }

    /// The directory at or above `root` that contains the file, and the path in it, without `..`.
    pub fn within<'a>(&'a self, root: &'a Path) -> (&'a Path, &'a Path) {
        let (mut top, mut below) = (root, self.0.components());
        while below.clone().next() == Some(Component::ParentDir) {
            below.next();
            top = top.parent().unwrap_or(top);
        }
        (top, below.as_path())
    }

    /// Where a link leads in the end, relative to the directory that [`Self::within`] finds; `None` if that is elsewhere or not there.
    pub fn leads_to(&self, root: &Path) -> Option<String> {
        let (top, _) = self.within(root);
        let end = self.at(root).canonicalize().ok()?;
        Some(end.strip_prefix(top.canonicalize().ok()?).ok()?.to_str()?.to_owned())
    }

    /// Where the file is if the project is at `root`.
    pub fn at(&self, root: &Path) -> PathBuf {
        let (top, below) = self.within(root);
        top.join(below)
    }
}

impl fmt::Display for ProtectedPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_os_str().as_bytes();
        while !rest.is_empty() {
            let valid = rest.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            // A backslash that would be read as an escape is escaped itself.
            let plain =
                valid.match_indices('\\').map(|(at, _)| at).find(|at| escaped(&rest[*at..]).is_some());
            let plain = &valid[..plain.unwrap_or(valid.len())];
            formatter.write_str(plain)?;
            rest = &rest[plain.len()..];
            if let Some((byte, after)) = rest.split_first() {
                write!(formatter, "\\x{byte:02x}")?;
                rest = after;
            }
        }
        Ok(())
    }
}

impl From<String> for ProtectedPath {
    fn from(text: String) -> Self {
        let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
        while let Some((first, after)) = rest.split_first() {
            match escaped(rest) {
                Some(byte) => {
                    bytes.push(byte);
                    rest = &rest[ESCAPE_LENGTH..];
                }
                None => {
                    bytes.push(*first);
                    rest = after;
                }
            }
        }
        Self(OsString::from_vec(bytes).into())
    }
}

impl From<ProtectedPath> for String {
    fn from(path: ProtectedPath) -> Self {
        path.to_string()
    }
}

const ESCAPE_LENGTH: usize = r"\xff".len();

/// The byte that a text begins with as an escape.
fn escaped(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(br"\x")?.get(..2)?;
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::path::Path;

    use super::ProtectedPath;

    #[test]
    fn a_file_may_be_beside_the_project() {
        let root = Path::new("/repository/services/calc");
        for (file, text) in [
            ("/repository/services/calc/tests/a", "tests/a"),
            ("/repository/services/a", "../a"),
            ("/repository/shared/tests/a", "../../shared/tests/a"),
        ] {
            let path = ProtectedPath::of(root, Path::new(file));
            assert_eq!((path.to_string().as_str(), path.at(root)), (text, file.into()));
        }
    }

    #[test]
    fn every_name_is_text_that_reads_back_as_the_same_name() {
        for (bytes, text) in [
            (&b"tests/add.sh"[..], "tests/add.sh"),
            ("tests/ü\n".as_bytes(), "tests/ü\n"),
            (b"n\xff/\xc3", r"n\xff/\xc3"),
            (br"a\b\xyz\", r"a\b\xyz\"),
            (br"\xff", r"\x5cxff"),
            (br"\\xff", r"\\x5cxff"),
            (b"\\\xff", r"\\xff"),
            (b"\\x\xff", r"\x\xff"),
            (b"\\xf\xff", r"\xf\xff"),
            (b"", ""),
        ] {
            let path = ProtectedPath::new(OsString::from_vec(bytes.to_owned()));
            assert_eq!(path.to_string(), text);
            assert_eq!(ProtectedPath::from(text.to_owned()), path, "{text}");
            let map = BTreeMap::from([(path, 1)]);
            let json = serde_json::to_string(&map).expect("text");
            assert_eq!(serde_json::from_str::<BTreeMap<ProtectedPath, u8>>(&json).expect("map"), map);
        }
    }
}
