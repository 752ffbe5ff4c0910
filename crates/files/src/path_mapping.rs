//! A directory that the processes of a room see at another path.

use std::path::{Path, PathBuf};

/// Where a directory is, and where the processes of a room see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathMapping {
    pub real: PathBuf,
    pub shown: PathBuf,
}

impl PathMapping {
    /// Where a path that the processes of a room use really is. Paths elsewhere stay as they are.
    pub fn to_real(&self, path: &Path) -> PathBuf {
        moved(path, &self.shown, &self.real)
    }

    /// The path at which the processes of a room see `path`. Paths elsewhere stay as they are.
    pub fn to_shown(&self, path: &Path) -> PathBuf {
        moved(path, &self.real, &self.shown)
    }

    /// Like [`Self::to_real`], for every place in a text, such as a shell command, that names a path in the directory literally. Names
    /// with characters that are special in a shell are not recognized.
    pub fn text_to_real(&self, text: &str) -> String {
        replaced(text, &self.shown, &self.real)
    }

    /// Like [`Self::to_shown`], for every place in a text.
    pub fn text_to_shown(&self, text: &str) -> String {
        replaced(text, &self.real, &self.shown)
    }
}

fn replaced(text: &str, from: &Path, to: &Path) -> String {
    let is_plain = |name: &&str| name.chars().all(|c| is_name_character(c) || c == '/');
    let [Some(from), Some(to)] = [from, to].map(|path| path.to_str().filter(is_plain)) else {
        return text.to_owned();
    };
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, found) = rest.split_at(at);
        let after = &found[from.len()..];
        let begins = !before.ends_with(|c: char| is_name_character(c) || c == '/');
        let ends = !after.starts_with(is_name_character);
        result.push_str(before);
        result.push_str(if begins && ends { to } else { from });
        rest = after;
    }
    result + rest
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

fn moved(path: &Path, from: &Path, to: &Path) -> PathBuf {
    match path.strip_prefix(from) {
        Ok(rest) if rest.as_os_str().is_empty() => to.to_owned(),
        Ok(rest) => to.join(rest),
        Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_beneath_is_moved() {
        let mapping = PathMapping { real: "/state/tree".into(), shown: "/home/me/project".into() };
        let cases = [
            ("/home/me/project", "/state/tree"),
            ("/home/me/project/a/b", "/state/tree/a/b"),
            ("/home/me/project2", "/home/me/project2"),
            ("a", "a"),
        ];
        for (shown, real) in cases {
            assert_eq!(mapping.to_real(Path::new(shown)), Path::new(real));
            assert_eq!(mapping.to_shown(Path::new(real)), Path::new(shown));
        }
    }

    #[test]
    fn a_command_names_the_directory_in_several_places() {
        let mapping = PathMapping { real: "/state/tree".into(), shown: "/home/me/project".into() };
        let command = "cp /home/me/project/a '/home/me/project' --to=/home/me/project2 /x/home/me/project && cd /home/me/project;";
        let real =
            "cp /state/tree/a '/state/tree' --to=/home/me/project2 /x/home/me/project && cd /state/tree;";
        assert_eq!(mapping.text_to_real(command), real);
        assert_eq!(mapping.text_to_shown(real), command);
        let odd = PathMapping { real: "/state/tree".into(), shown: "/home/me/my project".into() };
        assert_eq!(odd.text_to_real("ls /home/me/my project"), "ls /home/me/my project");
    }
}
