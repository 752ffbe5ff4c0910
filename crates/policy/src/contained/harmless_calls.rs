//! Calls of publishing commands that publish nothing: help, dry runs, and forms that only read.

use crate::words::Arg;

/// Programs whose `--dry-run` publishes nothing.
#[rustfmt::skip]
const DRY_RUNS: [&str; 30] = [
    "npm", "pnpm", "yarn", "bun", "deno", "jsr", "nx", "cargo", "kubectl", "oc", "helm", "uv", "poetry", "goreleaser",
    "semantic-release", "release-it", "wrangler", "dart", "flutter", "gradle", "gradlew", "git",
    "gh", "jj", "hg", "mix", "rake", "cap", "supabase", "firebase",
];

/// Programs that do not take `--help` after a subcommand for a question.
const WITHOUT_HELP: [&str; 3] = ["lein", "mix", "sbt"];

/// Options without a value. The argument after any other option may be its value, whatever it looks like.
#[rustfmt::skip]
const FLAGS: [&str; 51] = [
    "--force", "--force-with-lease", "--force-if-includes", "--all", "--tags", "--follow-tags", "--set-upstream", "--mirror",
    "--prune", "--delete", "--atomic", "--porcelain", "--progress", "--verbose", "--quiet", "--silent", "--debug", "--yes",
    "--json", "--ci", "--provenance", "--recursive", "--workspaces", "--include-workspace-root", "--locked", "--offline",
    "--frozen", "--workspace", "--all-features", "--keep-going", "--clean", "--snapshot", "--fill", "--draft", "--web",
    "--first-release", "--prune-whitelist", "--wait", "--record", "--report-summary", "--all-tags", "--help", "--dry-run",
    "--production", "--install", "--create-namespace", "--devel", "--server-side", "--force-conflicts", "--overwrite",
    "--minify",
];
const SHORT_FLAGS: [&str; 8] = ["-v", "-q", "-y", "-a", "-r", "-V", "-d", "-s"];
/// How flags begin that have no value.
const FLAG_BEGINNINGS: [&str; 5] = ["--no-", "--allow-", "--skip-", "--ignore-", "--with-"];

/// Whether the next argument may be the value of an option.
fn may_have_value(program: &str, option: &str) -> bool {
    let is_option = option.starts_with('-') && option.len() > 1 && !option.contains('=');
    let is_flag = match (program, option.starts_with("--")) {
        ("npm" | "yarn", true) if option == "--workspace" => false,
        (_, true) => FLAGS.contains(&option) || FLAG_BEGINNINGS.iter().any(|start| option.starts_with(start)),
        ("git" | "jj", false) => !option.contains('o'),
        ("gh", false) => matches!(option, "-f" | "-d" | "-w"),
        (_, false) => SHORT_FLAGS.contains(&option),
    };
    is_option && !is_flag
}

/// Whether something is copied to this machine: the last operand is not remote, and the one before it is.
fn brings_here(args: &[Arg], is_remote: impl Fn(&str) -> bool) -> bool {
    let operands: Vec<Option<&str>> =
        args.iter().filter(|arg| !arg.text.starts_with('-')).map(Arg::literal).collect();
    let position = operands.iter().position(|operand| operand.is_some_and(&is_remote));
    let target = position.and_then(|at| *operands.get(at + 1)?);
    operands.iter().filter(|operand| operand.is_none_or(&is_remote)).count() == 1
        && target.is_some_and(|target| !is_remote(target))
}

/// Whether a call only prints help.
pub fn shows_help(program: &str, args: &[Arg]) -> bool {
    let short: &[&str] = match program {
        "terraform" | "tofu" => &["-h", "-help"],
        _ => &["-h"],
    };
    !WITHOUT_HELP.contains(&program) && is_switched_on(program, args, "help", short)
}

