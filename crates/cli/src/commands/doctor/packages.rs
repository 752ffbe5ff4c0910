//! How packages are installed on this system, from its os-release file.

use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_text};

const OS_RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemPackages {
    Apt,
    Dnf,
    Pacman,
    Apk,
    Zypper,
    Nix,
    Brew,
}

impl SystemPackages {
    /// `None` if the system is not known.
    pub fn of_this_system() -> Option<Self> {
        if cfg!(target_os = "macos") {
            return Some(Self::Brew);
        }
        let text =
            OS_RELEASE.iter().find_map(|path| read_text(Path::new(path), SETTINGS_LIMIT).ok().flatten());
        Self::of(&text?)
    }

    /// The system itself decides, then those that it is like.
    fn of(os_release: &str) -> Option<Self> {
        let value = |key: &str| {
            let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            line.unwrap_or_default().trim().trim_matches(['"', '\'']).to_lowercase()
        };
        let names = format!("{} {}", value("ID"), value("ID_LIKE"));
        names.split_whitespace().find_map(Self::of_name)
    }

    fn of_name(name: &str) -> Option<Self> {
        match name {
            "debian" | "ubuntu" | "linuxmint" | "pop" | "raspbian" | "kali" => Some(Self::Apt),
            "fedora" | "rhel" | "centos" | "rocky" | "almalinux" | "amzn" | "ol" => Some(Self::Dnf),
            "arch" | "archlinux" | "manjaro" | "endeavouros" => Some(Self::Pacman),
            "alpine" | "postmarketos" | "wolfi" | "chimera" => Some(Self::Apk),
            "suse" | "opensuse" | "opensuse-leap" | "opensuse-tumbleweed" | "sles" => Some(Self::Zypper),
            "nixos" => Some(Self::Nix),
            _ => None,
        }
    }

    /// The command for a package that has the same name everywhere.
    pub fn install(self, package: &str) -> String {
        let is_root = rustix::process::geteuid().is_root();
        let sudo = if is_root { "" } else { "sudo " };
        match self {
            Self::Apt => format!("{sudo}apt install {package}"),
            Self::Dnf => format!("{sudo}dnf install {package}"),
            Self::Pacman => format!("{sudo}pacman -S {package}"),
            Self::Apk => format!("{sudo}apk add {package}"),
            Self::Zypper => format!("{sudo}zypper install {package}"),
            Self::Nix => format!("nix profile install nixpkgs#{package}"),
            Self::Brew => format!("brew install {package}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SystemPackages::{self, Apk, Apt, Dnf, Nix, Pacman, Zypper};

    #[test]
    fn systems_are_known_by_their_name_or_by_what_they_are_like() {
        for (os_release, expected) in [
            ("PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n", Some(Apt)),
            ("ID=zorin\nID_LIKE=\"ubuntu debian\"\n", Some(Apt)),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", Some(Dnf)),
            ("ID=fedora\n", Some(Dnf)),
            ("ID=garuda\nID_LIKE=arch\n", Some(Pacman)),
            ("ID=alpine\nVERSION_ID=3.22\n", Some(Apk)),
            ("ID='opensuse-tumbleweed'\nID_LIKE='opensuse suse'\n", Some(Zypper)),
            ("ID=nixos\n", Some(Nix)),
            ("VARIANT_ID=debian\nID=other\n", None),
            ("", None),
        ] {
            assert_eq!(SystemPackages::of(os_release), expected, "{os_release}");
        }
    }

    #[test]
    fn each_has_its_command() {
        assert!(Apt.install("bubblewrap").ends_with("apt install bubblewrap"));
        assert!(Pacman.install("git").ends_with("pacman -S git"));
        assert_eq!(Nix.install("bubblewrap"), "nix profile install nixpkgs#bubblewrap");
    }
}
