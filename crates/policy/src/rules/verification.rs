//! The language commands in `sync`: only forms that test, check, lint and build, without options that fix, update or
//! write elsewhere.

use super::forms::{FORMS, VerificationForm};
use super::options::names_one_of;
use super::{profiles, reads};
use autonoe_core::profile::Profile;

use crate::verdict::{Denial, RuleResult};
use crate::walk::{Caller, CommandCall, Walker};
use crate::words::Arg;

/// Commands that run another tool, with their leading arguments and profile. The tool is judged.
const RUNNERS: [(&str, &[&str], Profile); 11] = [
    ("npx", &[], Profile::Node),
    ("bunx", &[], Profile::Node),
    ("npm", &["exec", "--"], Profile::Node),
    ("pnpm", &["exec"], Profile::Node),
    ("yarn", &["exec"], Profile::Node),
    ("uv", &["run"], Profile::Python),
    ("poetry", &["run"], Profile::Python),
    ("pdm", &["run"], Profile::Python),
    ("bundle", &["exec"], Profile::Ruby),
    ("python", &["-m"], Profile::Python),
    ("python3", &["-m"], Profile::Python),
];

pub fn judge(walker: &mut Walker<'_>, call: CommandCall<'_>) -> RuleResult {
    for arg in call.args {
        reads::judge_value(walker, arg)?;
        if arg.text.starts_with(['/', '~']) || arg.text.starts_with("..") {
            reads::judge(walker, arg)?;
        }
    }
    let starts = |start: &[&str]| {
        call.args.len() >= start.len()
            && start.iter().zip(call.args).all(|(word, arg)| arg.literal() == Some(word))
    };
    for (runner, start, profile) in RUNNERS {
        if call.name == runner && starts(start) && call.args.len() > start.len() {
            return judge_tool(walker, call, profile, &call.args[start.len()..]);
        }
    }
    if call.name == "php"
        && matches!(call.args, [lint, file] if lint.literal() == Some("-l") && file.is_operand())
    {
        return Ok(());
    }
    let mut denial = None;
    for form in FORMS.iter().filter(|form| form.command == call.name && starts(form.start)) {
        match judge_form(form, &call.args[form.start.len()..]) {
            Ok(()) => return Ok(()),
            Err(form_denial) => denial = Some(form_denial),
        }
    }
    Err(denial.unwrap_or_else(|| {
        Denial::new(
            "sync.verification",
            format!("This form of '{}' is not available in sync, which only verifies.", call.name),
        )
        .instead(examples(call.name))
    }))
}

/// Judges the tool that a runner starts; it must have a form of its own.
fn judge_tool(walker: &mut Walker<'_>, call: CommandCall<'_>, profile: Profile, argv: &[Arg]) -> RuleResult {
    let Some((name, args)) = argv.split_first() else { return Ok(()) };
    if call.name.starts_with("python") && name.literal() == Some("unittest") {
        return Ok(());
    }
    let known = name
        .literal()
        .filter(|name| profiles::belongs_to(name, profile) && FORMS.iter().any(|form| form.command == *name));
    match known {
        // Without this check, nested runners could recurse without limit.
        Some(name) if !RUNNERS.iter().any(|(runner, ..)| *runner == name) => {
            judge(walker, CommandCall { name, args, caller: Caller::Program })
        }
        Some(_) => deny_option("A runner may not run another runner."),
        None => Err(Denial::new(
            "sync.verification",
            format!("'{}' may not run '{}' in sync.", call.name, name.text),
        )
        .instead("Run a test runner, type checker or linter.")),
    }
}

