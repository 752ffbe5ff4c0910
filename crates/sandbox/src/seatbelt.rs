//! macOS: translates the bounds to a profile for sandbox-exec. The profile is plain text and tested on every system.

use std::fmt::Write;
use std::path::Path;

use crate::bounds::Bounds;

/// The system directories of macOS.
const SYSTEM: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/opt",
    "/System",
    "/Library/Apple",
    "/Library/Developer",
    "/Library/Frameworks",
    "/Applications/Xcode.app",
    "/private/etc",
    "/private/var/db",
    "/private/var/select",
    "/dev",
];

const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Later rules win, so allowed paths come first and protected ones last.
pub(crate) fn profile(bounds: &Bounds, own_binary: &Path) -> String {
    let mut text = String::from(
        "(version 1)\n(deny default)\n(allow process-fork process-exec)\n(allow signal (target same-sandbox))\n\
         (allow sysctl-read mach-lookup ipc-posix-shm)\n(allow file-read-metadata)\n\
         (allow network* (local ip \"localhost:*\"))\n(allow network-outbound (remote ip \"localhost:*\"))\n",
    );
    let system = SYSTEM.iter().map(Path::new);
    rule(
        &mut text,
        "allow file-read*",
        system.chain([own_binary]).chain(bounds.read.iter().map(AsRef::as_ref)),
    );
    rule(&mut text, "allow file-write*", DEVICES.iter().map(Path::new));
    rule(&mut text, "allow file-read* file-write*", bounds.writable());
    rule(&mut text, "deny file-write*", bounds.protected.iter().map(AsRef::as_ref));
    rule(&mut text, "deny file-read* file-write*", bounds.hidden.iter().map(AsRef::as_ref));
    rule(&mut text, "allow file-read* file-write*", bounds.private().into_iter());
    text
}

fn rule<'a>(text: &mut String, action: &str, paths: impl Iterator<Item = &'a Path>) {
    let mut subpaths = String::new();
    for path in paths {
        let _ = write!(subpaths, "\n  (subpath {})", quoted(path));
    }
    if !subpaths.is_empty() {
        let _ = writeln!(text, "({action}{subpaths})");
    }
}

/// A string literal of the profile language, in which only quotes and backslashes are special.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::profile;
    use crate::bounds::Bounds;

    fn sample() -> String {
        let mut bounds = Bounds::new("/Users/a/code", "/Users/a/state/home", "/Users/a/state/tmp");
        bounds.read = vec![PathBuf::from("/Users/a/.rustup")];
        bounds.protected = vec![PathBuf::from("/Users/a/code/.autonoe")];
        bounds.hidden = vec![PathBuf::from("/Users/a/code/state")];
        profile(&bounds, Path::new("/Users/a/bin/autonoe"))
    }

    fn position(text: &str, part: &str) -> usize {
        text.find(part).unwrap_or_else(|| panic!("{part} is missing in\n{text}"))
    }

    #[test]
    fn everything_is_denied_first_and_protected_paths_come_last() {
        let text = sample();
        let order = [
            "(deny default)",
            "(subpath \"/Users/a/.rustup\")",
            "(subpath \"/Users/a/code\")",
            "(subpath \"/Users/a/code/.autonoe\")",
            "(subpath \"/Users/a/code/state\")",
        ];
        let positions: Vec<_> = order.iter().map(|part| position(&text, part)).collect();
        assert!(positions.is_sorted(), "{text}");
        let protected = position(&text, "(subpath \"/Users/a/code/.autonoe\")");
        assert!(text[..protected].ends_with("(deny file-write*\n  "), "{text}");
        assert!(!text.contains("\"/Users/a\""), "the home directory itself is not listed");
    }

    #[test]
    fn only_this_machine_can_be_reached() {
        let text = sample();
        let network: Vec<_> = text.lines().filter(|line| line.contains("network")).collect();
        assert!(network.iter().all(|line| line.contains("localhost:*")), "{network:?}");
    }

    #[test]
    fn a_path_cannot_end_its_string() {
        let bounds = Bounds::new("/a\"b\\c", "/h", "/t");
        assert!(profile(&bounds, Path::new("/x")).contains(r#"(subpath "/a\"b\\c")"#));
    }

    #[test]
    fn parentheses_are_balanced() {
        let text = sample();
        assert_eq!(text.matches('(').count(), text.matches(')').count());
    }
}
