//! Paths that contain secrets, and built-ins that print all variables. The sandbox decides what can be read; this rule
//! only denies paths that are obviously secret.

use crate::shell::ast::{Part, Word};
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::{Arg, outline};

/// Parts of paths outside the project that contain secrets.
#[rustfmt::skip]
const SECRET_PATHS: [&str; 26] = [
    "/.ssh", "/.aws", "/.gnupg", "/.netrc", "/.config/gh", "/.config/gcloud", "/.config/op", "/.azure",
    "/.kube", "/.docker", "/.git-credentials", "/.npmrc", "/.pypirc", "/.gem/credentials",
    "/.cargo/credentials", "/.claude", "/.codex", "/.gemini", "/.bash_history", "/.zsh_history",
    "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/run/secrets", "/.password-store",
    "/.local/share/keyrings",
];

/// Denies a word that names a path with secrets, or a network device of bash.
pub fn judge(word: &Word) -> RuleResult {
    let has_path =
        word.0.iter().any(|part| matches!(part, Part::Text { text, .. } if text.contains(['/', '~'])));
    if !has_path {
        return Ok(());
    }
    let text = outline(&word.0);
    // A message that mentions such a path is not a path itself.
    if text.contains([' ', '\n']) {
        return Ok(());
    }
    let path = text.rsplit(['=', '@', '<', '>']).next().unwrap_or(&text);
    if path.contains("/dev/tcp/") || path.contains("/dev/udp/") {
        return deny("redirection.network", "Redirections to the network are not allowed.");
    }
    let leaves = path.starts_with(['/', '~']) || path.contains("..");
    let lower = path.to_lowercase().replace("//", "/").replace("/./", "/");
    let secret = SECRET_PATHS.iter().any(|secret| lower.contains(secret)) || is_process_memory(&lower);
    if leaves && secret {
        return deny("secret", format!("'{path}' may contain secrets; commands may not name it."));
    }
    Ok(())
}

/// Denies built-ins that print all variables because they are given no name.
pub fn judge_listing(name: &str, args: &[Arg]) -> RuleResult {
    let lists = match name {
        "set" => args.is_empty(),
        "declare" | "typeset" | "export" | "readonly" | "local" => {
            args.iter().all(|arg| arg.literal().is_some_and(|text| text.starts_with('-')))
        }
        "npm" | "npx" | "pnpm" | "pnpx" | "yarn" | "bun" | "bunx" => {
            let words = args.iter().filter_map(Arg::literal).filter(|text| !text.starts_with('-'));
            let mut words = words.skip_while(|text| ["run", "run-script", "exec", "x", "dlx"].contains(text));
            matches!(words.next(), Some("env" | "printenv")) && words.next().is_none()
        }
        _ => false,
    };
    if lists { prints_variables(name) } else { Ok(()) }
}

pub fn prints_variables(command: &str) -> RuleResult {
    deny_with_hint(
        "secret",
        format!("'{command}' without a name prints all variables, which may contain secrets."),
        "Print one variable: echo \"$NAME\".",
    )
}

fn is_process_memory(path: &str) -> bool {
    let parts = ["environ", "mem", "maps", "smaps", "fd", "root", "cwd"];
    path.split_once("/proc/").is_some_and(|(_, below)| below.split('/').any(|part| parts.contains(&part)))
}