fn judge_form(form: &VerificationForm, args: &[Arg]) -> RuleResult {
    let folded: Vec<Arg> = if form.command == "tsc" {
        args.iter().map(|arg| Arg::new(arg.text.to_lowercase(), arg.kind)).collect()
    } else {
        args.to_vec()
    };
    let mut has_needed = form.needs.is_empty();
    for (at, arg) in folded.iter().enumerate() {
        if arg.kind != crate::words::ArgKind::Plain && arg.may_be_option() {
            return deny_option("An argument that is not known before the command runs could be an option.");
        }
        let next = folded.get(at + 1).and_then(Arg::literal);
        if names_one_of(arg, form.denied) && !is_harmless(form, arg) {
            return deny_option(&format!(
                "'{} {}' changes or writes files that sync may not change.",
                form.command, arg.text
            ));
        }
        if form.command == "tsc" && (arg.text == "false" || arg.text.starts_with('@')) {
            return deny_option("tsc would write output files.");
        }
        if form.command == "go"
            && names_one_of(arg, &["-o"])
            && arg.text.trim_start_matches('-').starts_with('o')
        {
            let output = arg.text.split_once('=').map(|(_, value)| value).or(next);
            if output != Some("/dev/null") {
                return deny_option("go build may write only to /dev/null in sync.");
            }
        }
        if arg.text.starts_with('+') && form.command == "cargo" {
            return deny_option("sync may not select another toolchain.");
        }
        has_needed |= arg.literal().is_some_and(|text| form.needs.contains(&text));
    }
    if !has_needed {
        return Err(Denial::new("sync.verification", format!("{} would write files.", form.command))
            .instead(format!("{} {}", form.command, form.needs[0])));
    }
    Ok(())
}

/// Whether an argument that matches a denied option is harmless. The Go tools and tsc take long options with one
/// dash, so only an exact match counts for them.
fn is_harmless(form: &VerificationForm, arg: &Arg) -> bool {
    if form.command == "pytest" && arg.text == "--co" {
        return true;
    }
    if form.command == "jest" && arg.text == "--coverage=false" {
        return true;
    }
    if !["go", "gofmt", "staticcheck", "tsc"].contains(&form.command) {
        return false;
    }
    let given = arg.text.trim_start_matches('-').split('=').next().unwrap_or_default();
    !form.denied.iter().any(|denied| denied.trim_start_matches('-') == given)
}

fn deny_option(reason: &str) -> RuleResult {
    Err(Denial::new("sync.verification", reason).instead("Leave out the option; sync only verifies."))
}

fn examples(command: &str) -> String {
    let forms: Vec<String> = FORMS
        .iter()
        .filter(|form| form.command == command)
        .map(|form| [&[form.command], form.start, &form.needs[..form.needs.len().min(1)]].concat().join(" "))
        .collect();
    if forms.is_empty() { "Use the profile's test runner or linter.".into() } else { forms.join(", ") }
}

#[cfg(test)]
pub const EXAMPLES: &[super::RuleExample] = &[
    super::always("npm test 2>&1 | tail -20"),
    super::always("npm run build"),
    super::always("npx tsc --noEmit"),
    super::always("tsc --noEmit -p ."),
    super::in_run("tsc"),
    super::in_run("tsc --noEmit false"),
    super::in_run("tsc --noEmit --build"),
    super::always("prettier --check ."),
    super::in_run("prettier --write ."),
    super::always("eslint src --ext .ts"),
    super::in_run("eslint --fix src"),
    super::in_run("npm install"),
    super::in_run("npm run dev"),
    super::in_run("npx create-x"),
    super::always("pytest -q tests"),
    super::always("python3 -m pytest -x"),
    super::always("uv run pytest"),
    super::in_run("python3 -c 'print(1)'"),
    super::in_run("uv run python x.py"),
    super::always("ruff check ."),
    super::in_run("ruff check --fix ."),
    super::in_run("ruff format ."),
    super::always("rubocop"),
    super::in_run("rubocop -a"),
    super::always("bundle exec rspec"),
    super::in_run("bundle exec rails s"),
    super::always("go test ./... -run TestX -count=1"),
    super::always("go build ./..."),
    super::always("go build -o /dev/null ./cmd"),
    super::in_run("go build -o x ./cmd"),
    super::in_run("go run ."),
    super::in_run("go test -exec rm ./..."),
    super::always("gofmt -d ."),
    super::in_run("gofmt -w ."),
    super::always("cargo test --workspace"),
    super::in_run("cargo run"),
    super::in_run("cargo clippy --fix"),
    super::always("phpunit tests"),
    super::in_run("biome check --write ."),
    super::always("biome check ."),
    super::in_run("node -e 'x'"),
    super::in_run("PORT=3000 node server.js &"),
    super::in_run("black ."),
    super::in_run("jest -u"),
];