/// Whether a call only shows what it would do.
pub fn is_dry_run(program: &str, form: &str, args: &[Arg]) -> bool {
    let short: &[&str] = match (program, form) {
        ("git", "push") | ("cargo", "publish") | ("dart" | "flutter" | "rake" | "cap", _) => &["-n"],
        ("git", "lfs push") | ("nx", _) => &["-d"],
        ("git", "send-email") => &[],
        ("git", "review") => &["-n"],
        ("docker", "compose push") | ("docker-compose", "push") => {
            return is_switched_on(program, args, "dry-run", &[]);
        }
        ("aws", "s3 sync") => return is_switched_on(program, args, "dryrun", &[]),
        ("git", _) => return false,
        // Version 1 does not know the option.
        ("yarn", "publish") => return false,
        ("gh", form) if form != "pr create" => return false,
        ("semantic-release", _) => &["-d", "--noop"],
        ("np", _) => return is_switched_on(program, args, "preview", &[]),
        ("fly" | "flyctl", _) => return is_switched_on(program, args, "build-only", &[]),
        ("goreleaser", _) => &["--snapshot"],
        ("gradle" | "gradlew", _) => &["-m"],
        _ => &[],
    };
    DRY_RUNS.contains(&program) && is_switched_on(program, args, "dry-run", short)
}

/// Whether a call publishes nothing because of an option that it has or does not have.
pub fn is_harmless_by_option(program: &str, form: &str, args: &[Arg]) -> bool {
    let literals = || args.iter().filter_map(Arg::literal);
    match (program, form) {
        ("cargo", "release") => !literals().any(|text| {
            let is_cluster = text.starts_with('-') && !text.starts_with("--") && text.contains('x');
            is_cluster || text == "--execute"
        }),
        ("goreleaser", _) => {
            let skips = |text: &str| text == "publish" || text.split(',').any(|part| part == "publish");
            literals().any(|text| text == "--skip-publish" || text.strip_prefix("--skip=").is_some_and(skips))
        }
        ("lerna", "version") => literals().any(|text| text == "--no-push"),
        ("mvn" | "mvnw" | "mvnd", form) if form.starts_with("release:") => {
            literals().any(|text| matches!(text, "-DdryRun" | "-DdryRun=true"))
        }
        ("mvn" | "mvnw" | "mvnd", "deploy") => {
            literals().any(|text| matches!(text, "-Dmaven.deploy.skip" | "-Dmaven.deploy.skip=true"))
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
        (_, "access" | "token" | "trust") => {
            let next = literals().skip_while(|text| *text != form).nth(1);
            next.is_some_and(|next| NPM_READS.contains(&next))
        }
        ("cargo", "owner") => literals().any(|text| matches!(text, "--list" | "-l")) && !has(OWNER_CHANGES),
        ("gem", "owner") => !has(OWNER_CHANGES),
        ("kubectl" | "oc", "cp") => brings_here(args, |text| text.contains(':')),
        ("aws", "s3 sync") => brings_here(args, |text| text.starts_with("s3://")),
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
fn is_switched_on(program: &str, args: &[Arg], long: &str, short: &[&str]) -> bool {
    let mut is_on = false;
    let mut before = "";
    for (at, arg) in args.iter().enumerate() {
        let text = arg.literal().unwrap_or_default();
        let is_value = may_have_value(program, before) && !short.contains(&before);
        before = text;
        if text == "--" && !is_value {
            break;
        }
        let next = args.get(at + 1).and_then(Arg::literal);
        let name = text.strip_prefix("--").unwrap_or_default();
        if short.contains(&text) || name == long || (program == "git" && is_cluster_with(text, short)) {
            is_on = (is_on || !is_value) && !next.is_some_and(is_off);
        } else if let Some(value) = name.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
            is_on = (is_on || !is_value) && !is_off(value);
        } else if is_negated(name, long) || is_shortened_off(name, next, long) {
            is_on = false;
        }
    }
    is_on
}

/// Whether it is a cluster of git's flags, such as `-fn`, with one of these.
fn is_cluster_with(text: &str, short: &[&str]) -> bool {
    let letters =
        text.strip_prefix('-').filter(|letters| letters.bytes().all(|letter| b"fnuqvd46".contains(&letter)));
    letters.is_some_and(|letters| short.iter().any(|option| letters.contains(option.trim_start_matches('-'))))
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
