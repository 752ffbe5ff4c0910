//! Finds compilers, interpreters and package managers outside the system's own directories: programs in a room must be able
//! to read them, while the rest of the home directory stays hidden.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::system_paths;

/// Version managers and their installations in a home directory. Credentials in them are masked.
const IN_HOME: [&str; 25] = [
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".deno/bin",
    ".fnm",
    ".gem/ruby",
    ".ghcup/bin",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/gem",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".nvm",
    ".phpenv",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go/bin",
    ".npm-global",
];

/// Variables that name such a directory, and its default below the home directory.
const NAMED: [(&str, Option<&str>); 10] = [
    ("RUSTUP_HOME", Some(".rustup")),
    ("PYENV_ROOT", Some(".pyenv")),
    ("NVM_DIR", Some(".nvm")),
    ("RBENV_ROOT", Some(".rbenv")),
    ("ASDF_DATA_DIR", Some(".asdf")),
    ("VOLTA_HOME", Some(".volta")),
    ("SDKMAN_DIR", Some(".sdkman")),
    ("GOROOT", None),
    ("JAVA_HOME", None),
    ("SSL_CERT_FILE", None),
];

/// Directories next to a `bin` directory that its programs need.
const BESIDE_BIN: [&str; 5] = ["lib", "lib64", "libexec", "include", "share"];

/// The paths and variables that programs need to find their tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolchain {
    /// Paths to make readable, as they are named; they may have links.
    pub read: Vec<PathBuf>,
    /// Variables that name the directories, needed because the home directory inside a room is a different one.
    pub env: Vec<(String, String)>,
}

impl Toolchain {
    /// The tools of a user with this home directory and search path; `variable` looks up an environment variable.
    pub fn find(home: Option<&Path>, path: &OsStr, variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut found = Self::default();
        if let Some(home) = home {
            IN_HOME.iter().for_each(|path| found.add(&home.join(path)));
        }
        for (name, usual) in NAMED {
            let usual = || Some(home?.join(usual?)).filter(|path| path.is_dir());
            let Some(path) = variable(name).map(PathBuf::from).or_else(usual) else {
                continue;
            };
            found.add(&path);
            found.env.push((name.to_owned(), path.to_string_lossy().into_owned()));
        }
        for directory in std::env::split_paths(path).filter(|directory| directory.is_absolute()) {
            found.add(&directory);
            let Some(around) = directory.parent().filter(|_| directory.ends_with("bin")) else {
                continue;
            };
            // The home directory itself and its .local contain much else.
            if home.is_none_or(|home| around != home && around != home.join(".local")) {
                BESIDE_BIN.iter().for_each(|beside| found.add(&around.join(beside)));
            }
        }
        found
    }

    /// Adds a path that exists, unless it is readable anyway. Its links stay in it: agents may have made one, as only the way to it shows.
    fn add(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else { return };
        let is_known = system_paths::SYSTEM.iter().any(|system| real.starts_with(system))
            || self.read.iter().any(|known| known.canonicalize().is_ok_and(|known| real.starts_with(known)));
        if !is_known && real.parent().is_some() {
            self.read.push(path.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;

    use super::Toolchain;

    #[test]
    fn tools_are_found_and_the_rest_of_home_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for place in [
            ".rustup",
            ".cargo/bin",
            ".ssh",
            ".local/bin",
            ".local/share/keyrings",
            "tools/py/bin",
            "tools/py/lib",
            "bin",
        ] {
            fs::create_dir_all(home.join(place)).unwrap();
        }
        let path = [
            home.join(".cargo/bin"),
            home.join("tools/py/bin"),
            home.join("bin"),
            "/usr/bin".into(),
            "relative".into(),
        ];
        let path = std::env::join_paths(path).unwrap();
        let found = Toolchain::find(Some(&home), &path, |_| None);
        let inside: Vec<_> =
            found.read.iter().map(|place| place.strip_prefix(&home).unwrap().to_str().unwrap()).collect();
        assert_eq!(inside, [".cargo/bin", ".local/bin", ".rustup", "tools/py/bin", "tools/py/lib", "bin"]);
        assert_eq!(found.env, [("RUSTUP_HOME".to_owned(), home.join(".rustup").display().to_string())]);
    }

    #[test]
    fn variables_are_used_and_links_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/java")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        let java = base.join("link/java").display().to_string();
        let found = Toolchain::find(None, OsStr::new(""), |name| (name == "JAVA_HOME").then(|| java.clone()));
        assert_eq!(found.read, [base.join("link/java")]);
        assert_eq!(found.env, [("JAVA_HOME".to_owned(), java)]);
    }
}
