//! Calls of publishing commands that publish nothing: help, dry runs, and forms that only read.

use crate::words::Arg;

/// Programs whose `--dry-run` publishes nothing.
#[rustfmt::skip]
const DRY_RUNS: [&str; 28] = [
    "npm", "pnpm", "yarn", "bun", "deno", "jsr", "nx", "cargo", "kubectl", "oc", "helm", "uv", "poetry", "goreleaser",
    "semantic-release", "release-it", "wrangler", "dart", "flutter", "gradle", "gradlew", "git",
    "gh", "mix", "rake", "cap", "supabase", "firebase",
];

/// Programs that do not take `--help` after a subcommand for a question.
const WITHOUT_HELP: [&str; 3] = ["lein", "mix", "sbt"];

/// Options whose value is the next argument, whatever it looks like.
#[rustfmt::skip]
const VALUED: [&str; 49] = [
    "--exclude", "--include", "--tag", "--registry", "--otp", "--access", "--workspace", "-w", "--filter", "-F", "--token", "--index", "--config",
    "-c", "-C", "--prefix", "--cache", "--userconfig", "-l", "--selector", "-f", "--filename", "-n", "--namespace",
    "--context", "--cluster", "--kubeconfig", "--output", "--set", "--values", "-o", "--push-option", "--receive-pack",
    "--exec", "--repo", "-u", "-p", "--username", "--password", "-b", "--body", "-t", "--title", "-B", "--base", "-H",
    "--head", "--label", "--message",
];

/// Whether a call only prints help.
pub fn shows_help(program: &str, args: &[Arg]) -> bool {
    let short: &[&str] = match program {
        "terraform" | "tofu" => &["-h", "-help"],
        _ => &["-h"],
    };
    !WITHOUT_HELP.contains(&program) && is_switched_on(args, "help", short)
}

/// Whether a call only shows what it would do.
pub fn is_dry_run(program: &str, form: &str, args: &[Arg]) -> bool {
    let short: &[&str] = match (program, form) {
        ("git", "push") | ("cargo", "publish") | ("dart" | "flutter" | "rake" | "cap", _) => &["-n"],
        ("git", "lfs push") | ("nx", _) => &["-d"],
        ("git", "send-email") => &[],
        ("git", "review") => &["-n"],
        ("docker", "compose push") | ("docker-compose", "push") => {
            return is_switched_on(args, "dry-run", &[]);
        }
        ("aws", "s3 sync") => return is_switched_on(args, "dryrun", &[]),
        ("git", _) => return false,
        // Version 1 does not know the option.
        ("yarn", "publish") => return false,
        ("gh", form) if form != "pr create" => return false,
        ("semantic-release", _) => &["-d", "--noop"],
        ("np", _) => return is_switched_on(args, "preview", &[]),
        ("fly" | "flyctl", _) => return is_switched_on(args, "build-only", &[]),
        ("goreleaser", _) => &["--snapshot"],
        ("gradle" | "gradlew", _) => &["-m"],
        _ => &[],
    };
    DRY_RUNS.contains(&program) && is_switched_on(args, "dry-run", short)
}

/// Whether a call publishes nothing because of an option that it has or does not have.
pub fn is_harmless_by_option(program: &str, form: &str, args: &[Arg]) -> bool {
    let literals = || args.iter().filter_map(Arg::literal);
    match (program, form) {
        ("cargo", "release") => !literals().any(|text| {
            let is_cluster = text.starts_with('-') && !text.starts_with("--") && text.contains('x');
            is_cluster || text == "--execute"
        }),
        ("lerna", "version") => literals().any(|text| text == "--no-push"),
        ("mvn" | "mvnw" | "mvnd", form) if form.starts_with("release:") => {
            literals().any(|text| matches!(text, "-DdryRun" | "-DdryRun=true"))
        }
        ("cargo", "smart-release") => !literals().any(|text| matches!(text, "--execute" | "-e")),
        ("mike", "deploy") => !literals().any(|text| matches!(text, "--push" | "-p")),
        ("git", "review") => literals().any(|text| REVIEW_READS.contains(&text)),
        ("supabase", "db push") => literals().any(|text| text == "--local"),
        ("electron-builder", "--publish" | "-p") => {
            let at = args.iter().rposition(|arg| matches!(arg.literal(), Some("--publish" | "-p")));
            at.and_then(|at| args.get(at + 1)).and_then(Arg::literal) == Some("never")
        }
        _ => false,
    }
}

/// Whether a call with a listed form only reads.
pub fn only_reads(program: &str, form: &str, args: &[Arg]) -> bool {
    let literals = || args.iter().filter_map(Arg::literal);
    let has = |options: &[&str]| {
        args.iter().any(|arg| arg.literal().is_none_or(|text| options.iter().any(|o| text.starts_with(o))))
    };
    match (program, form) {
        (_, "access" | "token") => {
            let next = literals().skip_while(|text| *text != form).nth(1);
            next.is_some_and(|next| NPM_READS.contains(&next))
        }
        ("cargo", "owner") => literals().any(|text| matches!(text, "--list" | "-l")) && !has(OWNER_CHANGES),
        ("gem", "owner") => !has(OWNER_CHANGES),
        ("vercel" | "vc", "--prod") => literals().next().is_some_and(|word| VERCEL_READS.contains(&word)),
        _ => false,
    }
}

/// Options of `git review` that download or list.
const REVIEW_READS: [&str; 6] = ["-d", "--download", "-l", "--list", "-s", "--setup"];
const NPM_READS: [&str; 6] = ["list", "ls", "get", "list-packages", "ls-packages", "ls-collaborators"];
const OWNER_CHANGES: &[&str] = &["-a", "--a", "-r", "--r"];
/// Subcommands of vercel that deploy nothing, whatever the environment.
const VERCEL_READS: [&str; 7] = ["build", "pull", "dev", "list", "ls", "inspect", "logs"];

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
        } else if is_negated(name, long) || is_shortened_off(name, next, long) {
            is_on = false;
        }
    }
    is_on
}

/// Whether it is `--no-` with the name of a switch, which may be shortened.
fn is_negated(name: &str, long: &str) -> bool {
    name.strip_prefix("no-").is_some_and(|name| !name.is_empty() && long.starts_with(name))
}

/// Whether a shortened name turns a switch off, as `--dry=false` does for npm.
fn is_shortened_off(name: &str, next: Option<&str>, long: &str) -> bool {
    let (name, value) = name.split_once('=').map_or((name, next), |(name, value)| (name, Some(value)));
    !name.is_empty() && long.starts_with(name) && value.is_some_and(is_off)
}

pub fn is_off(value: &str) -> bool {
    matches!(value.to_lowercase().as_str(), "" | "false" | "none" | "never" | "no" | "0" | "f" | "off")
}
