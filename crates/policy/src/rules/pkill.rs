//! `pkill`: may end development processes, by name.

use autonoe_core::profile::Profile;

use super::options::{OptionSyntax, parse};
use super::rule::{CommandCall, Rule, always, never};
use super::scope::CommandScope;

use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::Arg;

pub const RULES: &[Rule] = &[Rule {
    name: "pkill",
    commands: &["pkill"],
    run_only: false,
    judge,
    examples: &[
        always("pkill node"),
        always("pkill -9 vite"),
        always("pkill -f 'node server.js'"),
        always("pkill vitest || true"),
        always("pkill -TERM -x puma"),
        never("pkill -f node"),
        never("pkill postgres"),
        never("pkill -u node postgres"),
        never("pkill --signal node postgres"),
        never("pkill node postgres"),
        never("pkill $x"),
        never("pkill"),
        never("pkill ."),
    ],
}];

/// The processes of each language profile.
#[rustfmt::skip]
const TARGETS: [(Profile, &[&str]); 7] = [
    (
        Profile::Node,
        &[
            "node", "npm", "npx", "vite", "next", "vitest", "jest", "webpack", "nodemon", "tsx", "ts-node",
            "esbuild", "next-server", "nuxt", "astro", "playwright",
        ],
    ),
    (Profile::Bun, &["bun"]),
    (Profile::Python, &["python", "python3", "uvicorn", "gunicorn", "flask", "pytest", "hypercorn"]),
    (Profile::Ruby, &["ruby", "puma", "unicorn", "rails", "rackup"]),
    (Profile::Go, &["go", "air"]),
    (Profile::Rust, &["cargo"]),
    (Profile::Php, &["php", "artisan"]),
];

#[rustfmt::skip]
const SIGNALS: [&str; 12] =
    ["9", "15", "2", "1", "KILL", "TERM", "INT", "HUP", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"];

const SYNTAX: OptionSyntax = OptionSyntax {
    flags: "fxeon",
    valued: "",
    long: &["full", "exact", "echo", "newest", "oldest"],
    long_valued: &["signal"],
};

fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let is_signal = |arg: &&Arg| {
        arg.literal().and_then(|text| text.strip_prefix('-')).is_some_and(|s| SIGNALS.contains(&s))
    };
    let args: Vec<Arg> = call.args.iter().filter(|arg| !is_signal(arg)).cloned().collect();
    let parsed = parse("pkill", &SYNTAX, &args)?;
    if let Some(signal) = parsed.value("signal")
        && !SIGNALS.contains(&signal.text.as_str())
    {
        return refuse("That signal is not allowed.");
    }
    let [pattern] = parsed.operands.as_slice() else {
        return refuse("pkill requires exactly one process name.");
    };
    let Some(pattern) = pattern.literal() else {
        return refuse("The process name is not known before the command runs.");
    };
    let full = parsed.has("f") || parsed.has("full");
    let (target, rest) = match pattern.split_once(' ') {
        Some((target, rest)) if full => (target, rest.trim()),
        _ => (pattern, ""),
    };
    let plain = rest.bytes().all(|b| b.is_ascii_alphanumeric() || b" _./:=@-".contains(&b));
    if full && (rest.len() < 3 || !plain) {
        return refuse("With -f a bare name would match unrelated processes, including the agent's own.");
    }
    let listed =
        TARGETS.iter().any(|(profile, names)| scope.options.has(*profile) && names.contains(&target));
    if listed || scope.options.pkill_targets.iter().any(|allowed| allowed == target) {
        return Ok(());
    }
    refuse(&format!("'{target}' is not a development process of the active profiles."))
}

fn refuse(reason: &str) -> RuleResult {
    deny_with_hint(
        "pkill",
        reason,
        "Use `pkill node`, or `pkill -f 'node server.js'` with the script's name.",
    )
}
