//! Places that hold secrets. The kernel decides what can be read; this only refuses what is plainly wrong.

use crate::shell::ast::{Part, Word};
use crate::verdict::{Ruling, deny};
use crate::words::sketch;

/// Parts of paths outside the project that nobody has business reading.
#[rustfmt::skip]
const PLACES: [&str; 26] = [
    "/.ssh", "/.aws", "/.gnupg", "/.netrc", "/.config/gh", "/.config/gcloud", "/.config/op", "/.azure",
    "/.kube", "/.docker", "/.git-credentials", "/.npmrc", "/.pypirc", "/.gem/credentials",
    "/.cargo/credentials", "/.claude", "/.codex", "/.gemini", "/.bash_history", "/.zsh_history",
    "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/run/secrets", "/.password-store",
    "/.local/share/keyrings",
];

/// Refuses a word that names one of them.
pub fn judge(word: &Word) -> Ruling {
    let may = word.0.iter().any(|part| matches!(part, Part::Text { text, .. } if text.contains(['/', '~'])));
    if !may {
        return Ok(());
    }
    let text = sketch(word);
    // A message that mentions such a place is not a path.
    if text.contains([' ', '\n']) {
        return Ok(());
    }
    let path = text.rsplit(['=', '@', '<', '>']).next().unwrap_or(&text);
    if path.contains("/dev/tcp/") || path.contains("/dev/udp/") {
        return deny("redirection.network", "Redirections to the network are not allowed.");
    }
    let leaves = path.starts_with(['/', '~']) || path.contains("..");
    let lower = path.to_lowercase().replace("//", "/").replace("/./", "/");
    let secret = PLACES.iter().any(|place| lower.contains(place)) || is_process_memory(&lower);
    if leaves && secret {
        return deny("secret", format!("'{path}' holds secrets; no command may name it."));
    }
    Ok(())
}

fn is_process_memory(path: &str) -> bool {
    path.contains("/proc/")
        && ["environ", "/mem", "/maps", "/fd/", "/root", "/cwd"].iter().any(|end| path.contains(end))
}
