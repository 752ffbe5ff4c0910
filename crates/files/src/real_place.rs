//! Where a place that the user named leads, if others may have replaced a part of it by a link.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows in one path.
const MAX_LINKS: usize = 40;

/// Why a place leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("cannot be resolved: {0}")]
    Io(#[from] io::Error),
    #[error("is in {}, which agents may write, but leads to {}", written.display(), leads_to.display())]
    Redirected { written: PathBuf, leads_to: PathBuf },
}

/// The canonical path of `place`, which must be absolute. If the way to it leads through one of `written`, where agents may have put a link,
/// it must end there too.
pub fn real_place(place: &Path, written: &[PathBuf]) -> Result<PathBuf, PlaceError> {
    let written: Vec<PathBuf> = written.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut real = PathBuf::from("/");
    let mut rest = reversed(place);
    let mut links = 0;
    let mut entered: Option<&PathBuf> = None;
    while let Some(name) = rest.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(name);
        entered = entered.or_else(|| written.iter().find(|written| next.starts_with(written)));
        if !next.symlink_metadata()?.is_symlink() {
            real = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::other("it has too many links").into());
        }
        let target = next.read_link()?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        rest.extend(reversed(&target));
    }
    match entered.filter(|entered| !real.starts_with(entered)) {
        Some(entered) => Err(PlaceError::Redirected { written: entered.clone(), leads_to: real }),
        None => Ok(real),
    }
}

/// The names on a path, last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.rev().map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::{PlaceError, real_place};

    /// A home with `private`, `tools` and `w`, which agents may write.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("directory");
        let home = directory.path().canonicalize().expect("real");
        for name in ["private/sub", "tools", "w/data", "w/other"] {
            fs::create_dir_all(home.join(name)).expect("made");
        }
        (directory, home)
    }

    #[test]
    fn places_that_agents_did_not_redirect_are_resolved() {
        let (_directory, home) = home();
        symlink("tools", home.join("users")).expect("linked");
        symlink("w", home.join("writes")).expect("linked");
        symlink("../w/other", home.join("w/own")).expect("linked");
        let written = [home.join("writes")];
        for (place, real) in [("w/data", "w/data"), ("users", "tools"), ("writes", "w"), ("w/own", "w/other")]
        {
            assert_eq!(real_place(&home.join(place), &written).expect(place), home.join(real));
        }
        let missing = real_place(&home.join("w/missing"), &written);
        assert!(matches!(missing, Err(PlaceError::Io(_))), "{missing:?}");
    }

    #[test]
    fn a_link_out_of_what_agents_may_write_leads_nowhere() {
        let (_directory, home) = home();
        symlink(home.join("private"), home.join("w/direct")).expect("linked");
        symlink("../private", home.join("w/relative")).expect("linked");
        symlink("w/direct", home.join("users")).expect("linked");
        symlink("loop", home.join("w/loop")).expect("linked");
        let written = [home.join("w")];
        for place in ["w/direct", "w/relative", "w/direct/sub", "users", "users/sub"] {
            match real_place(&home.join(place), &written) {
                Err(PlaceError::Redirected { written, leads_to }) => {
                    assert_eq!(written, home.join("w"), "{place}");
                    assert!(leads_to.starts_with(home.join("private")), "{place}");
                }
                other => panic!("{place}: {other:?}"),
            }
            real_place(&home.join(place), &[]).expect("agents cannot write it");
        }
        let endless = real_place(&home.join("w/loop"), &written);
        assert!(matches!(endless, Err(PlaceError::Io(_))), "{endless:?}");
        // A place that another one redirects does not make itself valid.
        let both = [home.join("w"), home.join("w/direct/sub")];
        assert!(real_place(&both[1], &both).is_err());
    }
}
