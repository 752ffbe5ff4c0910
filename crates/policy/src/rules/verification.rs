//! The language commands in `sync`: only forms that test, check, lint and build, with options from a list:
//! those that fix, update or write elsewhere are not in it.

use autonoe_core::profile::Profile;

use super::forms::{FORMS, VerificationForm};
use super::rule::{Caller, CommandCall};
use super::scope::CommandScope;
use super::{profile_commands, reads};
use crate::verdict::{Denial, RuleResult};
use crate::words::{Arg, ArgKind};

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

pub fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    for arg in call.args {
        reads::judge_value(scope, arg)?;
        judge_path(scope, arg)?;
    }
    if [Profile::Python, Profile::Rust]
        .iter()
        .any(|profile| profile_commands::belongs_to(call.name, *profile))
        && call.args.iter().any(|arg| arg.text.starts_with('@'))
    {
        return deny_option("The arguments in a file are not known before the command runs.");
    }
    let starts = |start: &[&str]| {
        call.args.len() >= start.len()
            && start.iter().zip(call.args).all(|(word, arg)| arg.literal() == Some(word))
    };
    for (runner, start, profile) in RUNNERS {
        if call.name == runner && starts(start) && call.args.len() > start.len() {
            return judge_tool(scope, call, profile, &call.args[start.len()..]);
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

/// Judges an argument that may be the path of what a tool loads, as in `tests/x.py::name`, `x_spec.rb:12` or `key=path`.
fn judge_path(scope: &mut CommandScope<'_>, arg: &Arg) -> RuleResult {
    if arg.kind == ArgKind::Plain && arg.text.starts_with('-') {
        return Ok(());
    }
    reads::judge(scope, arg)?;
    let Some(text) = arg.literal().filter(|text| !text.contains("://")) else { return Ok(()) };
    let ends = [':', '?', '#'].iter().filter_map(|end| text.split_once(*end)).map(|(path, _)| path);
    let values = text.split_once('=').map(|(_, value)| value);
    let parts: Vec<Arg> = ends.chain(values).filter(|part| !part.is_empty()).map(Arg::plain).collect();
    parts.iter().try_for_each(|part| reads::judge(scope, part))
}

/// Judges the tool that a runner starts; it must have a form of its own.
fn judge_tool(
    scope: &mut CommandScope<'_>,
    call: CommandCall<'_>,
    profile: Profile,
    argv: &[Arg],
) -> RuleResult {
    let Some((name, args)) = argv.split_first() else { return Ok(()) };
    if call.name.starts_with("python") && name.literal() == Some("unittest") {
        return Ok(());
    }
    let known = name.literal().filter(|name| {
        profile_commands::belongs_to(name, profile) && FORMS.iter().any(|form| form.command == *name)
    });
    match known {
        // Without this check, nested runners could recurse without limit.
        Some(name) if !RUNNERS.iter().any(|(runner, ..)| *runner == name) => {
            judge(scope, CommandCall { name, args, caller: Caller::Program })
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
    let mut has_needed = form.needs.is_empty();
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if arg.kind != ArgKind::Plain && arg.may_be_option() {
            return deny_option("An argument that is not known before the command runs could be an option.");
        }
        let text = if form.command == "tsc" { arg.text.to_lowercase() } else { arg.text.clone() };
        if !text.starts_with('-') || text == "-" || text == "--" {
            if form.command == "tsc" && (text == "false" || text.starts_with('@')) {
                return deny_option("tsc would write output files.");
            }
            if form.command == "cargo" && text.starts_with('+') {
                return deny_option("sync may not select another toolchain.");
            }
            continue;
        }
        let value = match find_option(form, &text) {
            Some(OptionValue::None) => None,
            Some(OptionValue::Attached) => text.split_once('=').map(|(_, value)| value.to_owned()),
            Some(OptionValue::Next) => {
                let Some((value, after)) = rest.split_first() else { break };
                if value.kind == ArgKind::Several {
                    return deny_option("The value of an option is not known before the command runs.");
                }
                rest = after;
                Some(value.text.clone())
            }
            None => {
                return deny_option(&format!(
                    "'{} {}' is not among the options that only verify.",
                    form.command, arg.text
                ));
            }
        };
        let is_config = matches!(text.split('=').next(), Some("--config" | "-c" | "--configuration"));
        if is_config && value.as_ref().is_some_and(|value| value.contains(['{', '='])) {
            return deny_option("Configuration in an argument could load other files. Name a file instead.");
        }
        if form.command == "go"
            && text.trim_start_matches('-').starts_with("o")
            && value.as_deref() != Some("/dev/null")
        {
            return deny_option("go build may write only to /dev/null in sync.");
        }
        has_needed |= form.needs.contains(&text.as_str());
    }
    if !has_needed {
        return Err(Denial::new("sync.verification", format!("{} would write files.", form.command))
            .instead(format!("{} {}", form.command, form.needs[0])));
    }
    Ok(())
}

/// Where the value of an option is.
enum OptionValue {
    None,
    Attached,
    Next,
}

/// Finds an option in a form's list; `None` if it is not there. Abbreviations are not accepted.
fn find_option(form: &VerificationForm, text: &str) -> Option<OptionValue> {
    let is_listed = |option: &str| form.options.iter().any(|options| options.contains(&option));
    let one_dash = ["go", "gofmt", "staticcheck", "golint", "tsc"].contains(&form.command);
    let spellings = |text: &str| match (text.strip_prefix("--"), one_dash) {
        (Some(name), true) => vec![text.to_owned(), format!("-{name}")],
        (None, true) => vec![text.to_owned(), format!("-{text}")],
        (_, false) => vec![text.to_owned()],
    };
    let (name, is_attached) = text.split_once('=').map_or((text, false), |(name, _)| (name, true));
    for name in spellings(name) {
        if is_listed(&format!("{name}=")) {
            return Some(if is_attached { OptionValue::Attached } else { OptionValue::Next });
        }
    }
    if spellings(text).iter().any(|option| is_listed(option)) {
        return Some(OptionValue::None);
    }
    if one_dash || text.starts_with("--") {
        return None;
    }
    // A cluster of flags, the last of which may take a value: `-xq`, `-n4`.
    for (at, letter) in text.char_indices().skip(1) {
        if is_listed(&format!("-{letter}=")) {
            let is_last = at + letter.len_utf8() == text.len();
            return Some(if is_last { OptionValue::Next } else { OptionValue::None });
        }
        if !is_listed(&format!("-{letter}")) {
            return None;
        }
    }
    Some(OptionValue::None)
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
pub const EXAMPLES: &[super::rule::RuleExample] = &[
    super::rule::always("npm test 2>&1 | tail -20"),
    super::rule::always("npm run build"),
    super::rule::always("npx tsc --noEmit"),
    super::rule::always("tsc --noEmit -p ."),
    super::rule::in_run("tsc"),
    super::rule::in_run("tsc --noEmit false"),
    super::rule::in_run("tsc --noEmit --build"),
    super::rule::always("prettier --check ."),
    super::rule::in_run("prettier --write ."),
    super::rule::always("eslint src --ext .ts"),
    super::rule::in_run("eslint --fix src"),
    super::rule::in_run("npm install"),
    super::rule::in_run("npm run dev"),
    super::rule::in_run("npx create-x"),
    super::rule::always("pytest -q tests"),
    super::rule::always("pytest tests/a.py::TestA::test_b -k 'a or b' && pytest src/../tests"),
    super::rule::in_run("pytest src/../../x"),
    super::rule::in_run("pytest ./../x"),
    super::rule::in_run("pytest .//../x"),
    super::rule::in_run("pytest 'src/../../x.py::test_a'"),
    super::rule::in_run("python3 -m unittest discover -s src/../../x"),
    super::rule::in_run("npx mocha src/../../x"),
    super::rule::in_run("go test ./src/../../x"),
    super::rule::in_run("php -l src/../../x.php"),
    super::rule::in_run("pytest @a.txt"),
    super::rule::in_run("mypy @a.txt"),
    super::rule::in_run("python3 -m pytest @a.txt"),
    super::rule::in_run("jest --config '{\"rootDir\": \"/etc\"}'"),
    super::rule::in_run("jest --config='{\"rootDir\": \"/etc\"}'"),
    super::rule::in_run("jest -c '{}'"),
    super::rule::in_run("ruff check --config 'extend=\"/etc/x.toml\"' ."),
    super::rule::always("jest --config jest.config.js && ruff check --config ruff.toml ."),
    super::rule::always("npm test -- -w @scope/pkg"),
    super::rule::always("python3 -m pytest -x"),
    super::rule::always("uv run pytest"),
    super::rule::in_run("python3 -c 'print(1)'"),
    super::rule::in_run("uv run python x.py"),
    super::rule::always("ruff check ."),
    super::rule::in_run("ruff check --fix ."),
    super::rule::in_run("ruff format ."),
    super::rule::always("rubocop"),
    super::rule::in_run("rubocop -a"),
    super::rule::always("bundle exec rspec"),
    super::rule::in_run("bundle exec rails s"),
    super::rule::always("go test ./... -run TestX -count=1"),
    super::rule::always("go build ./..."),
    super::rule::always("go build -o /dev/null ./cmd"),
    super::rule::in_run("go build -o x ./cmd"),
    super::rule::in_run("go run ."),
    super::rule::in_run("go test -exec rm ./..."),
    super::rule::always("gofmt -d ."),
    super::rule::in_run("gofmt -w ."),
    super::rule::always("cargo test --workspace"),
    super::rule::in_run("cargo run"),
    super::rule::in_run("cargo clippy --fix"),
    super::rule::always("phpunit tests"),
    super::rule::in_run("biome check --write ."),
    super::rule::always("biome check ."),
    super::rule::in_run("node -e 'x'"),
    super::rule::in_run("PORT=3000 node server.js &"),
    super::rule::in_run("black ."),
    super::rule::in_run("jest -u"),
];
