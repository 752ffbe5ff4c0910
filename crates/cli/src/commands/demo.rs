//! `autonoe demo`

use std::fs;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::exit;
use autonoe_scripted::{Script, Server};
use clap::{Args, Parser};

use crate::arguments::{CommonArgs, SpecArgs};
use crate::engine::{Job, Request, drive};
use crate::environment::Environment;
use crate::present;
use crate::scratch::Scratch;
use crate::write_fault::cannot_write;

const SPEC: &str = include_str!("demo/SPEC.md");
const SCRIPT: &str = include_str!("demo/script.toml");
const CONFIG: &str = include_str!("demo/config.toml");
const HOUSE_RULES: &str = include_str!("demo/house-rules.sh");
const SKILL: &str = include_str!("demo/skill.md");

/// Show the main job with a scripted model: no key, no network
///
/// Makes a small project from a SPEC.md that ships with autonoe and runs the real `autonoe run` on it, with a configuration
/// of its own: two model providers, an MCP server, a skill, a sub-agent, real files, a real test run, real git commits, and checks
/// that refuse a deliverable once before it is verified.
/// Only the models are not real: their replies are read from a script.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Make the project in this directory, which must be empty or not exist [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Show every event
    #[arg(long, short)]
    debug: bool,
}

/// Plays the demo.
pub fn cmd_demo(args: DemoArgs, mut environment: Environment) -> Result<u8, Fault> {
    let directory = prepare(args.keep.as_deref())?;
    let server = Script::parse(SCRIPT).and_then(Server::start).map_err(|error| {
        Fault::lasting(Layer::System, "scripted_model", format!("The scripted model failed: {error}."))
    })?;
    let config = configure(&server.base_url())?;
    environment.config_home = Some(config.path().to_owned());
    environment.set("ANTHROPIC_API_KEY", "the-demonstration-needs-none".to_owned());
    environment.set("ANTHROPIC_BASE_URL", server.base_url());
    // The user's own git settings, such as signing commits, must not get in the way.
    let settings = [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "Autonoe demo"),
        ("GIT_AUTHOR_EMAIL", "demo@example.invalid"),
        ("GIT_COMMITTER_NAME", "Autonoe demo"),
        ("GIT_COMMITTER_EMAIL", "demo@example.invalid"),
    ];
    environment.for_children.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));

    present::print(&format!(
        "This is a demonstration. The models are scripted: their replies are read from a file. Everything else is real:\n\
         the loop, the sandbox, the tools, the MCP server, the files, the tests and the git commits, in {}\n\
         Costs are what such tokens would cost at list price; nothing is spent.\n\n",
        directory.display()
    ));
    let typed = options(&directory, args.debug)?;
    let request = Request {
        job: Job::Run { is_strict: false, verifier: None },
        args: &typed.common,
        plan_model: typed.spec.plan_model.as_deref(),
        resume: false,
        start_over: false,
        allow_destructive: false,
        // The project is a shell script, so that it needs nothing installed; `sh` is in no profile.
        allow_commands: vec!["sh".to_owned()],
        no_sandbox: false,
        warning: None,
    };
    let code = drive(request, &environment)?;
    let problems = server.problems();
    if !problems.is_empty() {
        let message = format!("The demonstration did not follow its script: {}", problems.join("; "));
        return Err(Fault::lasting(Layer::System, "scripted_model", message));
    }
    if code != exit::DONE {
        return Ok(code);
    }
    let place = directory.display();
    present::print(&format!(
        "\nLook around:\n  \
         git -C {place} log --stat             what was committed\n  \
         cat {place}/.autonoe/status.json      where the deliverables stand\n  \
         cat {place}/.autonoe/evidence/CLI-002.json   what was run, on which commit, and what it printed\n  \
         autonoe verify -p {place}   run all of that again, from a fresh checkout\n  \
         cat {place}/.autonoe-note.md          what the last session left for the next\n  \
         autonoe status -p {place}\n  \
         autonoe sessions list -p {place}\n"
    ));
    Ok(code)
}

/// The options of the run, as a user would type them.
#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    spec: SpecArgs,
}

fn options(directory: &Path, debug: bool) -> Result<Typed, Fault> {
    let place = directory.display().to_string();
    let detail = if debug { "--debug" } else { "--verbose" };
    let mut typed =
        vec!["run", "--project-dir", &place, "--session-delay", "1s", "--max-iterations", "8", detail];
    typed.extend(["--plan-model", "anthropic/opus", "--model", "workshop/scripted-coder"]);
    let read = Typed::try_parse_from(typed);
    read.map_err(|error| {
        Fault::lasting(Layer::System, "demo", format!("The demonstration cannot start: {error}."))
    })
}

/// A configuration of its own, so that the user's is neither needed nor in the way.
fn configure(scripted: &str) -> Result<Scratch, Fault> {
    let written = Scratch::new().and_then(|directory| {
        let here = directory.path().canonicalize()?;
        let config = CONFIG.replace("{scripted}", scripted).replace("{here}", &here.display().to_string());
        fs::write(here.join("config.toml"), config)?;
        fs::write(here.join("house-rules.sh"), HOUSE_RULES)?;
        let skill = here.join("skills/shell-tests");
        fs::create_dir_all(&skill)?;
        fs::write(skill.join("SKILL.md"), SKILL)?;
        Ok(directory)
    });
    written.map_err(|error| cannot_write(Layer::System, "demo_directory", &std::env::temp_dir(), &error))
}

/// Makes the project directory with its SPEC.md.
fn prepare(keep: Option<&Path>) -> Result<PathBuf, Fault> {
    let failed = |what: &str| {
        Fault::lasting(
            Layer::Config,
            "demo_directory",
            format!("The demonstration needs an empty directory: {what}."),
        )
        .hint("Name one with --keep, or leave it out to use a temporary one.")
    };
    let directory = match keep {
        Some(directory) => {
            fs::create_dir_all(directory)
                .map_err(|error| failed(&format!("{}: {error}", directory.display())))?;
            let mut entries = fs::read_dir(directory).map_err(|error| failed(&error.to_string()))?;
            if entries.next().is_some() {
                return Err(failed(&format!("{} is not empty", directory.display())));
            }
            directory.to_owned()
        }
        None => tempfile::Builder::new()
            .prefix("autonoe-demo-")
            .tempdir()
            .map_err(|error| failed(&error.to_string()))?
            .keep(),
    };
    fs::write(directory.join("SPEC.md"), SPEC).map_err(|error| failed(&error.to_string()))?;
    directory.canonicalize().map_err(|error| failed(&error.to_string()))
}
