//! Programs and files of the system that releases are made and tried with, and the packages of Debian and Ubuntu that have them.

use std::env;
use std::path::{Path, PathBuf};

pub struct NeededProgram {
    /// Names of a program, or paths of a file; one of them is enough.
    names: &'static [&'static str],
    package: &'static str,
}

pub const MMDEBSTRAP: NeededProgram = NeededProgram { names: &["mmdebstrap"], package: "mmdebstrap" };
pub const UMOCI: NeededProgram = NeededProgram { names: &["umoci"], package: "umoci" };
pub const BUBBLEWRAP: NeededProgram = NeededProgram { names: &["bwrap"], package: "bubblewrap" };
pub const NPM: NeededProgram = NeededProgram { names: &["npm"], package: "npm" };
pub const BUSYBOX: NeededProgram =
    NeededProgram { names: &["/bin/busybox", "/usr/bin/busybox"], package: "busybox-static" };
pub const DEBIAN_KEYS: NeededProgram = NeededProgram {
    names: &["/usr/share/keyrings/debian-archive-keyring.gpg"],
    package: "debian-archive-keyring",
};
/// For the processor that this machine does not have.
pub const QEMU_AARCH64: NeededProgram =
    NeededProgram { names: &["qemu-aarch64-static", "qemu-aarch64"], package: "qemu-user-static" };
pub const QEMU_X86_64: NeededProgram =
    NeededProgram { names: &["qemu-x86_64-static", "qemu-x86_64"], package: "qemu-user-static" };

impl NeededProgram {
    pub fn find(&self) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let directories: Vec<PathBuf> = env::split_paths(&path).collect();
        // Joining an absolute path gives that path.
        let places = self.names.iter().flat_map(|name| directories.iter().map(move |one| one.join(name)));
        places.into_iter().find(|place| place.is_file())
    }

    /// Why it cannot be used; `None` if it can.
    pub fn obstacle(&self) -> Option<String> {
        let name = Path::new(self.names[0]).file_name().unwrap_or_default().to_string_lossy();
        let sentence = || format!("{name} is not installed (apt-get install {})", self.package);
        self.find().is_none().then(sentence)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::workspace::root;

    /// Where CI leaves something out, `dist --check` fails.
    #[test]
    fn the_workflows_install_everything_that_could_be_missing() {
        // GitHub's machines have npm, and Ubuntu's own package of it would replace theirs.
        let all = [&MMDEBSTRAP, &UMOCI, &BUBBLEWRAP, &BUSYBOX, &DEBIAN_KEYS, &QEMU_AARCH64, &QEMU_X86_64];
        for workflow in ["release.yml", "ci.yml"] {
            let text = fs::read_to_string(root().join(".github/workflows").join(workflow)).unwrap();
            let job = text.split("\n  publish:").next().unwrap();
            let installed: Vec<&str> = job
                .lines()
                .filter(|line| line.contains("apt-get install"))
                .flat_map(str::split_whitespace)
                .collect();
            for needed in all {
                assert!(installed.contains(&needed.package), "{workflow} lacks {}", needed.package);
            }
        }
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let nothing = NeededProgram { names: &["/nowhere/busybox"], package: "busybox-static" };
        let sentence = "busybox is not installed (apt-get install busybox-static)";
        assert_eq!(nothing.obstacle().as_deref(), Some(sentence));
        assert_eq!(NeededProgram { names: &["no-such-program", "sh"], package: "dash" }.obstacle(), None);
    }
}
