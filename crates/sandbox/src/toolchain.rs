//! Where compilers, interpreters and package managers are on this machine, outside the system's own directories: what
//! a program must be able to read to do its work, while the rest of home stays hidden.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::places;

/// In a home: managers of versions and what they installed. None of them keeps secrets there.
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

/// Variables that name such a place, and where it is in a home when they do not.
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

/// Beside a directory of programs: what they are made of.
const BESIDE_BIN: [&str; 5] = ["lib", "lib64", "libexec", "include", "share"];

/// What programs need to find their tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolchain {
    /// Places to be read.
    pub read: Vec<PathBuf>,
    /// Variables that say where they are, since home is elsewhere inside.
    pub env: Vec<(String, String)>,
}

impl Toolchain {
    /// The tools of a user with this home and this search path; `variable` gives a variable's value.
    pub fn find(home: Option<&Path>, path: &OsStr, variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut found = Self::default();
        if let Some(home) = home {
            IN_HOME.iter().for_each(|place| found.add(&home.join(place)));
        }
        for (name, usual) in NAMED {
            let usual = || Some(home?.join(usual?)).filter(|place| place.is_dir());
            let Some(place) = variable(name).map(PathBuf::from).or_else(usual) else {
                continue;
            };
            found.add(&place);
            found.env.push((name.to_owned(), place.to_string_lossy().into_owned()));
        }
        for directory in std::env::split_paths(path).filter(|directory| directory.is_absolute()) {
            found.add(&directory);
            let Some(around) = directory.parent().filter(|_| directory.ends_with("bin")) else {
                continue;
            };
            // In a home itself and in its .local there is much else.
            if home.is_none_or(|home| around != home && around != home.join(".local")) {
                BESIDE_BIN.iter().for_each(|beside| found.add(&around.join(beside)));
            }
        }
        found
    }

    /// Adds a place, also where it really is, unless it can be read anyway.
    fn add(&mut self, place: &Path) {
        let known = |list: &[PathBuf], place: &Path| {
            places::SYSTEM.iter().any(|system| place.starts_with(system))
                || list.iter().any(|known| place.starts_with(known))
        };
        let real = place.canonicalize().ok();
        for place in real.iter().map(PathBuf::as_path).chain(real.is_some().then_some(place)) {
            if !known(&self.read, place) && place.parent().is_some() {
                self.read.push(place.to_owned());
            }
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
    fn what_a_variable_names_counts_and_links_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/java")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        let java = base.join("link/java").display().to_string();
        let found = Toolchain::find(None, OsStr::new(""), |name| (name == "JAVA_HOME").then(|| java.clone()));
        assert_eq!(found.read, [base.join("real/java"), base.join("link/java")]);
        assert_eq!(found.env, [("JAVA_HOME".to_owned(), java)]);
    }
}
