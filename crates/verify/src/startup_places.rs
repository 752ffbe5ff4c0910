//! Files of a home directory that shells, interpreters and test tools read when they start. A program under test could write them and so act
//! on whatever judges it, so they are empty and, where the layer can do that, read-only in the rooms of checks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a program reads when it starts.
struct StartupPlaces {
    /// Without any of them, nothing reads the places. Each place costs time in every room.
    programs: &'static [&'static str],
    directories: &'static [&'static str],
    files: &'static [&'static str],
}

const OLD_CARGO_CONFIG: &str = ".cargo/config";
const CARGO_CONFIG: &str = ".cargo/config.toml";

/// The settings of git are not among them: honest tests write them.
const PLACES: [StartupPlaces; 10] = [
    StartupPlaces {
        programs: &["sh"],
        directories: &[],
        files: &[".bash_login", ".bash_profile", ".bashrc", ".profile"],
    },
    StartupPlaces {
        programs: &["zsh"],
        directories: &[],
        files: &[".zlogin", ".zprofile", ".zshenv", ".zshrc"],
    },
    StartupPlaces { programs: &["fish"], directories: &[".config/fish"], files: &[] },
    StartupPlaces { programs: &["ksh", "mksh"], directories: &[], files: &[".kshrc", ".mkshrc"] },
    StartupPlaces {
        programs: &["cargo"],
        directories: &[".config/nextest"],
        files: &[OLD_CARGO_CONFIG, CARGO_CONFIG],
    },
    StartupPlaces {
        programs: &["node", "bun"],
        directories: &[],
        files: &[".bunfig.toml", ".npmrc", ".yarnrc", ".yarnrc.yml"],
    },
    StartupPlaces { programs: &["go"], directories: &[".config/go"], files: &[] },
    StartupPlaces {
        programs: &["java"],
        directories: &[".gradle/init.d"],
        files: &[
            ".gradle/gradle.properties",
            ".gradle/init.gradle",
            ".gradle/init.gradle.kts",
            ".m2/settings.xml",
            ".m2/toolchains.xml",
            ".mavenrc",
        ],
    },
    StartupPlaces { programs: &["ruby"], directories: &[".bundle", ".config/rspec"], files: &[".rspec"] },
    StartupPlaces { programs: &["perl"], directories: &[], files: &[".proverc"] },
];

/// Tools that refuse an empty file get one that says nothing.
fn content(name: &str) -> &'static str {
    match name {
        ".m2/settings.xml" => "<settings/>\n",
        ".m2/toolchains.xml" => "<toolchains/>\n",
        _ => "",
    }
}

/// The places of programs that are installed in one of the directories of `search_path`.
fn places(search_path: &str) -> impl Iterator<Item = &'static StartupPlaces> {
    let is_installed =
        |name: &&str| search_path.split(':').any(|directory| Path::new(directory).join(name).exists());
    PLACES.iter().filter(move |places| places.programs.iter().any(is_installed))
}

pub(crate) fn startup_places(home: &Path, search_path: &str) -> Vec<PathBuf> {
    let names = places(search_path).flat_map(|places| places.directories.iter().chain(places.files));
    names.map(|name| home.join(name)).collect()
}

/// Only what exists can be made read-only.
pub(crate) fn make_startup_places(home: &Path, search_path: &str) -> io::Result<()> {
    for places in places(search_path) {
        places.directories.iter().try_for_each(|name| fs::create_dir_all(home.join(name)))?;
        for name in places.files {
            let file = home.join(name);
            fs::create_dir_all(file.parent().unwrap_or(home))?;
            match *name {
                // Cargo warns of two that are not the same.
                CARGO_CONFIG => fs::hard_link(home.join(OLD_CARGO_CONFIG), file)?,
                name => fs::write(file, content(name))?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{make_startup_places, startup_places};

    #[test]
    fn only_places_of_installed_programs_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let (bin, home) = (directory.path().join("bin"), directory.path().join("home"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&home).unwrap();
        fs::write(bin.join("cargo"), "").unwrap();
        let search_path = format!("/nowhere:{}", bin.display());
        make_startup_places(&home, &search_path).unwrap();
        let found = startup_places(&home, &search_path);
        let names = [".config/nextest", ".cargo/config", ".cargo/config.toml"].map(|name| home.join(name));
        assert_eq!(found, names);
        assert!(found.iter().all(|path| Path::new(path).exists()));
        assert!(!home.join(".profile").exists());
    }
}
