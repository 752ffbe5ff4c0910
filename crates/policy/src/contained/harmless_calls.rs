//! Calls of publishing commands that publish nothing: help, dry runs, and registries on this machine.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::words::Arg;

/// Programs whose `--dry-run` publishes nothing.
#[rustfmt::skip]
const DRY_RUNS: [&str; 22] = [
    "npm", "pnpm", "yarn", "bun", "deno", "jsr", "nx", "cargo", "kubectl", "oc", "helm", "uv", "poetry", "goreleaser",
    "semantic-release", "release-it", "wrangler", "dart", "flutter", "gradle", "gradlew", "git",
];

/// Programs that do not take `--help` after a subcommand for a question.
const WITHOUT_HELP: [&str; 3] = ["lein", "mix", "sbt"];

const REGISTRY_PROGRAMS: [&str; 3] = ["docker", "podman", "nerdctl"];

/// Options whose value is the next argument, whatever it looks like.
#[rustfmt::skip]
const VALUED: [&str; 37] = [
    "--tag", "--registry", "--otp", "--access", "--workspace", "-w", "--filter", "-F", "--token", "--index", "--config",
    "-c", "-C", "--prefix", "--cache", "--userconfig", "-l", "--selector", "-f", "--filename", "-n", "--namespace",
    "--context", "--cluster", "--kubeconfig", "--output", "--set", "--values", "-o", "--push-option", "--receive-pack",
    "--exec", "--repo", "-u", "-p", "--username", "--password",
];

/// Whether a call only prints help.
pub fn shows_help(program: &str, args: &[Arg]) -> bool {
    !WITHOUT_HELP.contains(&program) && is_switched_on(args, "help", &["-h"])
}

/// Whether a call only shows what it would do.
pub fn is_dry_run(program: &str, form: &str, args: &[Arg]) -> bool {
    let short: &[&str] = match (program, form) {
        ("git", "push") | ("dart" | "flutter", _) => &["-n"],
        ("git", _) => return false,
        ("semantic-release" | "nx", _) => &["-d"],
        ("goreleaser", _) => &["--snapshot"],
        ("gradle" | "gradlew", _) => &["-m"],
        _ => &[],
    };
    DRY_RUNS.contains(&program) && is_switched_on(args, "dry-run", short)
}

/// Whether a call publishes only with an option that it does not have.
pub fn is_harmless_by_default(program: &str, form: &str, args: &[Arg]) -> bool {
    let literals = || args.iter().filter_map(Arg::literal);
    match (program, form) {
        ("cargo", "smart-release") => !literals().any(|text| matches!(text, "--execute" | "-e")),
        ("electron-builder", "--publish" | "-p") => {
            let at = args.iter().rposition(|arg| matches!(arg.literal(), Some("--publish" | "-p")));
            at.and_then(|at| args.get(at + 1)).and_then(Arg::literal) == Some("never")
        }
        _ => false,
    }
}

/// Whether an image is pushed to, or a login is for, a registry on this machine.
pub fn stays_on_loopback(program: &str, form: &str, args: &[Arg]) -> bool {
    let args: Vec<&Arg> = args
        .iter()
        .filter(|arg| !matches!(arg.text.as_str(), "-q" | "--quiet" | "-a" | "--all-tags"))
        .collect();
    let [.., before, last] = args.as_slice() else { return false };
    let Some(target) = last.literal().filter(|_| !before.may_be_option()) else { return false };
    let target = target.strip_prefix("docker://").unwrap_or(target);
    REGISTRY_PROGRAMS.contains(&program)
        && match form {
            "push" | "image push" => target.split_once('/').is_some_and(|(host, _)| is_loopback(host)),
            "login" => is_loopback(target),
            _ => false,
        }
}

/// Whether the last mention of a switch turns it on. A value of another option is not a mention.
fn is_switched_on(args: &[Arg], long: &str, short: &[&str]) -> bool {
    let mut is_on = false;
    let mut before = "";
    for (at, arg) in args.iter().enumerate() {
        let text = arg.literal().unwrap_or_default();
        let is_value = VALUED.contains(&before) && !short.contains(&before);
        before = text;
        if is_value {
            continue;
        }
        if text == "--" {
            break;
        }
        let next = args.get(at + 1).and_then(Arg::literal);
        let name = text.strip_prefix("--").unwrap_or_default();
        if short.contains(&text) || name == long {
            is_on = !next.is_some_and(is_off);
        } else if let Some(value) = name.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
            is_on = !is_off(value);
        } else if name.strip_prefix("no-").is_some_and(|name| !name.is_empty() && long.starts_with(name)) {
            is_on = false;
        }
    }
    is_on
}

pub fn is_off(value: &str) -> bool {
    matches!(value.to_lowercase().as_str(), "" | "false" | "none" | "never" | "no" | "0" | "f" | "off")
}

fn is_loopback(host: &str) -> bool {
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    bare == "localhost"
        || bare.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || bare.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}
